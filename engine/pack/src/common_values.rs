//! Which values calls have most often: exact, or with a bound on what was dropped to stay within memory.

use std::collections::HashMap;

use fathom_stream::{Tally, tallied};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u32)]
pub enum What {
	Size = tallied::SIZE,
	Stride = tallied::STRIDE,
	Extent = tallied::EXTENT,
	Datatype = tallied::DATATYPE,
	Function = tallied::FUNCTION,
	SizeRange = tallied::SIZE_RANGE,
}

const EVERY: [What; 6] =
	[What::Size, What::Stride, What::Extent, What::Datatype, What::Function, What::SizeRange];

impl What {
	/// By its number in a stream.
	pub fn of(number: u32) -> Option<What> {
		EVERY.into_iter().find(|what| *what as u32 == number)
	}

	/// Does its value stand for something that has a name?
	pub fn has_name(self) -> bool {
		matches!(self, What::Datatype | What::Function)
	}

	pub fn name(self) -> &'static str {
		tallied::NAMES[self as usize]
	}
}

/// Of one value of one row of `counters`: it occurred at least `calls - bound` and at most `calls` times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Top {
	pub row: u32,
	pub what: What,
	pub value: i64,
	pub calls: u64,
	pub bound: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
	calls: u64,
	bound: u64,
	/// Of what threads dropped: accounted for here, as the value is in their lists.
	listed: u64,
}

/// Values of one process image.
#[derive(Debug, Default)]
pub struct CommonValues {
	counts: HashMap<(u32, What, i64), Count>,
	/// Most occurrences that a value dropped here may have had.
	dropped: u64,
	/// By stream: the same for values that its thread dropped.
	threads: HashMap<u32, u64>,
}

/// Values kept of one image, and rows written for one key and kind.
const MOST: usize = 1 << 18;
const WRITTEN: usize = 16;

impl CommonValues {
	#[inline]
	pub fn add(&mut self, row: u32, what: What, value: i64, calls: u64) {
		if calls > 0 {
			self.entry(row, what, value).calls += calls;
		}
	}

	fn entry(&mut self, row: u32, what: What, value: i64) -> &mut Count {
		if self.counts.len() >= MOST {
			self.drop_rare();
		}
		let new = Count { calls: self.dropped, bound: self.dropped, listed: 0 };
		self.counts.entry((row, what, value)).or_insert(new)
	}

	/// Drops the rarer half of the values.
	fn drop_rare(&mut self) {
		let mut calls: Vec<u64> = self.counts.values().map(|count| count.calls).collect();
		let half = calls.len() / 2;
		let (_, &mut middle, _) = calls.select_nth_unstable(half);
		self.counts.retain(|_, count| count.calls > middle);
		self.dropped = self.dropped.max(middle);
	}

	/// A thread dropped values with at most `bound` occurrences each; the values that it still has come next.
	pub fn dropped(&mut self, stream: u32, bound: u64) {
		self.threads.insert(stream, bound);
	}

	/// What a thread counted.
	pub fn tally(&mut self, stream: u32, row: u32, what: What, tally: &Tally) {
		let listed = self.threads.get(&stream).copied().unwrap_or(0);
		let count = self.entry(row, what, tally.value);
		count.calls = count.calls.saturating_add(tally.calls);
		count.bound = count.bound.saturating_add(tally.bound);
		count.listed = count.listed.saturating_add(listed);
	}

	/// The most frequent values of each row and kind.
	pub fn into_rows(self) -> Vec<Top> {
		let dropped = self.threads.values().fold(0u64, |sum, n| sum.saturating_add(*n));
		let top = |(&(row, what, value), count): (&(u32, What, i64), &Count)| {
			let unseen = dropped.saturating_sub(count.listed);
			let (calls, bound) =
				(count.calls.saturating_add(unseen), count.bound.saturating_add(unseen));
			Top { row, what, value, calls, bound }
		};
		let mut all: Vec<Top> = self.counts.iter().map(top).collect();
		all.sort_unstable_by_key(|top| {
			(top.row, top.what, std::cmp::Reverse(top.calls), top.value)
		});
		let mut rank = 0;
		let mut before = None;
		all.retain(|top| {
			rank = if before == Some((top.row, top.what)) { rank + 1 } else { 0 };
			before = Some((top.row, top.what));
			rank < WRITTEN
		});
		all
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn many_rare_values_do_not_hide_the_frequent_one() {
		let mut tops = CommonValues::default();
		for value in 0..3 * MOST as i64 {
			tops.add(0, What::Size, value, 1);
			tops.add(0, What::Size, -4096, u64::from(value % 100 == 0));
		}
		let occurrences = 3 * MOST as u64 / 100 + 1;
		let rows = tops.into_rows();
		let first = rows[0];
		assert!(rows.len() <= WRITTEN);
		assert_eq!(first.value, -4096);
		assert!(first.calls - first.bound <= occurrences && occurrences <= first.calls);
		assert!(first.bound < 10);
	}

	#[test]
	fn what_a_thread_dropped_widens_the_bound_of_what_it_does_not_list() {
		let mut tops = CommonValues::default();
		tops.add(0, What::Size, 8, 100);
		tops.dropped(5, 7);
		tops.tally(5, 0, What::Size, &Tally { value: 16, calls: 40, bound: 3, ..Tally::default() });
		let rows: Vec<_> = tops.into_rows().iter().map(|t| (t.value, t.calls, t.bound)).collect();
		assert_eq!(rows, [(8, 107, 7), (16, 40, 3)]);
	}
}
