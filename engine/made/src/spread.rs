//! Sums over ranks that nobody can take apart again: an equal part for each rank, all parts together the sum.

use fathom_stream::{BINS, size_bin};

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
	/// (size, calls); they are all of the calls, or there are none.
	pub sizes: Vec<(u64, u64)>,
}

impl Sum {
	/// What is rank `rank`'s of `ranks`; `None`: no call.
	pub fn part(&self, rank: u32, ranks: u32) -> Option<Sum> {
		let ranks = u64::from(ranks.max(1));
		let border = |of: u64, at: u64| portion(of, at, ranks);
		let (from, to) = (border(self.calls, rank.into()), border(self.calls, u64::from(rank) + 1));
		if from == to {
			return None;
		}
		let of = |whole: u64| portion(whole, to, self.calls) - portion(whole, from, self.calls);
		let mut before = 0;
		let sizes = self.sizes.iter().filter_map(|&(size, calls)| {
			let begin = before;
			before += calls;
			let inside = before.min(to).saturating_sub(begin.max(from));
			(inside > 0).then_some((size, inside))
		});
		let sizes = sizes.collect();
		Some(Sum { calls: to - from, bytes: of(self.bytes), time: of(self.time), sizes, ..*self })
	}

	/// By size, as counters have it.
	pub fn histogram(&self) -> [u64; BINS] {
		let mut bins = [0u64; BINS];
		for &(size, calls) in &self.sizes {
			let bin = &mut bins[size_bin(i64::try_from(size).unwrap_or(i64::MAX))];
			*bin = bin.saturating_add(calls);
		}
		bins
	}
}

fn portion(whole: u64, at: u64, of: u64) -> u64 {
	(u128::from(whole) * u128::from(at) / u128::from(of.max(1))) as u64
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	proptest! {
		#[test]
		fn parts_add_up(
			ranks in 1u32..40, bytes in any::<u64>(), time in any::<u64>(),
			sizes in prop::collection::vec((any::<u64>(), 1u64..1000), 0..5),
		) {
			let calls = sizes.iter().map(|size| size.1).sum();
			let sum = Sum { calls, bytes, time, sizes, ..Sum::default() };
			let parts: Vec<Sum> = (0..ranks).filter_map(|rank| sum.part(rank, ranks)).collect();
			let of = |value: fn(&Sum) -> u64| parts.iter().map(value).sum::<u64>();
			prop_assert_eq!(of(|part| part.calls), calls);
			if calls > 0 {
				prop_assert_eq!(of(|part| part.bytes), bytes);
				prop_assert_eq!(of(|part| part.time), time);
			}
			let most = parts.iter().map(|part| part.calls).max().unwrap_or(0);
			prop_assert!(parts.iter().all(|part| part.calls + 1 >= most || calls < u64::from(ranks)));
			for part in &parts {
				prop_assert_eq!(part.sizes.iter().map(|size| size.1).sum::<u64>(), part.calls);
			}
		}
	}
}
