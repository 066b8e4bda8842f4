//! Columns of the large tables: plain vectors that grow row by row and become Arrow arrays without a copy.

use std::sync::Arc;

use arrow_array::types::{
	ArrowPrimitiveType, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
	ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch, StringArray, UInt16Array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use fathom_stream::link_kind;

use crate::column::schema_of;
use crate::define::Op;
use crate::schema;

/// Bits of [`CallRow::valid`]: columns that are not null, and those of yes or no that are yes.
pub mod has {
	pub const PARENT: u16 = 1;
	pub const CALL: u16 = 1 << 1;
	pub const OBJECT: u16 = 1 << 2;
	pub const FILE: u16 = 1 << 3;
	pub const SIZE: u16 = 1 << 4;
	pub const OFFSET: u16 = 1 << 5;
	pub const OFFSET_FROM: u16 = 1 << 6;
	pub const BYTES: u16 = 1 << 7;
	pub const RESULT: u16 = 1 << 8;
	pub const SITE: u16 = 1 << 9;
	pub const SELECTION: u16 = 1 << 10;
	pub const COLLECTIVE: u16 = 1 << 11;
	pub const OWN: u16 = 1 << 12;
	pub const TOPMOST: u16 = 1 << 13;
	/// Column `alone` is not null.
	pub const REQUEST: u16 = 1 << 14;
	pub const ALONE: u16 = 1 << 15;
}

pub const OFFSET_FROM: [&str; 3] = ["given", "tracked", "unknown"];
pub const STATES: [&str; 3] = ["done", "unfinished", "lost"];

/// A row of `calls` but for what all rows of its stream share.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallRow {
	pub seq: u64,
	/// Its id: stream and seq.
	pub parent: u64,
	/// Id and time of the program's own call around it.
	pub own: u64,
	pub own_duration: i64,
	pub call: u32,
	pub op: u16,
	pub valid: u16,
	pub object: u32,
	pub file: u32,
	pub start: i64,
	pub duration: i64,
	pub nested: i64,
	pub size: i64,
	pub offset: i64,
	pub bytes: i64,
	pub result: i64,
	pub error: i32,
	pub site: u32,
	pub selection: u32,
	pub collective: u32,
	pub depth: u8,
	pub offset_from: u8,
	pub state: u8,
	/// To or from several pieces of memory.
	pub pieces: bool,
	/// A run-time's, not the program's.
	pub runtime: bool,
}

impl CallRow {
	#[inline]
	pub fn if_has(&self, bit: u16, value: u32) -> Option<u32> {
		(self.valid & bit != 0).then_some(value)
	}
}

/// What all calls of a stream share.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamFacts {
	pub stream: u32,
	pub process: u32,
	pub thread: u32,
	pub rank: Option<i32>,
}

/// Rows of `calls` on their way into columns.
#[derive(Debug, Default)]
pub struct CallColumns {
	rows: Vec<CallRow>,
	/// Streams, each from this row on.
	streams: Vec<(usize, StreamFacts)>,
	/// Bits of `valid` that all rows, and that any row has; while columns are made.
	in_all: u16,
	in_any: u16,
}

impl CallColumns {
	pub fn len(&self) -> usize {
		self.rows.len()
	}

	pub fn is_empty(&self) -> bool {
		self.rows.is_empty()
	}

	/// The rows that follow are of this stream.
	pub fn begin_stream(&mut self, facts: StreamFacts) {
		self.streams.push((self.rows.len(), facts));
	}

	#[inline]
	pub fn push(&mut self, row: &CallRow) {
		self.rows.push(*row);
	}

	/// A column that a row has.
	fn column<T: ArrowPrimitiveType>(&self, get: impl Fn(&CallRow) -> T::Native) -> ArrayRef {
		let values: Vec<T::Native> = self.rows.iter().map(get).collect();
		primitive::<T>(values, None)
	}

	/// A column that a row may have; of most of them either all rows or none.
	fn optional<T: ArrowPrimitiveType>(
		&self,
		bit: u16,
		get: impl Fn(&CallRow) -> T::Native,
	) -> ArrayRef {
		let nulls = self.nulls(bit);
		if nulls.as_ref().is_some_and(|nulls| nulls.null_count() == self.rows.len()) {
			return primitive::<T>(vec![T::default_value(); self.rows.len()], nulls);
		}
		primitive::<T>(self.rows.iter().map(get).collect(), nulls)
	}

	/// Most columns are there in all rows of a batch or in none, which two sums over the rows tell.
	fn nulls(&self, bit: u16) -> Option<NullBuffer> {
		if self.in_all & bit != 0 {
			return None;
		}
		if self.in_any & bit == 0 {
			return Some(NullBuffer::new_null(self.rows.len()));
		}
		nulls(self.rows.iter().map(|row| row.valid), bit)
	}

	/// A column of yes or no.
	fn yes(&self, bit: u16, nulls: Option<NullBuffer>) -> ArrayRef {
		let values = BooleanBuffer::from_iter(self.rows.iter().map(|row| row.valid & bit != 0));
		Arc::new(BooleanArray::new(values, nulls))
	}

	fn runtime(&self) -> ArrayRef {
		let values = BooleanBuffer::from_iter(self.rows.iter().map(|row| row.runtime));
		Arc::new(BooleanArray::new(values, None))
	}

	/// A column that is the same for all rows of a stream.
	fn shared<T: ArrowPrimitiveType>(&self, get: impl Fn(&StreamFacts) -> T::Native) -> ArrayRef {
		let mut values: Vec<T::Native> = Vec::with_capacity(self.rows.len());
		for (i, (_, facts)) in self.streams.iter().enumerate() {
			let end = self.streams.get(i + 1).map_or(self.rows.len(), |next| next.0);
			values.resize(end, get(facts));
		}
		primitive::<T>(values, None)
	}

	fn rank(&self) -> ArrayRef {
		let mut values: Vec<i32> = Vec::with_capacity(self.rows.len());
		let mut present = BooleanBufferBuilder::new(self.rows.len());
		self.each_stream(|facts, rows| {
			values.resize(values.len() + rows as usize, facts.rank.unwrap_or(0));
			present.append_n(rows as usize, facts.rank.is_some());
		});
		let nulls = NullBuffer::new(present.finish());
		primitive::<Int32Type>(values, (nulls.null_count() > 0).then_some(nulls))
	}

	fn id(&self) -> ArrayRef {
		let mut values: Vec<u64> = Vec::with_capacity(self.rows.len());
		for (i, (begin, facts)) in self.streams.iter().enumerate() {
			let end = self.streams.get(i + 1).map_or(self.rows.len(), |next| next.0);
			let stream = u64::from(facts.stream) << 40;
			values.extend(self.rows[*begin..end].iter().map(|row| stream | row.seq));
		}
		primitive::<UInt64Type>(values, None)
	}

	pub fn rows(&self) -> &[CallRow] {
		&self.rows
	}

	/// Streams in order, with the number of their rows.
	pub fn each_stream(&self, mut take: impl FnMut(&StreamFacts, u32)) {
		for (i, (begin, facts)) in self.streams.iter().enumerate() {
			let end = self.streams.get(i + 1).map_or(self.rows.len(), |next| next.0);
			take(facts, (end - begin) as u32);
		}
	}

	/// To be done once all rows are there, before columns are made of them.
	pub fn look_over(&mut self) {
		let valid = self.rows.iter().map(|row| row.valid);
		(self.in_all, self.in_any) = valid.fold((!0, 0), |(all, any), v| (all & v, any | v));
	}

	/// Forgets the rows. What comes next goes on with the same stream.
	pub fn clear(&mut self) {
		self.rows.clear();
		if let Some((_, facts)) = self.streams.pop() {
			self.streams.clear();
			self.streams.push((0, facts));
		}
	}

	/// A column of numbers, or of yes or no.
	pub fn array(&self, name: &str) -> Result<ArrayRef, ArrowError> {
		Ok(match name {
			"id" => self.id(),
			"stream" => self.shared::<UInt32Type>(|facts| facts.stream),
			"process" => self.shared::<UInt32Type>(|facts| facts.process),
			"thread" => self.shared::<UInt32Type>(|facts| facts.thread),
			"rank" => self.rank(),
			"parent" => self.optional::<UInt64Type>(has::PARENT, |row| row.parent),
			"call" => self.optional::<UInt32Type>(has::CALL, |row| row.call),
			"depth" => self.column::<UInt8Type>(|row| row.depth),
			"object" => self.optional::<UInt32Type>(has::OBJECT, |row| row.object),
			"file" => self.optional::<UInt32Type>(has::FILE, |row| row.file),
			"start" => self.column::<Int64Type>(|row| row.start),
			"duration" => self.column::<Int64Type>(|row| row.duration),
			"nested" => self.column::<Int64Type>(|row| row.nested),
			"size" => self.optional::<Int64Type>(has::SIZE, |row| row.size),
			"file_offset" => self.optional::<Int64Type>(has::OFFSET, |row| row.offset),
			"bytes" => self.optional::<Int64Type>(has::BYTES, |row| row.bytes),
			"result" => self.optional::<Int64Type>(has::RESULT, |row| row.result),
			"error" => self.column::<Int32Type>(|row| row.error),
			"site" => self.optional::<UInt32Type>(has::SITE, |row| row.site),
			"selection" => self.optional::<UInt32Type>(has::SELECTION, |row| row.selection),
			"collective" => self.optional::<UInt32Type>(has::COLLECTIVE, |row| row.collective),
			"own" => self.optional::<UInt64Type>(has::OWN, |row| row.own),
			"own_duration" => self.optional::<Int64Type>(has::OWN, |row| row.own_duration),
			"topmost" => self.yes(has::TOPMOST, None),
			"alone" => self.yes(has::ALONE, self.nulls(has::REQUEST)),
			"runtime" => self.runtime(),
			_ => return Err(ArrowError::SchemaError(format!("calls have no column {name}"))),
		})
	}

	/// All rows as Arrow arrays.
	pub fn take(&mut self, names: &OpNames) -> Result<RecordBatch, ArrowError> {
		self.look_over();
		let schema = schema_of(&schema::CALLS);
		let op: ScalarBuffer<u16> = self.rows.iter().map(|row| row.op).collect();
		let named = |values: &ArrayRef| -> Result<ArrayRef, ArrowError> {
			let keys = UInt16Array::new(op.clone(), None);
			Ok(Arc::new(DictionaryArray::<UInt16Type>::try_new(keys, values.clone())?))
		};
		let choose = |get: fn(&CallRow) -> u8, nulls, values| {
			choice(self.rows.iter().map(get).collect(), nulls, values)
		};
		let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
		for field in schema.fields() {
			columns.push(match field.name().as_str() {
				"layer" => named(&names.layer)?,
				"op" => named(&names.name)?,
				"kind" => named(&names.kind)?,
				"offset_from" => {
					choose(|row| row.offset_from, self.nulls(has::OFFSET_FROM), &OFFSET_FROM)?
				}
				"state" => choose(|row| row.state, None, &STATES)?,
				name => self.array(name)?,
			});
		}
		self.clear();
		RecordBatch::try_new(schema, columns)
	}
}

/// Dictionary values of `layer`, `op` and `kind`, by op.
pub struct OpNames {
	layer: ArrayRef,
	name: ArrayRef,
	kind: ArrayRef,
}

impl OpNames {
	pub fn new(ops: &[Op]) -> OpNames {
		let texts = |get: fn(&Op) -> &str| -> ArrayRef {
			Arc::new(StringArray::from_iter_values(ops.iter().map(get)))
		};
		OpNames {
			layer: texts(|op| &op.layer),
			name: texts(|op| &op.name),
			kind: texts(|op| &op.kind),
		}
	}
}

/// Columns of `calls` whose values are alike but in no order.
pub const SCATTERED: [&str; 3] = ["duration", "nested", "own_duration"];

#[derive(Debug, Default)]
pub struct ArgColumns {
	call: Vec<u64>,
	name: Vec<u16>,
	value: Vec<i64>,
	valid: Vec<u16>,
	text: Vec<Option<String>>,
}

impl ArgColumns {
	pub fn len(&self) -> usize {
		self.call.len()
	}

	pub fn value(&mut self, call: u64, name: u16, value: i64) {
		self.call.push(call);
		self.name.push(name);
		self.value.push(value);
		self.valid.push(1);
		self.text.push(None);
	}

	pub fn text(&mut self, call: u64, name: u16, text: String) {
		self.call.push(call);
		self.name.push(name);
		self.value.push(0);
		self.valid.push(0);
		self.text.push(Some(text));
	}

	pub fn take(&mut self, names: &ArrayRef) -> Result<RecordBatch, ArrowError> {
		let valid = std::mem::take(&mut self.valid);
		let keys = UInt16Array::from(std::mem::take(&mut self.name));
		let text: StringArray = std::mem::take(&mut self.text).into_iter().collect();
		let columns: Vec<ArrayRef> = vec![
			column::<UInt64Type>(&mut self.call, None),
			Arc::new(DictionaryArray::<UInt16Type>::try_new(keys, names.clone())?),
			column::<Int64Type>(&mut self.value, nulls(valid.iter().copied(), 1)),
			Arc::new(text),
		];
		RecordBatch::try_new(schema_of(&schema::ARGS), columns)
	}
}

#[derive(Debug, Default)]
pub struct LinkColumns {
	from_call: Vec<u64>,
	to_call: Vec<u64>,
	to_stream: Vec<u64>,
	to_seq: Vec<u64>,
	kind: Vec<u8>,
	bytes: Vec<u64>,
	confidence: Vec<u8>,
	valid: Vec<u16>,
}

impl LinkColumns {
	pub fn len(&self) -> usize {
		self.from_call.len()
	}

	pub fn push(&mut self, from: u64, to: Option<u64>, link: &fathom_stream::Link) {
		self.from_call.push(from);
		self.to_call.push(to.unwrap_or(0));
		self.to_stream.push(link.to_stream);
		self.to_seq.push(link.to_seq);
		let known = (link.kind as usize) < link_kind::NAMES.len();
		self.kind.push(if known { link.kind } else { link_kind::UNKNOWN } as u8);
		self.bytes.push(link.bytes);
		self.confidence.push(link.percent.min(100) as u8);
		self.valid.push(u16::from(to.is_some()));
	}

	pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
		let valid = std::mem::take(&mut self.valid);
		let columns: Vec<ArrayRef> = vec![
			column::<UInt64Type>(&mut self.from_call, None),
			column::<UInt64Type>(&mut self.to_call, nulls(valid.iter().copied(), 1)),
			column::<UInt64Type>(&mut self.to_stream, None),
			column::<UInt64Type>(&mut self.to_seq, None),
			choice(std::mem::take(&mut self.kind), None, &link_kind::NAMES)?,
			column::<UInt64Type>(&mut self.bytes, None),
			column::<UInt8Type>(&mut self.confidence, None),
		];
		RecordBatch::try_new(schema_of(&schema::LINKS), columns)
	}
}

fn column<T: ArrowPrimitiveType>(
	values: &mut Vec<T::Native>,
	nulls: Option<NullBuffer>,
) -> ArrayRef {
	primitive::<T>(std::mem::take(values), nulls)
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
	Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

fn choice(
	keys: Vec<u8>,
	nulls: Option<NullBuffer>,
	values: &[&str],
) -> Result<ArrayRef, ArrowError> {
	let keys = PrimitiveArray::<UInt8Type>::new(ScalarBuffer::from(keys), nulls);
	let values = Arc::new(StringArray::from(values.to_vec()));
	Ok(Arc::new(DictionaryArray::<UInt8Type>::try_new(keys, values)?))
}

/// The null buffer of one bit of `valid`; `None` when every row has it.
fn nulls(valid: impl ExactSizeIterator<Item = u16>, bit: u16) -> Option<NullBuffer> {
	let present = BooleanBuffer::from_iter(valid.map(|bits| bits & bit != 0));
	let nulls = NullBuffer::new(present);
	(nulls.null_count() > 0).then_some(nulls)
}
