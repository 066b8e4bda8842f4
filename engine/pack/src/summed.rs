//! Calls on their way into the sums: those that are recorded one by one, and those that the runtime only counted.

use fathom_stream::{Counter, Heat, Tally};

use crate::calls::{StreamRows, Writing};
use crate::columns::{CallRow, has};
use crate::counters::{Counted, Direction, Key, LaneKey, Moves, NO_FILE, NO_OBJECT, NO_OP, Sum};
use crate::heat::{Bin, HeatKey, Moved};

impl Writing<'_, '_, '_> {
	/// A call's share of `counters`, `tops` and `heat`.
	#[inline]
	pub fn count(&mut self, call: &CallRow, enclosing: u16) {
		if !self.out.apart.is_empty()
			&& let Some(around) = self.out.apart.get_mut(&call.seq)
		{
			*around = enclosing;
			return;
		}
		let rows = &*self.rows;
		let lane = LaneKey {
			stream: rows.local,
			object: call.if_has(has::OBJECT, call.object).unwrap_or(NO_OBJECT),
			op: call.op,
			enclosing,
		};
		let key = || rows.key(call.if_has(has::FILE, call.file), call.op, enclosing);
		let CallRow { bytes, start, duration, .. } = *call;
		let counted = Counted { error: call.error != 0, bytes, start, duration };
		let at = self.out.counters.call(&lane, key, &counted);
		let plan = rows.maps.plans.get(usize::from(call.op));
		let Some(moves) = plan.and_then(|plan| plan.moves) else { return };
		// What stands beside was asked for by another row.
		let asks = call.error == 0 && call.state == 0 && !plan.is_some_and(|plan| plan.beside);
		let access = asks.then(|| rows.maps.access(call));
		self.out.counters.access(at, access.as_ref(), moves);
		if !call.runtime {
			let bin = Bin { calls: 1, bytes, time: duration };
			self.out.heat.add(rows.heat_key(moves), &Moved { start, duration, bin });
		}
	}

	pub fn lane(&self, op: u32, object: u32, enclosing: u32) -> (LaneKey, Key) {
		let maps = self.rows.maps;
		let named = |op: u32| maps.ops.get(op).unwrap_or(maps.unknown_op);
		let (op, enclosing) = (named(op), enclosing.checked_sub(1).map_or(NO_OP, named));
		let (object, file) = maps.objects.get(object).unwrap_or((NO_OBJECT, None));
		let lane = LaneKey { stream: self.rows.local, object, op, enclosing };
		(lane, self.rows.key(file, op, enclosing))
	}

	pub fn counter(&mut self, counter: &Counter) {
		let (lane, key) = self.lane(counter.op, counter.object, counter.enclosing);
		let first = self.clock.ns(counter.first);
		// Ticks of a sum are worth what a tick was worth when they were summed.
		let span = counter.last.saturating_sub(counter.first).max(1);
		let rate = (self.clock.ns(counter.first.saturating_add(span)) - first) as f64 / span as f64;
		let ns = |ticks: u64| (ticks as f64 * rate).round() as i64;
		let sum = Sum {
			calls: counter.calls,
			recorded: 0,
			errors: counter.errors,
			bytes: i64::try_from(counter.bytes).unwrap_or(i64::MAX),
			time: ns(counter.ticks),
			shortest: ns(counter.min),
			longest: ns(counter.max),
			first_start: first,
			last_stop: self.clock.ns(counter.last),
			data: None,
		};
		let at = self.out.counters.add(&lane, &key, &sum);
		let plan = self.rows.maps.plans.get(usize::from(key.op));
		if let Some(moves) = plan.and_then(|plan| plan.moves) {
			self.out.counters.add_data(at, counter.data.as_deref(), moves);
		}
	}

	pub fn tally(&mut self, tally: &Tally) {
		let (lane, key) = self.lane(tally.op, tally.object, tally.enclosing);
		self.out.counters.tally(&lane, &key, tally);
	}

	pub fn heat(&mut self, heat: &Heat) {
		let op = self.rows.maps.ops.get(heat.op).unwrap_or(self.rows.maps.unknown_op);
		let plan = self.rows.maps.plans.get(usize::from(op));
		let Some(moves) = plan.and_then(|plan| plan.moves) else { return };
		let key = self.rows.heat_key(moves);
		for (i, bin) in heat
			.bins
			.iter()
			.enumerate()
			.filter(|(_, bin)| bin.calls > 0 || bin.bytes > 0 || bin.ticks > 0)
		{
			let tick = |n: u64| heat.first.saturating_add(n).saturating_mul(1 << heat.shift);
			let start = self.clock.ns(tick(i as u64));
			let duration = (self.clock.ns(tick(i as u64 + 1)) - start).max(1);
			let rate = duration as f64 / (1u64 << heat.shift) as f64;
			let bytes = i64::try_from(bin.bytes).unwrap_or(i64::MAX);
			let time = (bin.ticks as f64 * rate).round() as i64;
			let bin = Bin { calls: bin.calls, bytes, time };
			self.out.heat.add(key, &Moved { start, duration, bin });
		}
	}
}

impl StreamRows<'_> {
	pub fn key(&self, file: Option<u32>, op: u16, enclosing: u16) -> Key {
		Key {
			process: self.facts.process,
			other_thread: self.other_thread,
			file: file.unwrap_or(NO_FILE),
			op,
			enclosing,
		}
	}

	fn heat_key(&self, moves: Moves) -> HeatKey {
		HeatKey {
			process: self.facts.process,
			layer: moves.layer,
			writes: moves.direction == Direction::Write,
		}
	}
}
