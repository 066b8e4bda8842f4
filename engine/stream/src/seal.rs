//! The little that the engine itself writes into streams: what `recover` adds to a dead process's chunks.
//! Calls are encoded in C only.

use crate::chunk::{CRC_AT, Chunk, checksum};
use crate::record::{Counter, Unfinished};
use crate::{FLAG_LAST, FLAG_RING_COPY, FLAG_SEALED};

pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
	while value >= 0x80 {
		out.push(value as u8 | 0x80);
		value >>= 7;
	}
	out.push(value as u8);
}

pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
	put_varint(out, (value << 1 ^ value >> 63) as u64);
}

pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
	put_varint(out, text.len() as u64);
	out.extend_from_slice(text);
}

/// A chunk's copy that records can be added to, and that is sealed at the end.
pub struct ChunkWriter {
	bytes: Vec<u8>,
	header: usize,
}

impl ChunkWriter {
	pub fn copy(chunk: &Chunk<'_>) -> Self {
		ChunkWriter { bytes: chunk.bytes.to_vec(), header: usize::from(chunk.header.length) }
	}

	fn record(&mut self, kind: u8, payload: &[u8]) {
		self.bytes.push(0x80 | kind);
		put_text(&mut self.bytes, payload);
	}

	pub fn counter(&mut self, c: &Counter) {
		let mut payload = Vec::new();
		for number in [u64::from(c.op), u64::from(c.object), u64::from(c.enclosing)] {
			put_varint(&mut payload, number);
		}
		for number in [c.calls, c.errors, c.bytes, c.ticks, c.min, c.max, c.first, c.last] {
			put_varint(&mut payload, number);
		}
		self.record(9, &payload);
	}

	pub fn unfinished(&mut self, row: &Unfinished) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(row.reason));
		put_varint(&mut payload, row.seq);
		for number in [row.op, row.depth, row.object, row.site] {
			put_varint(&mut payload, u64::from(number));
		}
		put_varint(&mut payload, row.began);
		put_varint(&mut payload, row.ended);
		put_zigzag(&mut payload, row.size);
		put_zigzag(&mut payload, row.offset);
		self.record(12, &payload);
	}

	/// Length and checksum; marks the chunk as a ring's copy, and as its stream's last one where it is.
	pub fn seal(mut self, last: bool) -> Vec<u8> {
		let flags =
			u32::from_le_bytes([self.bytes[12], self.bytes[13], self.bytes[14], self.bytes[15]]);
		let last = if last { FLAG_LAST } else { 0 };
		let flags = flags | FLAG_SEALED | FLAG_RING_COPY | last;
		let committed = (self.bytes.len() - self.header) as u32;
		self.bytes[12..16].copy_from_slice(&flags.to_le_bytes());
		self.bytes[128..132].copy_from_slice(&committed.to_le_bytes());
		let crc = checksum(&self.bytes);
		self.bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
		self.bytes
	}
}
