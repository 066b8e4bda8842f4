//! A second encoder, written from the format's page alone: what the decoder is tested against.

use std::collections::HashMap;

use fathom_stream::{put_text, put_varint, put_zigzag};

/// One call of a test program: what it should come back as.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
	pub op: u32,
	pub object: u32,
	pub site: u32,
	pub depth: u32,
	pub seq: u64,
	pub parent: Option<u64>,
	pub began: u64,
	pub ended: u64,
	pub error: u64,
	pub fields: Vec<i64>,
}

/// What a thread of a test program does.
#[derive(Debug, Clone)]
pub enum Act {
	Enter { op: u32, object: u32, after: u64 },
	Leave { fields: Vec<i64>, error: u64, after: u64 },
	Seal,
}

pub const FIELDS: [usize; 4] = [0, 1, 3, 8];

struct Open {
	op: u32,
	object: u32,
	seq: u64,
	began: u64,
}

#[derive(Clone)]
struct Slot {
	key: (u32, u32, u32),
	last: Vec<i64>,
	slope: Vec<i64>,
}

pub struct Encoder {
	pub file: Vec<u8>,
	pub calls: Vec<CallRow>,
	rows: Vec<u8>,
	slots: HashMap<u8, Slot>,
	named: Vec<u32>,
	open: Vec<Open>,
	next_seq: u64,
	now: u64,
	ended: u64,
	number: u64,
	begin: Begin,
}

#[derive(Default)]
struct Begin {
	next_seq: u64,
	depth: u32,
	first_tick: u64,
}

pub const STREAM: u64 = 0x1122_3344_5566_7788;
pub const INSTANCE: u64 = 0xabcd;

impl Encoder {
	pub fn new(start: u64) -> Self {
		let mut encoder = Encoder {
			file: Vec::new(),
			calls: Vec::new(),
			rows: Vec::new(),
			slots: HashMap::new(),
			named: Vec::new(),
			open: Vec::new(),
			next_seq: 0,
			now: start,
			ended: start,
			number: 0,
			begin: Begin::default(),
		};
		encoder.begin();
		encoder
	}

	fn begin(&mut self) {
		self.begin = Begin {
			next_seq: self.next_seq,
			depth: self.open.len() as u32,
			first_tick: self.ended,
		};
		self.slots.clear();
		self.named.clear();
		if !self.open.is_empty() {
			let mut payload = Vec::new();
			put_varint(&mut payload, self.open.len() as u64);
			for call in &self.open {
				put_varint(&mut payload, call.seq);
				put_varint(&mut payload, u64::from(call.op) + 1);
				put_varint(&mut payload, u64::from(call.object));
				put_varint(&mut payload, call.began);
				put_varint(&mut payload, 0);
				put_zigzag(&mut payload, 7);
				put_zigzag(&mut payload, -7);
			}
			self.record(11, &payload);
		}
	}

	pub fn record(&mut self, kind: u8, payload: &[u8]) {
		self.rows.push(0x80 | kind);
		put_text(&mut self.rows, payload);
	}

	pub fn act(&mut self, act: &Act) {
		match act {
			Act::Enter { op, object, after } if self.open.len() < 63 => {
				self.now += after;
				let (seq, began) = (self.next_seq, self.now);
				self.open.push(Open { op: *op, object: *object, seq, began });
				self.next_seq += 1;
			}
			Act::Leave { fields, error, after } => {
				self.now += after;
				if let Some(call) = self.open.pop() {
					self.row(&call, fields, *error);
				}
			}
			Act::Seal => self.seal(0),
			Act::Enter { .. } => {}
		}
	}

	fn row(&mut self, call: &Open, values: &[i64], error: u64) {
		let depth = self.open.len() as u32;
		let count = FIELDS[call.op as usize];
		let fields: Vec<i64> = (0..count).map(|i| values.get(i).copied().unwrap_or(0)).collect();
		if !self.named.contains(&call.op) {
			self.named.push(call.op);
			self.name_op(call.op);
		}
		let site = call.object * 3;
		let key = (call.op, call.object, depth);
		let number = (call.op * 31 + call.object * 7 + depth) as u8 & 0x7f;
		let known = self.slots.get(&number).filter(|slot| slot.key == key).cloned();
		let defines = known.is_none();
		let slot = known.unwrap_or(Slot { key, last: vec![0; count], slope: vec![0; count] });
		let predicted = |i: usize| slot.last[i].wrapping_add(slot.slope[i]);
		let mask = (0..count).fold(0u8, |m, i| m | u8::from(fields[i] != predicted(i)) << i);
		if !defines && mask == 0 && error == 0 {
			self.rows.push(number);
		} else {
			let what = u8::from(defines) | u8::from(mask != 0) << 1 | u8::from(error != 0) << 2;
			self.rows.extend([0x80, number, what]);
			if defines {
				for value in [call.op, call.object, site, depth] {
					put_varint(&mut self.rows, u64::from(value));
				}
			}
			if mask != 0 {
				self.rows.push(mask);
				for i in (0..count).filter(|i| mask & 1 << i != 0) {
					put_zigzag(&mut self.rows, fields[i].wrapping_sub(predicted(i)));
				}
			}
			if error != 0 {
				put_varint(&mut self.rows, error);
			}
		}
		put_varint(&mut self.rows, self.now - self.ended);
		put_varint(&mut self.rows, self.now - call.began);
		self.ended = self.now;
		let slope = if defines {
			vec![0; count]
		} else {
			(0..count).map(|i| fields[i].wrapping_sub(slot.last[i])).collect()
		};
		self.slots.insert(number, Slot { key, last: fields.clone(), slope });
		self.calls.push(CallRow {
			op: call.op,
			object: call.object,
			site,
			depth,
			seq: call.seq,
			parent: self.open.last().map(|call| call.seq),
			began: call.began,
			ended: self.now,
			error,
			fields,
		});
	}

	fn name_op(&mut self, op: u32) {
		let names: Vec<String> = (0..FIELDS[op as usize]).map(|i| format!("f{i}")).collect();
		let mut payload = Vec::new();
		put_varint(&mut payload, u64::from(op));
		for text in ["test", &format!("op{op}"), "read", &names.join(",")] {
			put_text(&mut payload, text.as_bytes());
		}
		put_varint(&mut payload, 0);
		self.record(1, &payload);
	}

	pub fn seal(&mut self, flags: u32) {
		let mut header = vec![0u8; 192];
		header[..8].copy_from_slice(b"FATHOMCK");
		let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
		put(8, &1u16.to_le_bytes());
		put(10, &192u16.to_le_bytes());
		put(12, &(1 | flags).to_le_bytes());
		put(16, &STREAM.to_le_bytes());
		put(24, &self.number.to_le_bytes());
		put(32, &INSTANCE.to_le_bytes());
		put(48, &self.begin.next_seq.to_le_bytes());
		for (i, at) in [56, 64, 72, 80, 88, 96].into_iter().enumerate() {
			let tick = if i < 3 { self.begin.first_tick } else { self.ended };
			put(at, &tick.to_le_bytes());
		}
		put(112, &u64::MAX.to_le_bytes());
		put(120, &self.begin.first_tick.to_le_bytes());
		put(128, &(self.rows.len() as u32).to_le_bytes());
		put(136, &self.begin.depth.to_le_bytes());
		let crc = crc32c::crc32c_append(crc32c::crc32c(&header), &self.rows);
		header[132..136].copy_from_slice(&crc.to_le_bytes());
		self.file.extend(header);
		self.file.append(&mut self.rows);
		self.number += 1;
		self.begin();
	}

	/// Leaves everything and seals; the file and what it should say.
	pub fn finish(mut self) -> (Vec<u8>, Vec<CallRow>) {
		while !self.open.is_empty() {
			self.act(&Act::Leave { fields: vec![1, 2, 3], error: 0, after: 5 });
		}
		self.seal(2);
		(self.file, self.calls)
	}
}

/// Everything the decoder makes of a file.
pub fn decode(file: &[u8]) -> (Vec<CallRow>, Vec<fathom_stream::Skip>, usize) {
	use fathom_stream::{Decoder, Item, Segment, chunks};
	let (mut calls, mut skipped, mut damage) = (Vec::new(), Vec::new(), 0);
	let mut decoder = Decoder::new();
	for segment in chunks(file) {
		let chunk = match segment {
			Segment::Chunk(chunk) => chunk,
			Segment::Skipped(skip) => {
				skipped.push(skip);
				continue;
			}
		};
		let mut rows = decoder.rows(&chunk);
		while let Some(item) = rows.next() {
			match item {
				Ok(Item::Call(call)) => calls.push(CallRow {
					op: call.op,
					object: call.object,
					site: call.site,
					depth: call.depth,
					seq: call.seq,
					parent: call.parent,
					began: call.began,
					ended: call.ended,
					error: call.error,
					fields: call.fields.to_vec(),
				}),
				Ok(_) => {}
				Err(_) => damage += 1,
			}
		}
	}
	(calls, skipped, damage)
}
