//! Counter tables in a ring: they grow while they are looked at, and empty themselves into the stream.

use fathom_stream::Counter;

use crate::sums::{Sum, Table};

/// Op, object, enclosing op, and how much detail it has: no two counters of a stream's tables are alike in all.
type Key = (u32, u32, u32, u8);
/// What a counter was: sums and first and last tick.
type State = (Sum, u64, u64);

/// What was counted already of one stream's tables.
#[derive(Debug, Default)]
pub struct Tables {
	/// As the tables showed it last, by their place in the ring.
	seen: Vec<(u64, Table<Key, State>)>,
	/// What became records lately: a table that is emptying itself may still show it.
	emptied: Recent,
	/// Counter records that came by.
	pub records: u64,
}

/// The last few thousand records, more than tables hold.
#[derive(Debug, Default)]
struct Recent {
	newer: Table<Key, State>,
	older: Table<Key, State>,
}

impl Recent {
	const MOST: usize = 4096;

	fn add(&mut self, key: Key, state: State) {
		if self.newer.len() >= Self::MOST {
			self.older = std::mem::take(&mut self.newer);
		}
		self.newer.insert(key, state);
	}

	fn has(&self, key: &Key, state: &State) -> bool {
		self.newer.get(key).or_else(|| self.older.get(key)) == Some(state)
	}
}

impl Tables {
	/// A counter record of the stream; returns what of it is new.
	pub fn record(&mut self, counter: &Counter) -> Sum {
		self.records += 1;
		let (key, state) = (key_of(counter), state_of(counter));
		self.emptied.add(key, state);
		let before = self.seen.iter_mut().find_map(|(_, table)| table.remove(&key));
		before.map_or(state.0, |before| state.0.since(&before.0))
	}

	/// The table at `place` of the ring; tells what in it is new. To be called only when no record was written
	/// between the copy of the table and now.
	pub fn table(&mut self, place: u64, counters: &[Counter], mut new: impl FnMut(&Counter, Sum)) {
		let known = self.seen.iter().position(|(at, _)| *at == place);
		let before = known.map(|index| self.seen.swap_remove(index).1).unwrap_or_default();
		let mut after = Table::default();
		for counter in counters {
			let (key, state) = (key_of(counter), state_of(counter));
			if self.emptied.has(&key, &state) {
				continue;
			}
			new(counter, before.get(&key).map_or(state.0, |before| state.0.since(&before.0)));
			after.insert(key, state);
		}
		self.seen.push((place, after));
	}
}

fn key_of(counter: &Counter) -> Key {
	let detail = counter.data.as_ref().map_or(0, |data| 1 + u8::from(data.file.is_some()));
	(counter.op, counter.object, counter.enclosing, detail)
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
	fn two_tables_of_one_stream() {
		let mut tables = Tables::default();
		let mut new = 0;
		tables.table(8192, &[counter(1, 5, 100)], |_, sum| new += sum.calls);
		tables.table(73728, &[counter(2, 3, 110)], |_, sum| new += sum.calls);
		assert_eq!(new, 8);
		assert_eq!(tables.record(&counter(1, 6, 100)).calls, 1);
		assert_eq!(tables.record(&counter(2, 4, 110)).calls, 1);
		assert_eq!(tables.record(&counter(2, 2, 300)).calls, 2);
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
