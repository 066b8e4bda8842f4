//! From a stream's chunks to its calls: across chunks, with those that have no row of their own.

use fathom_stream::{Call, Chunk, Decoder, Item, OpenCall, Record};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
	Done,
	/// Left, or its thread ended.
	Unfinished,
	/// Open when its process ended: it lasted until then.
	Open,
	Lost,
}

/// A call as it comes out of a stream: in the order of their ends.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
	/// `None`: nothing names it.
	pub op: Option<u32>,
	pub object: u32,
	pub site: u32,
	pub depth: u32,
	pub seq: u64,
	pub parent: Option<u64>,
	/// `None`: not known; its children are.
	pub began: Option<u64>,
	pub ended: u64,
	pub error: u64,
	pub state: State,
	pub fields: &'a [i64],
	/// Size and offset of a call that never ended; `fields` is empty then.
	pub requested: Option<(i64, i64)>,
}

pub trait Visitor {
	fn row(&mut self, row: &Row<'_>);
	fn record(&mut self, record: &Record<'_>);
}

/// A call that is open at a chunk's border.
#[derive(Debug, Clone, Copy)]
struct Pending {
	seq: u64,
	depth: u32,
	parent: Option<u64>,
	facts: Option<OpenCall>,
}

/// Goes through one stream chunk by chunk.
#[derive(Default)]
pub struct Walker {
	next_number: Option<u64>,
	/// Open at the end of the last chunk, outermost first.
	open: Vec<Pending>,
	/// Of them: said to be unfinished, though still on the stack.
	closed: Vec<u64>,
	/// Open before this chunk and not in it; a record may yet say why.
	unresolved: Vec<Pending>,
	last_tick: u64,
	damaged: bool,
	pub chunks_missing: u64,
	/// Rows cut off by damage inside chunks whose checksum fits.
	pub damage: Vec<fathom_stream::Damage>,
}

impl Walker {
	/// The chunk after the one before; numbers only rise.
	pub fn chunk(&mut self, decoder: &mut Decoder, chunk: &Chunk<'_>, visit: &mut impl Visitor) {
		let header = &chunk.header;
		let expected = self.next_number.unwrap_or(0);
		let gap = header.number > expected;
		self.chunks_missing += header.number.saturating_sub(expected);
		self.next_number = Some(header.number.saturating_add(1));
		let before = std::mem::take(&mut self.open);
		if header.depth == 0 {
			self.unresolved = before.clone();
		}
		if gap || self.damaged {
			self.last_tick = self.last_tick.max(header.first_tick.min(header.begin.ticks));
		}
		let forget = (gap || self.damaged) && header.depth == 0;
		self.damaged = false;
		if forget {
			self.lose_unresolved(visit);
		}
		let facts = self.rows(decoder, chunk, &before, gap, visit);
		self.lose_unresolved(visit);
		self.closed.retain(|seq| self.open.iter().any(|pending| pending.seq == *seq));
		for pending in &mut self.open {
			let known = |call: &&OpenCall| call.seq == pending.seq;
			let earlier = || before.iter().find(|p| p.seq == pending.seq).and_then(|p| p.facts);
			pending.facts = facts.iter().find(known).copied().or_else(earlier);
		}
	}

	fn rows(
		&mut self,
		decoder: &mut Decoder,
		chunk: &Chunk<'_>,
		before: &[Pending],
		gap: bool,
		visit: &mut impl Visitor,
	) -> Vec<OpenCall> {
		let mut facts: Vec<OpenCall> = Vec::new();
		let mut rows = decoder.rows(chunk);
		while let Some(item) = rows.next() {
			match item {
				Ok(Item::Call(call)) => {
					if !self.unresolved.is_empty() {
						self.lose_unresolved(visit);
					}
					self.last_tick = call.ended;
					visit.row(&done(&call));
				}
				Ok(Item::Unfinished(row, parent)) => {
					if self.closed.contains(&row.seq) {
						continue;
					}
					let was = self.unresolved.iter().find(|p| p.seq == row.seq).copied();
					self.unresolved.retain(|pending| pending.seq != row.seq);
					self.closed.push(row.seq);
					self.last_tick = self.last_tick.max(row.ended);
					visit.row(&unfinished(&row, parent.or(was.and_then(|p| p.parent))));
				}
				Ok(Item::Record(Record::Open(calls))) => {
					facts = calls;
					self.unresolved = without(before, &facts);
					if gap {
						self.lose_unresolved(visit);
					}
				}
				Ok(Item::Record(record)) => visit.record(&record),
				Err(damage) => {
					self.damage.push(damage);
					self.damaged = true;
				}
			}
		}
		if facts.is_empty() && chunk.header.depth > 0 {
			self.open = before.to_vec(); // the list of open calls is damaged: all stay open
			return facts;
		}
		let mut parent = None;
		self.open.clear();
		for (depth, &seq) in rows.open().iter().enumerate() {
			self.open.push(Pending { seq, depth: depth as u32, parent, facts: None });
			parent = Some(seq);
		}
		facts
	}

	/// Calls that were open, are not any more, and whose end nobody has.
	fn lose_unresolved(&mut self, visit: &mut impl Visitor) {
		for pending in std::mem::take(&mut self.unresolved).iter().rev() {
			if !self.closed.contains(&pending.seq) {
				self.closed.push(pending.seq);
				visit.row(&lost(pending, self.last_tick, State::Lost));
			}
		}
	}

	/// The stream's end. What is still open now is `unfinished` where the process lives, else `lost`.
	pub fn finish(&mut self, alive: bool, visit: &mut impl Visitor) {
		let state = if alive { State::Unfinished } else { State::Lost };
		for pending in std::mem::take(&mut self.open).iter().rev() {
			if !self.closed.contains(&pending.seq) {
				visit.row(&lost(pending, self.last_tick, state));
			}
		}
	}

	pub fn last_tick(&self) -> u64 {
		self.last_tick
	}
}

fn without(before: &[Pending], open: &[OpenCall]) -> Vec<Pending> {
	let gone = |pending: &&Pending| open.iter().all(|call| call.seq != pending.seq);
	before.iter().filter(gone).copied().collect()
}

#[inline]
fn done<'a>(call: &Call<'a>) -> Row<'a> {
	Row {
		op: Some(call.op),
		object: call.object,
		site: call.site,
		depth: call.depth,
		seq: call.seq,
		parent: call.parent,
		began: Some(call.began),
		ended: call.ended,
		error: call.error,
		state: State::Done,
		fields: call.fields,
		requested: None,
	}
}

fn unfinished(row: &fathom_stream::Unfinished, parent: Option<u64>) -> Row<'static> {
	Row {
		op: row.op.checked_sub(1),
		object: row.object,
		site: row.site,
		depth: row.depth,
		seq: row.seq,
		parent,
		began: Some(row.began.min(row.ended)),
		ended: row.ended,
		error: 0,
		state: match row.reason {
			fathom_stream::unfinished_reason::OPEN_AT_END => State::Open,
			_ => State::Unfinished,
		},
		fields: &[],
		requested: Some((row.size, row.offset)),
	}
}

fn lost(pending: &Pending, last_tick: u64, state: State) -> Row<'static> {
	let facts = pending.facts;
	Row {
		op: facts.and_then(|call| call.op.checked_sub(1)),
		object: facts.map_or(0, |call| call.object),
		site: facts.map_or(0, |call| call.site),
		depth: pending.depth,
		seq: pending.seq,
		parent: pending.parent,
		began: facts.map(|call| call.began.min(last_tick)),
		ended: last_tick,
		error: 0,
		state,
		fields: &[],
		requested: facts.map(|call| (call.size, call.offset)),
	}
}
