//! One outermost call with the calls inside it, once all have ended: in the order of starts, each below its own.

use fathom_stream::Counter;

use crate::calls::{NO_TIME, StreamRows, Writing};
use crate::columns::{CallRow, has};
use crate::counters::NO_OP;
use crate::own::Tree;

/// What belongs to an outermost call that has not ended yet.
#[derive(Debug, Default)]
pub struct Pending {
	calls: Vec<CallRow>,
	/// In the order in which they came: as the calls ended.
	arrivals: Vec<Arrival>,
}

#[derive(Debug)]
enum Arrival {
	/// Seq of a call.
	Call(u64),
	Counter(Counter),
}

/// Which counted call is directly around a recorded one, where one is.
#[derive(Debug, Default)]
pub struct Inside {
	/// First seq and op of each change, in order.
	changes: Vec<(u64, Option<u16>)>,
}

impl Inside {
	/// Changes kept at most, unless one call has more inside it.
	const MOST_CHANGES: usize = 1024;

	pub fn push(&mut self, seq: u64, op: Option<u16>) {
		self.changes.push((seq, op));
	}

	#[inline]
	pub fn of(&self, seq: u64) -> Option<u16> {
		if self.changes.is_empty() {
			return None;
		}
		let after = self.changes.partition_point(|change| change.0 <= seq);
		self.changes.get(after.checked_sub(1)?).and_then(|change| change.1)
	}

	/// No call before this seq comes any more.
	pub fn forget(&mut self, seq: u64) {
		if self.changes.len() > Self::MOST_CHANGES {
			let after = self.changes.partition_point(|change| change.0 <= seq);
			self.changes.drain(..after.saturating_sub(1));
		}
	}
}

impl Pending {
	pub fn is_empty(&self) -> bool {
		self.calls.is_empty()
	}

	/// Of a sum that was written amid them.
	pub fn count(&mut self, counter: Counter) {
		self.arrivals.push(Arrival::Counter(counter));
	}

	pub fn push(&mut self, call: CallRow) {
		self.arrivals.push(Arrival::Call(call.seq));
		self.calls.push(call);
	}
}

impl Writing<'_, '_, '_> {
	/// Writes the calls of one outermost call, or of several when one was lost.
	pub fn flush(&mut self) {
		let mut batch = std::mem::take(&mut self.rows.pending);
		let pending = &mut batch.calls;
		pending.sort_unstable_by_key(|call| call.seq);
		guess_starts(pending);
		let mut open: Vec<usize> = Vec::new();
		let mut around: Vec<u16> = Vec::with_capacity(pending.len());
		let mut tree = Tree::default();
		let stream = u64::from(self.rows.facts.stream) << 40;
		let mut ordinal = 0;
		for i in 0..pending.len() {
			let call = pending[i];
			let parent = call.parent & ((1 << 40) - 1);
			while call.valid & has::PARENT != 0
				&& open.last().is_some_and(|&above| pending[above].seq != parent)
			{
				open.pop();
			}
			let maker = open.last().copied().filter(|_| self.rows.is_beside(&call));
			let mut above = open.last().copied();
			let mut enclosing = NO_OP;
			let counted = self.rows.inside.of(call.seq);
			if let Some(maker) = maker {
				stand_beside(pending, i, maker);
				(above, enclosing) = (open.iter().rev().nth(1).copied(), around[maker]);
			} else if call.valid & has::PARENT == 0 {
				open.clear();
				above = None;
				(ordinal, enclosing) = self.root(&mut pending[i]);
				let depth = self.rows.depth_in(counted.unwrap_or(NO_OP));
				pending[i].depth = pending[i].depth.max(depth);
			}
			pending[i].call = ordinal;
			pending[i].valid |= has::CALL;
			if let Some(above) = above {
				pending[above].nested += call.duration;
				enclosing = pending[above].op;
				if let Some(base_depth) = pending[above].depth.checked_add(1) {
					pending[i].depth = pending[i].depth.max(base_depth);
				}
			} else if call.valid & has::PARENT != 0 && maker.is_none() {
				pending[i].valid &= !has::PARENT; // its row is nowhere: an unbroken tree matters more
			}
			let nature = self.rows.maps.nature(call.op);
			tree.add(pending, i, above, stream, nature);
			enclosing = counted.unwrap_or(enclosing);
			around.push(enclosing);
			pending[i].runtime = self.rows.is_runtime(&call, enclosing);
			open.push(i);
		}
		for arrival in batch.arrivals.drain(..) {
			match arrival {
				Arrival::Call(seq) => {
					let at = place_of(pending, seq);
					self.count(&pending[at], around[at]);
				}
				Arrival::Counter(counter) => self.counter(&counter),
			}
		}
		self.rows.inside.forget(pending.first().map_or(0, |first| first.seq));
		for mut call in pending.drain(..) {
			if !self.rows.side_time.is_empty() {
				call.nested += self.rows.side_time.get(&call.seq).copied().unwrap_or(0);
			}
			call.nested = call.nested.min(call.duration);
			self.out.calls.push(&call);
		}
		self.rows.pending = batch;
		self.hand_over();
	}

	/// Ordinal in the process of an outermost call, and the op around it: a signal handler's call has those of
	/// the call that it interrupted.
	pub fn root(&mut self, call: &mut CallRow) -> (u32, u16) {
		let rows = &mut *self.rows;
		let position = rows.roots_done;
		rows.roots_done += 1;
		if let Some((parent, inside, ordinal)) = rows.interrupted.get(&call.seq) {
			call.parent = *parent;
			call.valid |= has::PARENT;
			call.depth = call.depth.saturating_add(inside.depth as u8 + 1);
			let named = |op| rows.maps.ops.get(op).unwrap_or(rows.maps.unknown_op);
			return (*ordinal, inside.op.map_or(rows.maps.unknown_op, named));
		}
		let ordinal = match rows.ordinals {
			None => position as u32,
			Some(list) => list.get(position).copied().unwrap_or(0),
		};
		(ordinal, NO_OP)
	}
}

impl StreamRows<'_> {
	pub fn is_runtime(&self, call: &CallRow, enclosing: u16) -> bool {
		let key = self.key(call.if_has(has::FILE, call.file), call.op, enclosing);
		self.maps.runtime.has(&key)
	}

	/// Calls around one that no recorded call is around: 1 where it lies in one that is only counted, and no region.
	pub fn depth_in(&self, counted: u16) -> u8 {
		u8::from(counted != NO_OP && !self.maps.nature(counted).is_region())
	}

	/// Is it in the row of the call that it stands beside? Where that has none, the runtime says what is around.
	fn is_beside(&self, call: &CallRow) -> bool {
		let plan = self.maps.plans.get(usize::from(call.op));
		plan.is_some_and(|plan| plan.beside) && self.inside.of(call.seq).is_none()
	}
}

/// Where the call of this seq is: mostly they count up without a gap.
#[inline]
fn place_of(sorted: &[CallRow], seq: u64) -> usize {
	let guess = (seq - sorted[0].seq) as usize;
	if sorted.get(guess).is_some_and(|call| call.seq == seq) {
		return guess;
	}
	sorted.partition_point(|call| call.seq < seq)
}

/// A completion, or the other side of a copy, belongs to whoever made the call that it is recorded in.
fn stand_beside(calls: &mut [CallRow], i: usize, maker: usize) {
	let CallRow { parent, depth, site, valid, .. } = calls[maker];
	let inherited = has::PARENT | has::SITE;
	calls[i] = CallRow {
		parent,
		depth,
		site,
		valid: calls[i].valid & !inherited | valid & inherited,
		..calls[i]
	};
}

/// A call whose start nobody knows began no later than the first call inside it.
fn guess_starts(pending: &mut [CallRow]) {
	for i in (0..pending.len()).rev() {
		if pending[i].start != NO_TIME {
			continue;
		}
		let ended = pending[i].duration;
		let next = pending.get(i + 1).filter(|next| next.depth > pending[i].depth);
		let start = next.map_or(ended, |next| next.start).min(ended);
		pending[i].start = start;
		pending[i].duration = ended - start;
	}
}
