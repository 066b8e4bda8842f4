//! The index: where which block lies. Each record can be read alone; one that is torn costs what it lists, and a scan finds
//! that again.

use fathom_stream::{Cursor, put_text, put_varint};

use crate::block::{Head, u32_at};
use crate::sink::good_name;

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

/// A record of the index.
pub fn index_record(entries: &[Entry]) -> Vec<u8> {
	let mut out = vec![0; HEADER];
	for entry in entries {
		put_text(&mut out, entry.file.as_bytes());
		put_varint(&mut out, entry.offset);
		put_text(&mut out, &entry.head.bytes());
	}
	let payload = (out.len() - HEADER) as u32;
	let mut put = |at: usize, value: u32| out[at..at + 4].copy_from_slice(&value.to_le_bytes());
	put(8, VERSION);
	put(12, entries.len() as u32);
	put(16, payload);
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
			Some((mut found, length)) => {
				entries.append(&mut found);
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
		let (head, _) = Head::read(from.text().ok()?).ok()?;
		entries.push(Entry { file: file.to_owned(), offset, head });
	}
	from.is_empty().then_some((entries, length))
}
