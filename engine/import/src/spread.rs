//! Sums over ranks that nobody can take apart again: what is known of some ranks, and an equal part for each of the others.
//! All parts together are the sum.

use fathom_stream::{BINS, PatternCounts, SomeCounts, size_bin};

/// Calls of one op on one thing, by one process or by all ranks together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sum {
	pub calls: u64,
	pub bytes: u64,
	pub time: u64,
	/// No call lasted longer.
	pub longest: u64,
	pub first: u64,
	pub last: u64,
	/// Size, calls; they are all of the calls, or there are none.
	pub sizes: Vec<[u64; 2]>,
	pub details: Details,
}

/// What else may be known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
	/// A value and how many calls had it: an op, the least size of a range, a stride, a size.
	pub functions: Vec<[u64; 2]>,
	pub ranges: Vec<[u64; 2]>,
	pub strides: Vec<[u64; 2]>,
	pub common: Vec<[u64; 2]>,
	/// In the order of [`PatternCounts::each`].
	pub counts: [Option<u64>; 10],
	/// Of sums of all ranks: a rank, its bytes and its time.
	pub ranks: Vec<[u64; 3]>,
}

impl Details {
	/// As counters have them.
	pub fn counts(&self) -> SomeCounts {
		let known = (0u16..).zip(&self.counts).map(|(at, count)| u16::from(count.is_some()) << at);
		let count = |count: Option<u64>| i64::try_from(count.unwrap_or(0)).unwrap_or(i64::MAX);
		SomeCounts {
			sizes_known: false,
			known: known.sum(),
			counts: PatternCounts::of(self.counts.map(count)),
		}
	}

	/// Of calls `from` to `to` of `all`.
	fn part(&self, from: u64, to: u64, all: u64) -> Details {
		let of = |count: u64| portion(count, to, all) - portion(count, from, all);
		Details {
			functions: self.functions.iter().map(|&[op, calls]| [op, of(calls)]).collect(),
			ranges: slice(&self.ranges, from, to),
			strides: slice(&self.strides, from, to),
			common: slice(&self.common, from, to),
			counts: self.counts.map(|count| count.map(of)),
			ranks: Vec::new(),
		}
	}
}

impl Sum {
	/// What is rank `rank`'s of `ranks`; `None`: no call.
	pub fn part(&self, rank: u32, ranks: u32) -> Option<Sum> {
		let (rank, ranks) = (u64::from(rank), u64::from(ranks.max(1)));
		let known: Vec<[u64; 3]> = self.known(ranks);
		let border = |at: u64| portion(self.calls, at, ranks);
		let (mut from, mut to) = (border(rank), border(rank + 1));
		if known.is_empty() {
			let of = |whole: u64| portion(whole, to, self.calls) - portion(whole, from, self.calls);
			return (from < to).then(|| self.cut(from, to, of(self.bytes), of(self.time)));
		}
		// Those that are known come first, each with at least one call.
		let calls_per_rank = (self.calls / ranks).max(1);
		let first = calls_per_rank * known.len() as u64;
		if let Some(at) = known.iter().position(|entry| entry[0] == rank) {
			let from = calls_per_rank * at as u64;
			return Some(self.cut(from, from + calls_per_rank, known[at][1], known[at][2]));
		}
		let (calls, others) = (self.calls - first, ranks - known.len() as u64);
		let before = known.iter().filter(|entry| entry[0] < rank).count() as u64;
		from = portion(calls, rank - before, others);
		to = portion(calls, rank - before + 1, others);
		let left = |all: u64, at: usize| all - known.iter().map(|entry| entry[at]).sum::<u64>();
		let of = |whole: u64| portion(whole, to, calls) - portion(whole, from, calls);
		let (bytes, time) = (of(left(self.bytes, 1)), of(left(self.time, 2)));
		(from < to).then(|| self.cut(first + from, first + to, bytes, time))
	}

	/// Ranks of which it is known what they did; none where that cannot be, or would leave nothing for the others.
	fn known(&self, ranks: u64) -> Vec<[u64; 3]> {
		let known = &self.details.ranks;
		let sum = |at: usize| known.iter().fold(0u64, |sum, entry| sum.saturating_add(entry[at]));
		let number = known.len() as u64;
		let calls_per_rank = (self.calls / ranks).max(1);
		let inside = number < ranks && known.iter().all(|entry| entry[0] < ranks);
		let fits = inside && sum(1) <= self.bytes && sum(2) <= self.time;
		let apart =
			(1..known.len()).all(|at| known[..at].iter().all(|entry| entry[0] != known[at][0]));
		let good = fits && apart && number.saturating_mul(calls_per_rank) < self.calls;
		if good { known.clone() } else { Vec::new() }
	}

	fn cut(&self, from: u64, to: u64, bytes: u64, time: u64) -> Sum {
		Sum {
			calls: to - from,
			bytes,
			time,
			sizes: slice(&self.sizes, from, to),
			details: self.details.part(from, to, self.calls),
			..*self
		}
	}

	/// By size, as counters have it.
	pub fn histogram(&self) -> [u64; BINS] {
		let mut bins = [0u64; BINS];
		for &[size, calls] in &self.sizes {
			let bin = &mut bins[size_bin(i64::try_from(size).unwrap_or(i64::MAX))];
			*bin = bin.saturating_add(calls);
		}
		bins
	}
}

/// Of values and their calls, one after the other, what is in calls `from` to `to`.
fn slice(list: &[[u64; 2]], from: u64, to: u64) -> Vec<[u64; 2]> {
	let mut before = 0u64;
	let inside = list.iter().filter_map(|&[value, calls]| {
		let begin = before;
		before = before.saturating_add(calls);
		let inside = before.min(to).saturating_sub(begin.max(from));
		(inside > 0).then_some([value, inside])
	});
	inside.collect()
}

fn portion(whole: u64, at: u64, of: u64) -> u64 {
	(u128::from(whole) * u128::from(at) / u128::from(of.max(1))) as u64
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	fn sums() -> impl Strategy<Value = Sum> {
		let sizes = prop::collection::vec((any::<u64>(), 1u64..1000), 0..5);
		let known = prop::collection::vec((0u64..40, 0u64..1 << 40, 0u64..1 << 40), 0..3);
		(any::<u64>(), any::<u64>(), sizes, known, any::<u64>()).prop_map(
			|(bytes, time, sizes, known, sequential)| {
				let sizes: Vec<[u64; 2]> = sizes.into_iter().map(|(a, b)| [a, b]).collect();
				let ranks = known.into_iter().map(|(a, b, c)| [a, b, c]).collect();
				let calls = sizes.iter().map(|size| size[1]).sum();
				let mut details = Details { ranks, common: sizes.clone(), ..Details::default() };
				details.counts[0] = Some(sequential);
				Sum { calls, bytes, time, sizes, details, ..Sum::default() }
			},
		)
	}

	proptest! {
		#[test]
		fn parts_add_up(ranks in 1u32..40, sum in sums()) {
			let parts: Vec<Sum> = (0..ranks).filter_map(|rank| sum.part(rank, ranks)).collect();
			let of = |value: fn(&Sum) -> u64| parts.iter().map(value).sum::<u64>();
			prop_assert_eq!(of(|part| part.calls), sum.calls);
			if sum.calls > 0 {
				prop_assert_eq!(of(|part| part.bytes), sum.bytes);
				prop_assert_eq!(of(|part| part.time), sum.time);
				prop_assert_eq!(of(|part| part.details.counts[0].unwrap_or(0)), sum.details.counts[0].unwrap_or(0));
			}
			for part in &parts {
				prop_assert_eq!(part.sizes.iter().map(|size| size[1]).sum::<u64>(), part.calls);
				prop_assert_eq!(&part.sizes, &part.details.common);
			}
		}

		#[test]
		fn what_is_known_of_a_rank_is_its_part(ranks in 3u32..40, calls in 80u64..1000, time in 1u64 << 30..1 << 40) {
			let details = Details { ranks: vec![[2, 5, time / 2], [0, 7, 1]], ..Details::default() };
			let sum = Sum { calls, bytes: 100, time, details, ..Sum::default() };
			let part = |rank| sum.part(rank, ranks).map(|part| (part.bytes, part.time));
			prop_assert_eq!(part(2), Some((5, time / 2)));
			prop_assert_eq!(part(0), Some((7, 1)));
		}
	}
}
