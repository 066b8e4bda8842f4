//! The index: where which block lies. Each record can be read alone; one that is torn costs what it lists, and a scan finds
//! that again.

use fathom_stream::{Cursor, put_text, put_varint};

use crate::block::{Head, good_name, u32_at};

const MAGIC: &[u8; 8] = b"FATHOMSX";
const HEADER: usize = 32;
const CRC_AT: usize = 20;
const VERSION: u32 = 1;

/// A block: its file, its first byte there, and the head that lies there too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
	pub file: String,
	pub offset: u64,
	pub head: Head,
}

/// Most bytes of a record, unless one block takes more: a server takes it at once.
const MOST: usize = 1 << 20;

/// An index that is being made: what is in no record yet.
#[derive(Debug, Default)]
pub struct Records {
	waits: Vec<u8>,
	count: u32,
}

impl Records {
	/// One block more. What this gives back, when there is enough, is a record.
	pub fn add(&mut self, entry: &Entry) -> Option<Vec<u8>> {
		let mut more = Vec::new();
		put_text(&mut more, entry.file.as_bytes());
		put_varint(&mut more, entry.offset);
		put_text(&mut more, &entry.head.bytes());
		let full = self.waits.len() + more.len() > MOST;
		let record = if full { self.rest() } else { None };
		self.waits.append(&mut more);
		self.count += 1;
		record
	}

	/// A record of what is in none.
	pub fn rest(&mut self) -> Option<Vec<u8>> {
		let (waits, count) = (std::mem::take(&mut self.waits), std::mem::take(&mut self.count));
		(count > 0).then(|| record_of(&waits, count))
	}
}

/// The index of these blocks.
pub fn index(entries: &[Entry]) -> Vec<u8> {
	let mut records = Records::default();
	let mut all: Vec<u8> =
		entries.iter().filter_map(|entry| records.add(entry)).flatten().collect();
	all.extend(records.rest().unwrap_or_default());
	all
}

fn record_of(payload: &[u8], count: u32) -> Vec<u8> {
	let mut out = vec![0; HEADER];
	out.extend(payload);
	let mut put = |at: usize, value: u32| out[at..at + 4].copy_from_slice(&value.to_le_bytes());
	put(8, VERSION);
	put(12, count);
	put(16, payload.len() as u32);
	out[..8].copy_from_slice(MAGIC);
	let crc = checksum(&out);
	out[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
	out
}

fn checksum(record: &[u8]) -> u32 {
	crc32c::crc32c_append(crc32c::crc32c(&record[..CRC_AT]), &record[CRC_AT + 4..])
}

/// All entries of an index, and how many of its bytes are no record.
pub fn read_index(data: &[u8]) -> (Vec<Entry>, u64) {
	let (mut entries, mut torn, mut at) = (Vec::new(), 0, 0);
	while at < data.len() {
		match record(&data[at..]) {
			Some((mut listed, length)) => {
				entries.append(&mut listed);
				at += length;
			}
			None => {
				let next = data[at + 1..].windows(8).position(|window| window == MAGIC);
				let end = next.map_or(data.len(), |next| at + 1 + next);
				torn += (end - at) as u64;
				at = end;
			}
		}
	}
	(entries, torn)
}

fn record(data: &[u8]) -> Option<(Vec<Entry>, usize)> {
	if !data.starts_with(MAGIC) || data.len() < HEADER || u32_at(data, 8) != VERSION {
		return None;
	}
	let length = HEADER + u32_at(data, 16) as usize;
	let bytes = data.get(..length)?;
	if checksum(bytes) != u32_at(bytes, CRC_AT) {
		return None;
	}
	let mut from = Cursor::new(&bytes[HEADER..]);
	let mut entries = Vec::new();
	for _ in 0..u32_at(bytes, 12) {
		let file = std::str::from_utf8(from.text().ok()?).ok().filter(|name| good_name(name))?;
		let offset = from.varint().ok()?;
		let (head, length) = Head::read(from.text().ok()?).ok()?;
		let end = offset.checked_add(length as u64 + u64::from(head.stored))?;
		if end > i64::MAX as u64 {
			return None; // no file is as long
		}
		entries.push(Entry { file: file.to_owned(), offset, head });
	}
	from.is_empty().then_some((entries, length))
}
