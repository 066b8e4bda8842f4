//! Columns of few different values, written as what they are: runs. The general writer looks at every value of
//! such a column, hashes it and compares it; here one comparison with the value before is all that a row costs.

use std::collections::HashMap;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Rows of one page.
const PAGE_ROWS: u32 = 1 << 17;

/// Values of the dictionary: numbers, or texts by number.
#[derive(Debug, Clone)]
pub enum Meaning {
	/// 32 bits, as the column's type has them.
	Number,
	Text(Vec<String>),
}

/// One column of one row group.
pub struct RunColumn {
	meaning: Meaning,
	nullable: bool,
	dictionary: Vec<u32>,
	codes: HashMap<u32, u32>,
	last: Option<(u32, u32)>,
	/// Codes of the page that is being filled, in runs.
	runs: Vec<(u32, u32)>,
	/// Present or not, in runs.
	levels: Vec<(u32, u32)>,
	page_rows: u32,
	nulls: u64,
	rows: u64,
	pages: Vec<(Vec<u8>, u32)>,
}

impl RunColumn {
	pub fn new(meaning: Meaning, nullable: bool) -> Self {
		RunColumn {
			meaning,
			nullable,
			dictionary: Vec::new(),
			codes: HashMap::new(),
			last: None,
			runs: Vec::new(),
			levels: Vec::new(),
			page_rows: 0,
			nulls: 0,
			rows: 0,
			pages: Vec::new(),
		}
	}

	/// A value for each of `values`, in runs.
	pub fn extend(&mut self, values: impl Iterator<Item = Option<u32>>) {
		let mut run: Option<(Option<u32>, u32)> = None;
		for value in values {
			match &mut run {
				Some((same, count)) if *same == value => *count += 1,
				_ => {
					if let Some((value, count)) = run.replace((value, 1)) {
						self.push(value, count);
					}
				}
			}
		}
		if let Some((value, count)) = run {
			self.push(value, count);
		}
	}

	pub fn push(&mut self, value: Option<u32>, count: u32) {
		if count == 0 {
			return;
		}
		add(&mut self.levels, u32::from(value.is_some()), count);
		match value {
			Some(value) => {
				let code = self.code(value);
				add(&mut self.runs, code, count);
			}
			None => self.nulls += u64::from(count),
		}
		self.page_rows += count;
		self.rows += u64::from(count);
		if self.page_rows >= PAGE_ROWS {
			self.end_page();
		}
	}

	fn code(&mut self, value: u32) -> u32 {
		if let Some((last, code)) = self.last
			&& last == value
		{
			return code;
		}
		let next = self.dictionary.len() as u32;
		let code = *self.codes.entry(value).or_insert(next);
		if code == next {
			self.dictionary.push(value);
		}
		self.last = Some((value, code));
		code
	}

	fn end_page(&mut self) {
		if self.page_rows == 0 {
			return;
		}
		let mut page = Vec::new();
		if self.nullable {
			let levels = hybrid(&self.levels, 1);
			page.extend((levels.len() as u32).to_le_bytes());
			page.extend(levels);
		}
		let largest = self.dictionary.len().saturating_sub(1) as u32;
		let width = 32 - largest.leading_zeros();
		page.push(width as u8);
		page.extend(hybrid(&self.runs, width));
		self.pages.push((page, self.page_rows));
		self.runs.clear();
		self.levels.clear();
		self.page_rows = 0;
	}

	/// The column chunk's bytes, and what the file's end says of it.
	pub fn close(mut self, column: ColumnDescPtr) -> Result<(Vec<u8>, ColumnCloseResult)> {
		self.end_page();
		let mut sink = TrackedWrite::new(Vec::new());
		let mut pages = SerializedPageWriter::new(&mut sink);
		let dictionary = self.dictionary_page();
		let compressed = compress(&dictionary)?;
		let (mut plain, mut packed) = (0, 0);
		let page = Page::DictionaryPage {
			buf: compressed.into(),
			num_values: self.dictionary.len() as u32,
			encoding: Encoding::PLAIN,
			is_sorted: false,
		};
		let spec = pages.write_page(CompressedPage::new(page, dictionary.len()))?;
		plain += spec.uncompressed_size;
		packed += spec.compressed_size;
		let first_data = spec.bytes_written;
		for (data, rows) in &self.pages {
			let page = Page::DataPage {
				buf: compress(data)?.into(),
				num_values: *rows,
				encoding: Encoding::RLE_DICTIONARY,
				def_level_encoding: Encoding::RLE,
				rep_level_encoding: Encoding::RLE,
				statistics: None,
			};
			let spec = pages.write_page(CompressedPage::new(page, data.len()))?;
			plain += spec.uncompressed_size;
			packed += spec.compressed_size;
		}
		let mut metadata = ColumnChunkMetaData::builder(column)
			.set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
			.set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
			.set_num_values(self.rows as i64)
			.set_total_compressed_size(packed as i64)
			.set_total_uncompressed_size(plain as i64)
			.set_dictionary_page_offset(Some(0))
			.set_data_page_offset(first_data as i64);
		if let Some(statistics) = self.statistics() {
			metadata = metadata.set_statistics(statistics);
		}
		let bytes = sink.into_inner()?;
		let close = ColumnCloseResult {
			bytes_written: bytes.len() as u64,
			rows_written: self.rows,
			metadata: metadata.build()?,
			bloom_filter: None,
			column_index: None,
			offset_index: None,
		};
		Ok((bytes, close))
	}

	fn dictionary_page(&self) -> Vec<u8> {
		let mut page = Vec::new();
		for &value in &self.dictionary {
			match &self.meaning {
				Meaning::Number => page.extend(value.to_le_bytes()),
				Meaning::Text(texts) => {
					let text = texts.get(value as usize).map_or("", String::as_str);
					page.extend((text.len() as u32).to_le_bytes());
					page.extend(text.as_bytes());
				}
			}
		}
		page
	}

	/// Least and largest number; all of ours are far from where signs differ.
	fn statistics(&self) -> Option<Statistics> {
		if matches!(self.meaning, Meaning::Text(_)) {
			return None;
		}
		let (least, largest) = (self.dictionary.iter().min()?, self.dictionary.iter().max()?);
		let signed = |value: u32| i32::try_from(value).ok();
		let nulls = Some(self.nulls);
		let range = ValueStatistics::<i32>::new(
			Some(signed(*least)?),
			Some(signed(*largest)?),
			None,
			nulls,
			false,
		);
		Some(Statistics::from(range))
	}
}

fn compress(data: &[u8]) -> Result<Vec<u8>> {
	zstd::bulk::compress(data, 1).map_err(|error| ParquetError::General(error.to_string()))
}

fn add(runs: &mut Vec<(u32, u32)>, value: u32, count: u32) {
	match runs.last_mut() {
		Some((last, before)) if *last == value => *before += count,
		_ => runs.push((value, count)),
	}
}

/// Parquet's hybrid of runs and packed groups of eight.
fn hybrid(runs: &[(u32, u32)], width: u32) -> Vec<u8> {
	let mut out =
		Hybrid { out: Vec::new(), width, group: Vec::new(), packed: Vec::new(), groups: 0 };
	for &(value, count) in runs {
		out.run(value, count);
	}
	out.finish()
}

struct Hybrid {
	out: Vec<u8>,
	width: u32,
	/// Fewer than eight values.
	group: Vec<u32>,
	/// Whole groups whose header is not written yet.
	packed: Vec<u8>,
	groups: u64,
}

impl Hybrid {
	fn run(&mut self, value: u32, mut count: u32) {
		while count > 0 && (!self.group.is_empty() || count < 8) {
			self.group.push(value);
			count -= 1;
			if self.group.len() == 8 {
				self.pack();
			}
		}
		if count > 0 {
			self.end_groups();
			fathom_stream::put_varint(&mut self.out, u64::from(count) << 1);
			let bytes = self.width.div_ceil(8) as usize;
			self.out.extend(&value.to_le_bytes()[..bytes]);
		}
	}

	fn pack(&mut self) {
		let (mut bits, mut filled) = (0u64, 0);
		for value in self.group.drain(..) {
			bits |= u64::from(value) << filled;
			filled += self.width;
			while filled >= 8 {
				self.packed.push(bits as u8);
				bits >>= 8;
				filled -= 8;
			}
		}
		self.groups += 1;
	}

	fn end_groups(&mut self) {
		if self.groups > 0 {
			fathom_stream::put_varint(&mut self.out, self.groups << 1 | 1);
			self.out.append(&mut self.packed);
			self.groups = 0;
		}
	}

	fn finish(mut self) -> Vec<u8> {
		if !self.group.is_empty() {
			self.group.resize(8, 0); // readers know how many values there are
			self.pack();
		}
		self.end_groups();
		self.out
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	/// The other direction, from the format's page.
	fn read(data: &[u8], width: u32, count: usize) -> Vec<u32> {
		let mut at = fathom_stream::Cursor::new(data);
		let mut values = Vec::new();
		while values.len() < count {
			let header = at.varint().unwrap();
			if header & 1 == 0 {
				let bytes = at.take(width.div_ceil(8) as usize).unwrap();
				let value = bytes.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b));
				values.extend(std::iter::repeat_n(value, (header >> 1) as usize));
			} else {
				let bytes = at.take((header >> 1) as usize * width as usize).unwrap();
				for i in 0..(header >> 1) as u32 * 8 {
					let bit = |b: u32| {
						u32::from(
							bytes[((i * width + b) / 8) as usize] >> ((i * width + b) % 8) & 1,
						)
					};
					values.push((0..width).fold(0, |v, b| v | bit(b) << b));
				}
			}
		}
		values.truncate(count);
		values
	}

	#[test]
	fn runs_come_back() {
		for width in [1, 3, 9, 17, 32] {
			let mut runs = Vec::new();
			let mut state = 12345u32;
			for _ in 0..500 {
				state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
				let value = state >> (32 - width);
				let count =
					if state & 64 == 0 { 1 + (state >> 8 & 7) } else { state >> 9 & 127 } + 1;
				add(&mut runs, value, count);
			}
			let values: Vec<u32> = runs
				.iter()
				.flat_map(|&(value, count)| std::iter::repeat_n(value, count as usize))
				.collect();
			assert_eq!(read(&hybrid(&runs, width), width, values.len()), values);
		}
	}
}
