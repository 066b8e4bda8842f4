//! Rows of a chunk: prediction undone, seq and parent derived from depth.

use std::collections::HashMap;

use crate::bytes::Cursor;
use crate::chunk::{Chunk, Header};
use crate::error::{Damage, Reason};
use crate::format::unfinished_reason;
use crate::plain::{Record, Unfinished, parse};
use crate::{MAX_DEPTH, MAX_FIELDS};

const SLOTS: usize = 128;
const DEFINES: u8 = 1;
const FIELDS: u8 = 2;
const ERROR: u8 = 4;

/// One recorded call. `fields` are those of its op, in the op's order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call<'a> {
	pub op: u32,
	pub object: u32,
	pub site: u32,
	/// Open calls of this stream around it.
	pub depth: u32,
	pub seq: u64,
	/// Seq of the nearest enclosing call of this stream.
	pub parent: Option<u64>,
	pub began: u64,
	pub ended: u64,
	pub error: u64,
	pub fields: &'a [i64],
}

#[derive(Debug, PartialEq)]
pub enum Item<'d, 'a> {
	Call(Call<'d>),
	/// A call without an end; its parent as the open calls give it.
	Unfinished(Unfinished, Option<u64>),
	Record(Record<'a>),
}

/// What rows are predicted from.
#[derive(Clone, Copy)]
struct Slot {
	op: u32,
	object: u32,
	site: u32,
	depth: u32,
	fields: u8,
	defined: bool,
	last: [i64; MAX_FIELDS],
	slope: [i64; MAX_FIELDS],
}

const EMPTY: Slot = Slot {
	op: 0,
	object: 0,
	site: 0,
	depth: 0,
	fields: 0,
	defined: false,
	last: [0; MAX_FIELDS],
	slope: [0; MAX_FIELDS],
};

impl Slot {
	/// Every field is as predicted.
	#[inline]
	fn advance(&mut self) {
		for i in 0..usize::from(self.fields).min(MAX_FIELDS) {
			self.last[i] = self.last[i].wrapping_add(self.slope[i]);
		}
	}

	/// The fields of `mask` differ from the prediction by what `from` says.
	fn correct(&mut self, mask: u8, from: &mut Cursor<'_>) -> Result<(), Reason> {
		for i in 0..usize::from(self.fields).min(MAX_FIELDS) {
			let mut value = self.last[i].wrapping_add(self.slope[i]);
			if mask & 1 << i != 0 {
				value = value.wrapping_add(from.zigzag()?);
			}
			self.slope[i] = value.wrapping_sub(self.last[i]);
			self.last[i] = value;
		}
		Ok(())
	}
}

/// Decodes one chunk after another; keeps its memory between them.
pub struct Decoder {
	slots: Box<[Slot; SLOTS]>,
	ops: HashMap<u32, u8>,
	stack: Vec<u64>,
}

impl Default for Decoder {
	fn default() -> Self {
		Decoder::new()
	}
}

impl Decoder {
	pub fn new() -> Self {
		Decoder {
			slots: Box::new([EMPTY; SLOTS]),
			ops: HashMap::new(),
			stack: Vec::with_capacity(MAX_DEPTH + 1),
		}
	}

	/// The rows of `chunk`, from its begin.
	pub fn rows<'d, 'a>(&'d mut self, chunk: &Chunk<'a>) -> Rows<'d, 'a> {
		self.resume(&chunk.header, &Place::begin(&chunk.header), chunk.rows)
	}

	/// The rows `more` of a chunk that is still being written, those up to `from` having been decoded before, by
	/// this decoder, and no other chunk's since.
	pub fn resume<'d, 'a>(
		&'d mut self,
		header: &Header,
		from: &Place,
		more: &'a [u8],
	) -> Rows<'d, 'a> {
		if from.bytes == 0 {
			for slot in self.slots.iter_mut() {
				slot.defined = false;
			}
			self.ops.clear();
			self.stack.clear();
		}
		Rows {
			decoder: self,
			at: Cursor::new(more),
			before: from.bytes,
			ended: from.ended,
			next_seq: from.next_seq,
			depth: header.depth,
			opened: from.opened,
			stream: header.stream,
			number: header.number,
			header: usize::from(header.length),
			failed: false,
		}
	}

	/// Seqs of the calls that are open, as far as rows show, outermost first.
	pub fn open(&self) -> &[u64] {
		&self.stack
	}
}

/// How far the rows of a chunk were decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
	/// Of rows.
	pub bytes: usize,
	pub ended: u64,
	/// The seq that the next call entered gets.
	pub next_seq: u64,
	/// Are the calls known that were open at the chunk's begin?
	opened: bool,
}

impl Place {
	pub fn begin(header: &Header) -> Place {
		Place {
			bytes: 0,
			ended: header.first_tick,
			next_seq: header.next_seq,
			opened: header.depth == 0,
		}
	}
}

/// The rows of one chunk.
pub struct Rows<'d, 'a> {
	decoder: &'d mut Decoder,
	at: Cursor<'a>,
	/// Bytes of rows before those that `at` goes through.
	before: usize,
	ended: u64,
	next_seq: u64,
	depth: u32,
	opened: bool,
	stream: u64,
	number: u64,
	header: usize,
	failed: bool,
}

impl<'a> Rows<'_, 'a> {
	/// The next row or record; `None` at the end. After an error there is nothing more.
	#[inline]
	#[allow(clippy::should_implement_trait)] // an iterator cannot lend its items
	pub fn next(&mut self) -> Option<Result<Item<'_, 'a>, Damage>> {
		if self.failed || self.at.is_empty() {
			return None;
		}
		let begin = self.at.position();
		// Decode first and build the item after: the borrow of the slot must not outlive an error.
		match self.step() {
			Ok(Step::Call { slot, error, began, seq, parent }) => {
				let slot = &self.decoder.slots[slot];
				Some(Ok(Item::Call(Call {
					op: slot.op,
					object: slot.object,
					site: slot.site,
					depth: slot.depth,
					seq,
					parent,
					began,
					ended: self.ended,
					error,
					fields: &slot.last[..usize::from(slot.fields).min(MAX_FIELDS)],
				})))
			}
			Ok(Step::Unfinished(row, parent)) => Some(Ok(Item::Unfinished(row, parent))),
			Ok(Step::Record(record)) => Some(Ok(Item::Record(record))),
			Err(reason) => {
				self.failed = true;
				Some(Err(Damage {
					stream: self.stream,
					number: self.number,
					byte: self.header + self.before + begin,
					reason,
				}))
			}
		}
	}

	/// The seq that the next call entered would get.
	pub fn next_seq(&self) -> u64 {
		self.next_seq
	}

	/// Seqs of the calls that are open now, outermost first.
	pub fn open(&self) -> &[u64] {
		self.decoder.open()
	}

	/// Where the last row ended, in ticks.
	pub fn ended(&self) -> u64 {
		self.ended
	}

	/// How far this has come: where [`Decoder::resume`] goes on.
	pub fn place(&self) -> Place {
		Place {
			bytes: self.before + self.at.position(),
			ended: self.ended,
			next_seq: self.next_seq,
			opened: self.opened,
		}
	}

	#[inline]
	fn step(&mut self) -> Result<Step<'a>, Reason> {
		let first = self.at.u8()?;
		if first < 0x80 {
			let index = usize::from(first);
			let slot = self.decoder.slots.get_mut(index).ok_or(Reason::UndefinedSlot(first))?;
			if !slot.defined {
				return Err(Reason::UndefinedSlot(first));
			}
			slot.advance();
			let depth = slot.depth;
			return self.finish(index, depth, 0);
		}
		if first == 0x80 {
			return self.explicit();
		}
		let bytes = usize::try_from(self.at.varint()?).map_err(|_| Reason::Ended)?;
		let payload = self.at.take(bytes)?;
		self.record(parse(first & 0x7f, payload)?)
	}

	/// A row that says more than "as predicted".
	fn explicit(&mut self) -> Result<Step<'a>, Reason> {
		let index = self.at.u8()?;
		let what = self.at.u8()?;
		if what & !(DEFINES | FIELDS | ERROR) != 0 {
			return Err(Reason::UnknownBits(what));
		}
		let defines = what & DEFINES != 0;
		if defines {
			self.define(index)?;
		}
		let slot =
			self.decoder.slots.get_mut(usize::from(index)).ok_or(Reason::UndefinedSlot(index))?;
		if !slot.defined {
			return Err(Reason::UndefinedSlot(index));
		}
		let mask = if what & FIELDS != 0 { self.at.u8()? } else { 0 };
		if u32::from(mask) >> slot.fields != 0 {
			return Err(Reason::UnknownBits(mask));
		}
		slot.correct(mask, &mut self.at)?;
		if defines {
			slot.slope = [0; MAX_FIELDS];
		}
		let depth = slot.depth;
		let error = if what & ERROR != 0 { self.at.varint()? } else { 0 };
		self.finish(usize::from(index), depth, error)
	}

	fn define(&mut self, index: u8) -> Result<(), Reason> {
		let op = self.at.number("op")?;
		let object = self.at.number("object")?;
		let site = self.at.number("site")?;
		let depth = self.at.number("depth")?;
		if depth as usize > MAX_DEPTH {
			return Err(Reason::TooLarge("depth"));
		}
		let fields = *self.decoder.ops.get(&op).ok_or(Reason::UnnamedOp(op))?;
		let slot =
			self.decoder.slots.get_mut(usize::from(index)).ok_or(Reason::UndefinedSlot(index))?;
		*slot = Slot { op, object, site, depth, fields, defined: true, ..EMPTY };
		Ok(())
	}

	/// Times, then seq and parent by the depth rule.
	#[inline]
	fn finish(&mut self, slot: usize, depth: u32, error: u64) -> Result<Step<'a>, Reason> {
		let step = self.at.varint()?;
		let duration = self.at.varint()?;
		let ended = self.ended.checked_add(step).ok_or(Reason::TooLarge("time"))?;
		let began = ended.checked_sub(duration).ok_or(Reason::TooLarge("duration"))?;
		if !self.opened {
			return Err(Reason::NoOpenRecord);
		}
		let stack = &mut self.decoder.stack;
		let depth = depth as usize;
		let seq = if depth >= stack.len() {
			while stack.len() < depth {
				stack.push(self.next_seq);
				self.next_seq = self.next_seq.wrapping_add(1);
			}
			let seq = self.next_seq;
			self.next_seq = seq.wrapping_add(1);
			seq
		} else if depth + 1 == stack.len() {
			stack.pop().unwrap_or_default()
		} else {
			return Err(Reason::Depth { row: depth as u32, open: stack.len() as u32 });
		};
		self.ended = ended;
		Ok(Step::Call { slot, error, began, seq, parent: stack.last().copied() })
	}

	fn record(&mut self, record: Record<'a>) -> Result<Step<'a>, Reason> {
		match &record {
			Record::Op(op) => {
				let count = op.field_count();
				if count > MAX_FIELDS {
					return Err(Reason::TooLarge("fields of an op"));
				}
				self.decoder.ops.insert(op.op, count as u8);
			}
			Record::Open(calls) if !self.opened => {
				if calls.len() != self.depth as usize {
					return Err(Reason::NoOpenRecord);
				}
				self.decoder.stack.extend(calls.iter().map(|call| call.seq));
				self.opened = true;
			}
			Record::Unfinished(row) => {
				if row.depth as usize > MAX_DEPTH {
					return Err(Reason::TooLarge("depth"));
				}
				crate::parse::call_number(row.seq)?;
				let parent = self.leave_open(row);
				return Ok(Step::Unfinished(*row, parent));
			}
			_ => {}
		}
		Ok(Step::Record(record))
	}

	/// An unfinished call names its seq, so the calls entered up to it are known to be open.
	fn leave_open(&mut self, row: &Unfinished) -> Option<u64> {
		let stack = &mut self.decoder.stack;
		let depth = row.depth as usize;
		if row.seq >= self.next_seq {
			let entered = row.seq - self.next_seq;
			if depth >= stack.len() && entered == (depth - stack.len()) as u64 {
				stack.extend(self.next_seq..=row.seq);
			}
			self.next_seq = row.seq.wrapping_add(1);
		}
		let parent = depth.checked_sub(1).and_then(|above| stack.get(above)).copied();
		if row.reason == unfinished_reason::LEFT_BY_JUMP {
			stack.truncate(depth);
		}
		parent.filter(|&seq| seq < row.seq)
	}
}

enum Step<'a> {
	Call { slot: usize, error: u64, began: u64, seq: u64, parent: Option<u64> },
	Unfinished(Unfinished, Option<u64>),
	Record(Record<'a>),
}
