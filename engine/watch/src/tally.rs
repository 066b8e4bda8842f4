//! Calls of one stream as they end, inner ones first, into sums that know what was around each call.

use fathom_stream::{Call, Counter, OpenCall, Unfinished};

use crate::names::{Names, Op};
use crate::sums::{Key, OPEN, Sum, Sums};
use crate::tables::Tables;

#[derive(Default)]
pub struct Tally {
	/// A signal handler's stream: its calls were made in another call.
	side: bool,
	/// By depth: sums of calls whose parent is open and not known, so neither is what encloses them.
	waiting: Vec<Sums>,
	pub tables: Tables,
}

/// A call around others.
#[derive(Clone, Copy)]
struct Around {
	/// Op + 1; 0: nothing names it.
	op: u32,
	transparent: bool,
	site: u32,
	depth: usize,
}

impl Tally {
	/// `side`: of a signal handler that interrupted a call.
	pub fn new(side: bool) -> Tally {
		Tally { side, ..Tally::default() }
	}

	pub fn call(&mut self, names: &Names, out: &mut Sums, call: &Call<'_>) {
		let Some(op) = names.op(call.op) else { return };
		let bytes = op.bytes.filter(|_| call.error == 0).and_then(|i| call.fields.get(i));
		let sum = Sum {
			calls: 1,
			errors: u64::from(call.error != 0),
			bytes: bytes.map_or(0, |&bytes| bytes.max(0) as u64),
			ticks: call.ended - call.began,
		};
		let around = Around {
			op: call.op + 1,
			transparent: op.transparent,
			site: call.site,
			depth: call.depth as usize,
		};
		self.ended(out, around, call.object, &sum);
	}

	/// A call whose end nobody saw.
	pub fn unfinished(&mut self, names: &Names, out: &mut Sums, call: &Unfinished) {
		let ticks = call.ended.saturating_sub(call.began);
		let around = around(names, call.op, call.site, call.depth as usize);
		self.ended(out, around, call.object, &Sum { calls: 1, ticks, ..Sum::default() });
	}

	fn ended(&mut self, out: &mut Sums, call: Around, object: u32, sum: &Sum) {
		self.close(out, call);
		let Some(op) = call.op.checked_sub(1) else { return };
		if call.depth == 0 {
			let key = Key { op, object, site: call.site, enclosing: 0, inner: self.side };
			out.add(key, sum);
		} else {
			let key = Key { op, object, site: 0, enclosing: OPEN, inner: self.side };
			self.level(call.depth).add(key, sum);
		}
	}

	fn level(&mut self, depth: usize) -> &mut Sums {
		if self.waiting.len() <= depth {
			self.waiting.resize_with(depth + 1, Sums::default);
		}
		&mut self.waiting[depth]
	}

	/// What `call` is, is known: the calls in it are updated.
	fn close(&mut self, out: &mut Sums, call: Around) {
		for depth in (call.depth + 1..self.waiting.len()).rev() {
			if self.waiting[depth].is_empty() {
				continue;
			}
			let mut inside = std::mem::take(&mut self.waiting[depth]);
			for (mut key, sum) in inside.drain() {
				if key.enclosing == OPEN {
					key.enclosing = call.op;
				}
				key.inner |= !call.transparent;
				if call.depth == 0 {
					out.add(Key { site: call.site, ..key }, &sum);
				} else {
					self.level(call.depth).add(key, &sum);
				}
			}
			self.waiting[depth] = inside;
		}
	}

	/// The calls that are open now, outermost first; `seqs` are those that rows show.
	pub fn settle(&mut self, names: &Names, out: &mut Sums, open: &[OpenCall], seqs: &[u64]) {
		let Some(deepest) = self.waiting.iter().rposition(|sums| !sums.is_empty()) else { return };
		let known = open.len() >= deepest
			&& seqs.len() >= deepest
			&& open.iter().zip(seqs).take(deepest).all(|(call, seq)| call.seq == *seq);
		if !known {
			return; // it has ended since: its row comes with the next look
		}
		for (depth, call) in open.iter().enumerate().take(deepest).rev() {
			self.close(out, around(names, call.op, call.site, depth));
		}
	}

	/// Whatever the calls around were, nobody will tell.
	pub fn cut(&mut self, out: &mut Sums) {
		let nobody = Around { op: 0, transparent: true, site: 0, depth: 0 };
		self.close(out, nobody);
	}

	/// A counter record of the stream.
	pub fn counter(&mut self, names: &Names, out: &mut Sums, counter: &Counter) {
		let sum = self.tables.record(counter);
		count(names, out, counter, &sum);
	}

	/// A counter table of the stream in the ring.
	pub fn table(&mut self, names: &Names, out: &mut Sums, place: u64, counters: &[Counter]) {
		self.tables.table(place, counters, |counter, sum| count(names, out, counter, &sum));
	}
}

fn around(names: &Names, op: u32, site: u32, depth: usize) -> Around {
	let known: Option<Op> = op.checked_sub(1).and_then(|op| names.op(op));
	Around { op, transparent: known.is_none_or(|op| op.transparent), site, depth }
}

fn count(names: &Names, out: &mut Sums, counter: &Counter, sum: &Sum) {
	if *sum == Sum::default() {
		return;
	}
	let (op, object, enclosing) = (counter.op, counter.object, counter.enclosing);
	let inner = enclosing != 0 && !around(names, enclosing, 0, 0).transparent;
	out.add(Key { op, object, site: 0, enclosing, inner }, sum);
}
