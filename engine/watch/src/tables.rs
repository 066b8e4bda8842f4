//! Counter tables in a ring: they grow while they are looked at, and empty themselves into the stream.

use fathom_stream::Counter;

use crate::sums::{Sum, Table};

type Key = (u32, u32, u32);

#[derive(Debug, Clone, Copy)]
struct Seen {
	state: State,
	/// The stream has it as a record: what the table still shows of it is counted.
	evicted: bool,
}

/// What a counter was: sums and first and last tick.
type State = (Sum, u64, u64);

/// What was counted already of one stream's tables. There is one, but where the disk is full.
#[derive(Debug, Default)]
pub struct Tables {
	seen: Vec<(u64, Table<Key, Seen>)>,
	/// Counter records that came by.
	pub records: u64,
}

impl Tables {
	/// A counter record of the stream; returns what of it is new.
	pub fn record(&mut self, counter: &Counter) -> Sum {
		self.records += 1;
		if self.seen.is_empty() {
			self.seen.push((0, Table::default()));
		}
		let Some((_, seen)) = self.seen.last_mut() else { return state_of(counter).0 };
		let state = state_of(counter);
		match seen.insert(key_of(counter), Seen { state, evicted: true }) {
			Some(before) if !before.evicted => state.0.since(&before.state.0),
			_ => state.0,
		}
	}

	/// The table at `place` of the ring; tells what in it is new. To be called only when no record was written
	/// between the copy of the table and now.
	pub fn table(&mut self, place: u64, counters: &[Counter], mut new: impl FnMut(&Counter, Sum)) {
		let unplaced = self.seen.iter().position(|(at, _)| *at == place || *at == 0);
		let index = unplaced.unwrap_or(self.seen.len());
		if index == self.seen.len() {
			self.seen.push((place, Table::default()));
		}
		let before = std::mem::take(&mut self.seen[index].1);
		let mut after = Table::default();
		for counter in counters {
			let (key, state) = (key_of(counter), state_of(counter));
			let known = before.get(&key);
			let evicted = known.is_some_and(|seen| seen.evicted && seen.state == state);
			match known {
				Some(_) if evicted => {}
				Some(seen) if !seen.evicted => new(counter, state.0.since(&seen.state.0)),
				_ => new(counter, state.0),
			}
			after.insert(key, Seen { state, evicted });
		}
		self.seen[index] = (place, after);
	}
}

fn key_of(counter: &Counter) -> Key {
	(counter.op, counter.object, counter.enclosing)
}

fn state_of(counter: &Counter) -> State {
	let sum = Sum {
		calls: counter.calls,
		errors: counter.errors,
		bytes: counter.bytes,
		ticks: counter.ticks,
	};
	(sum, counter.first, counter.last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	fn counter(object: u32, calls: u64, first: u64) -> Counter {
		Counter {
			object,
			calls,
			ticks: calls * 10,
			first,
			last: first + calls,
			..Counter::default()
		}
	}

	fn calls(tables: &mut Tables, counters: &[Counter]) -> u64 {
		let mut calls = 0;
		tables.table(8192, counters, |_, sum| calls += sum.calls);
		calls
	}

	#[test]
	fn growth_is_counted_once() {
		let mut tables = Tables::default();
		assert_eq!(calls(&mut tables, &[counter(1, 5, 100)]), 5);
		assert_eq!(calls(&mut tables, &[counter(1, 7, 100), counter(2, 1, 150)]), 3);
		assert_eq!(tables.record(&counter(1, 9, 100)).calls, 2);
		assert_eq!(tables.record(&counter(2, 1, 150)).calls, 0);
		assert_eq!(calls(&mut tables, &[]), 0);
		assert_eq!(calls(&mut tables, &[counter(1, 9, 300)]), 9);
	}

	#[test]
	fn a_table_that_is_emptying_itself_is_not_counted_again() {
		let mut tables = Tables::default();
		assert_eq!(tables.record(&counter(1, 9, 100)).calls, 9);
		assert_eq!(calls(&mut tables, &[counter(1, 9, 100), counter(2, 4, 110)]), 4);
		assert_eq!(tables.record(&counter(2, 4, 110)).calls, 0);
		assert_eq!(calls(&mut tables, &[counter(2, 1, 900)]), 1);
		assert_eq!(tables.record(&counter(2, 3, 900)).calls, 2);
	}

	#[test]
	fn emptied_twice_between_two_looks() {
		let mut tables = Tables::default();
		assert_eq!(calls(&mut tables, &[counter(1, 5, 100)]), 5);
		assert_eq!(tables.record(&counter(1, 6, 100)).calls, 1);
		assert_eq!(tables.record(&counter(1, 8, 200)).calls, 8);
		assert_eq!(calls(&mut tables, &[counter(1, 2, 300)]), 2);
	}
}
