//! What the engine itself writes into streams: what `recover` adds to a dead process's chunks, an agent's samples, and
//! the calls of another tool's log. Calls of a program that Fathom records are encoded in C only.

use crate::bytes::{put_text, put_varint, put_zigzag};
use crate::chunk::{CRC_AT, Chunk, Clock, HEADER, Header, checksum};
use crate::format::{chunk_flag, counter_detail, record_type};
use crate::plain::Mark;
use crate::record::{
	BINS, Counter, CounterData, FileData, Heat, Object, Order, Plain, SIZES_KNOWN, Samples,
	SomeCounts,
};
use crate::rows::Call;

/// A chunk that records can be added to, and that is sealed at the end.
pub struct ChunkWriter {
	bytes: Vec<u8>,
	header: usize,
}

impl ChunkWriter {
	pub fn new(header: &Header) -> Self {
		ChunkWriter { bytes: header.bytes(), header: HEADER }
	}

	pub fn copy(chunk: &Chunk<'_>) -> Self {
		ChunkWriter { bytes: chunk.bytes.to_vec(), header: usize::from(chunk.header.length) }
	}

	/// Bytes of rows so far.
	pub fn committed(&self) -> usize {
		self.bytes.len() - self.header
	}

	/// Records as they stand in another chunk.
	pub fn records(&mut self, bytes: &[u8]) {
		self.bytes.extend_from_slice(bytes);
	}

	fn record(&mut self, kind: u8, payload: &[u8]) {
		self.bytes.push(0x80 | kind);
		put_text(&mut self.bytes, payload);
	}

	/// A link must come before the row of its call.
	pub fn plain<R: Plain>(&mut self, record: &R) {
		let mut payload = Vec::new();
		record.each_part(|_, part| part.put(&mut payload));
		self.record(R::TYPE, &payload);
	}

	pub fn mark(&mut self, ticks: u64, kind: &[u8], detail: &[u8], value: u64) {
		self.plain(&Mark { ticks, kind, detail, value });
	}

	pub fn counter(&mut self, c: &Counter) {
		let mut payload = Vec::new();
		for number in [u64::from(c.op), u64::from(c.object), u64::from(c.enclosing)] {
			put_varint(&mut payload, number);
		}
		for number in [c.calls, c.errors, c.bytes, c.ticks, c.min, c.max, c.first, c.last] {
			put_varint(&mut payload, number);
		}
		if let Some(data) = &c.data {
			put_data(&mut payload, data);
		}
		self.record(record_type::COUNTER, &payload);
	}

	pub fn heat(&mut self, heat: &Heat) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(heat.op));
		put_varint(&mut payload, u64::from(heat.shift));
		put_varint(&mut payload, heat.first);
		put_varint(&mut payload, heat.bins.len() as u64);
		for bin in &heat.bins {
			for number in [bin.calls, bin.bytes, bin.ticks] {
				put_varint(&mut payload, number);
			}
		}
		self.record(record_type::HEAT, &payload);
	}

	/// Of a class whose numbers are all unsigned or small.
	pub fn object(&mut self, object: &Object<'_>) {
		let mut payload = Vec::new();
		for number in [object.object, object.class, object.parent] {
			put_varint(&mut payload, u64::from(number));
		}
		put_varint(&mut payload, object.created_by.wrapping_add(1));
		put_text(&mut payload, object.name);
		object.numbers.iter().for_each(|&number| put_varint(&mut payload, number));
		self.record(record_type::OBJECT, &payload);
	}

	/// A call whose op was named in this chunk, after those inside it; `before` is when the one before it ended. Nothing is
	/// predicted.
	pub fn call(&mut self, call: &Call<'_>, before: u64) {
		let fields = !call.fields.is_empty();
		let what = 1 | u8::from(fields) << 1 | u8::from(call.error != 0) << 2;
		self.bytes.extend([0x80, 0, what]);
		for number in [call.op, call.object, call.site, call.depth] {
			put_varint(&mut self.bytes, u64::from(number));
		}
		if fields {
			self.bytes.push(((1u32 << call.fields.len()) - 1) as u8);
			call.fields.iter().for_each(|&value| put_zigzag(&mut self.bytes, value));
		}
		if call.error != 0 {
			put_varint(&mut self.bytes, call.error);
		}
		put_varint(&mut self.bytes, call.ended - before);
		put_varint(&mut self.bytes, call.ended - call.began);
	}

	/// Values must be in the order of their series.
	pub fn samples(&mut self, samples: &Samples) {
		let mut payload = Vec::new();
		put_varint(&mut payload, samples.time);
		put_varint(&mut payload, samples.values.len() as u64);
		let mut before = 0;
		for &(series, value) in &samples.values {
			put_varint(&mut payload, u64::from(series - before));
			put_zigzag(&mut payload, value);
			before = series;
		}
		self.record(record_type::SAMPLES, &payload);
	}

	/// When the chunk is sealed, where its header did not know it yet.
	pub fn ends(&mut self, clock: &Clock) {
		for (at, time) in [(80, clock.ticks), (88, clock.monotonic), (96, clock.realtime)] {
			self.bytes[at..at + 8].copy_from_slice(&time.to_le_bytes());
		}
	}

	/// Length and checksum; `flags` are added to those of the header.
	pub fn seal(mut self, flags: u32) -> Vec<u8> {
		let before =
			u32::from_le_bytes([self.bytes[12], self.bytes[13], self.bytes[14], self.bytes[15]]);
		let flags = before | chunk_flag::SEALED | flags;
		let committed = self.committed() as u32;
		self.bytes[12..16].copy_from_slice(&flags.to_le_bytes());
		self.bytes[128..132].copy_from_slice(&committed.to_le_bytes());
		let crc = checksum(&self.bytes);
		self.bytes[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
		self.bytes
	}
}

fn put_data(out: &mut Vec<u8>, data: &CounterData) {
	let detail = match (&data.some, &data.file) {
		(Some(_), _) => counter_detail::SOME,
		(None, Some(_)) => counter_detail::ALL,
		(None, None) => counter_detail::SIZES,
	};
	put_varint(out, detail);
	put_histogram(out, &data.sizes);
	if let Some(some) = &data.some {
		put_some_counts(out, some);
	} else if let Some(file) = &data.file {
		put_file_data(out, file);
	}
}

fn put_some_counts(out: &mut Vec<u8>, some: &SomeCounts) {
	put_varint(out, u64::from(some.known) | if some.sizes_known { SIZES_KNOWN } else { 0 });
	for (i, count) in some.counts.each().into_iter().enumerate() {
		if some.known >> i & 1 != 0 {
			put_zigzag(out, count);
		}
	}
}

fn put_file_data(out: &mut Vec<u8>, file: &FileData) {
	put_histogram(out, &file.extents);
	for count in file.counts.each() {
		put_zigzag(out, count);
	}
	put_order(out, &file.order);
	put_varint(out, u64::from(file.turn));
	for (value, calls) in [file.size_run, file.stride_run] {
		put_zigzag(out, value);
		put_varint(out, calls);
	}
}

fn put_histogram(out: &mut Vec<u8>, bins: &[u64; BINS]) {
	let mask = bins.iter().enumerate().map(|(i, &n)| u64::from(n != 0) << i).sum();
	put_varint(out, mask);
	bins.iter().filter(|&&n| n != 0).for_each(|&n| put_varint(out, n));
}

fn put_order(out: &mut Vec<u8>, order: &Order) {
	put_varint(out, order.located);
	if order.located == 0 {
		return;
	}
	put_zigzag(out, order.first_offset);
	put_zigzag(out, order.first_end.wrapping_sub(order.first_offset));
	put_zigzag(out, order.second_offset.wrapping_sub(order.first_offset));
	put_zigzag(out, order.last_offset);
	put_zigzag(out, order.last_end.wrapping_sub(order.last_offset));
	put_zigzag(out, order.distance);
}
