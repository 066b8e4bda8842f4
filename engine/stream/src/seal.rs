//! What the engine itself writes into streams: what `recover` adds to a dead process's chunks, an agent's samples, and
//! the calls of another tool's log. Calls of a program that Fathom records are encoded in C only.

use crate::chunk::{CRC_AT, Chunk, Clock, HEADER, Header, checksum};
use crate::format::{chunk_flag, counter_detail, record_type};
use crate::record::{
	BINS, Counter, CounterData, Datatype, FileData, Heat, Hint, Inside, KernelEvent, Link, Object,
	OpRecord, Order, ProcessRecord, SIZES_KNOWN, Samples, Series, SomeCounts, Tally, Text,
	Unfinished,
};
use crate::rows::Call;

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

	pub fn tally(&mut self, t: &Tally) {
		let mut payload = Vec::new();
		for number in [t.op, t.object, t.enclosing, t.what] {
			put_varint(&mut payload, u64::from(number));
		}
		put_zigzag(&mut payload, t.value);
		put_varint(&mut payload, t.calls);
		put_varint(&mut payload, t.bound);
		self.record(record_type::TALLY, &payload);
	}

	pub fn datatype(&mut self, datatype: &Datatype<'_>) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(datatype.number));
		put_text(&mut payload, datatype.name);
		self.record(record_type::DATATYPE, &payload);
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
		self.record(record_type::UNFINISHED, &payload);
	}

	pub fn series(&mut self, series: &Series<'_>) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(series.series));
		payload.extend(series.instance.to_le_bytes());
		put_varint(&mut payload, u64::from(series.pid));
		for text in [series.what, series.device, series.unit] {
			put_text(&mut payload, text);
		}
		self.record(record_type::SERIES, &payload);
	}

	pub fn mark(&mut self, ticks: u64, kind: &[u8], detail: &[u8], value: u64) {
		let mut payload = Vec::new();
		put_varint(&mut payload, ticks);
		put_text(&mut payload, kind);
		put_text(&mut payload, detail);
		put_varint(&mut payload, value);
		self.record(record_type::MARK, &payload);
	}

	pub fn process(&mut self, process: &ProcessRecord<'_>) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(process.parent_pid));
		let texts = [process.host, process.boot_id, process.executable, process.command];
		for text in texts.into_iter().chain([process.cwd, process.run]) {
			put_text(&mut payload, text);
		}
		put_varint(&mut payload, process.ticks_per_second);
		put_varint(&mut payload, process.start);
		put_varint(&mut payload, u64::from(process.rank));
		put_varint(&mut payload, u64::from(process.ranks));
		put_text(&mut payload, process.allowed);
		put_varint(&mut payload, u64::from(process.quota));
		self.record(record_type::PROCESS, &payload);
	}

	pub fn op(&mut self, op: &OpRecord<'_>) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(op.op));
		for text in [op.layer, op.name, op.kind, op.fields] {
			put_text(&mut payload, text);
		}
		put_varint(&mut payload, op.flags);
		self.record(record_type::OP, &payload);
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

	pub fn hint(&mut self, hint: &Hint<'_>) {
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(hint.object));
		put_varint(&mut payload, u64::from(hint.source));
		put_text(&mut payload, hint.key);
		put_text(&mut payload, hint.value);
		self.record(record_type::HINT, &payload);
	}

	pub fn inside(&mut self, inside: &Inside) {
		let mut payload = Vec::new();
		put_varint(&mut payload, inside.seq);
		put_varint(&mut payload, u64::from(inside.op));
		self.record(record_type::INSIDE, &payload);
	}

	pub fn text(&mut self, text: &Text<'_>) {
		let mut payload = Vec::new();
		put_varint(&mut payload, text.seq);
		put_text(&mut payload, text.name);
		put_text(&mut payload, text.value);
		self.record(record_type::TEXT, &payload);
	}

	/// Must come before the row of its call.
	pub fn link(&mut self, link: &Link) {
		let mut payload = Vec::new();
		put_varint(&mut payload, link.seq);
		payload.extend(link.to_stream.to_le_bytes());
		for number in [link.to_seq, u64::from(link.kind), link.bytes, u64::from(link.percent)] {
			put_varint(&mut payload, number);
		}
		self.record(record_type::LINK, &payload);
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

	pub fn kernel(&mut self, event: &KernelEvent) {
		let mut payload = Vec::new();
		for number in [event.kind, event.pid, event.tid, event.device] {
			put_varint(&mut payload, u64::from(number));
		}
		for number in [event.began, event.ended, event.inode, event.at, event.bytes, event.queued] {
			put_varint(&mut payload, number);
		}
		self.record(record_type::KERNEL, &payload);
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
