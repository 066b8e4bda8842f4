//! The order of a thread's accesses: each compared with the one before, and rows of them joined end to end.

use fathom_stream::{Order, PatternCounts};

/// Of one access.
#[inline]
pub fn single(offset: i64, end: i64) -> Order {
	Order {
		located: 1,
		first_offset: offset,
		first_end: end,
		second_offset: offset,
		last_offset: offset,
		last_end: end,
		distance: 0,
	}
}

/// `after` follows `before`: counts what is known only now, and makes `before` the whole. Returns the distance
/// between the last access of the one and the first of the other when that is a stride.
#[inline]
pub fn join(before: &mut Order, after: &Order, counts: &mut PatternCounts) -> Option<i64> {
	if after.located == 0 {
		return None;
	}
	if before.located == 0 {
		*before = *after;
		return None;
	}
	let distance = after.first_offset.wrapping_sub(before.last_offset);
	let consecutive = after.first_offset == before.last_end;
	let stride = !consecutive && distance != 0;
	counts.sequential += i64::from(after.first_offset >= before.last_end);
	counts.consecutive += i64::from(consecutive);
	counts.strided += i64::from(stride && before.located > 1 && distance == before.distance);
	if after.located > 1 {
		let next = after.second_offset.wrapping_sub(after.first_offset);
		let consecutive = after.second_offset == after.first_end;
		counts.strided += i64::from(!consecutive && next != 0 && next == distance);
	}
	if before.located == 1 {
		before.second_offset = after.first_offset;
	}
	before.distance = if after.located > 1 { after.distance } else { distance };
	before.located = before.located.saturating_add(after.located);
	before.last_offset = after.last_offset;
	before.last_end = after.last_end;
	stride.then_some(distance)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use std::collections::BTreeMap;

	use proptest::prelude::*;

	use super::*;

	type Strides = BTreeMap<i64, u64>;

	/// By the definitions of docs/tables.md, access by access.
	fn by_definition(accesses: &[(i64, i64)]) -> (PatternCounts, Strides) {
		let (mut counts, mut strides) = (PatternCounts::default(), Strides::new());
		for i in 1..accesses.len() {
			let (offset, end) = (accesses[i].0, accesses[i - 1].0 + accesses[i - 1].1);
			counts.sequential += i64::from(offset >= end);
			counts.consecutive += i64::from(offset == end);
			let distance = offset - accesses[i - 1].0;
			if offset == end || distance == 0 {
				continue;
			}
			*strides.entry(distance).or_default() += 1;
			let same = i > 1 && accesses[i - 1].0 - accesses[i - 2].0 == distance;
			counts.strided += i64::from(same);
		}
		(counts, strides)
	}

	/// In parts that are joined in themselves first.
	fn in_parts(accesses: &[(i64, i64)], cuts: &[usize]) -> (PatternCounts, Strides) {
		let (mut counts, mut strides) = (PatternCounts::default(), Strides::new());
		let mut whole = Order::default();
		let mut from = 0;
		for until in cuts.iter().copied().chain([accesses.len()]) {
			let until = until.clamp(from, accesses.len());
			let mut part = Order::default();
			for &(offset, bytes) in &accesses[from..until] {
				let stride = join(&mut part, &single(offset, offset + bytes), &mut counts);
				stride.into_iter().for_each(|s| *strides.entry(s).or_default() += 1);
			}
			let stride = join(&mut whole, &part, &mut counts);
			stride.into_iter().for_each(|s| *strides.entry(s).or_default() += 1);
			from = until;
		}
		(counts, strides)
	}

	proptest! {
		#![proptest_config(ProptestConfig::with_cases(2000))]
		#[test]
		fn parts_joined_anywhere_give_what_the_definitions_say(
			accesses in prop::collection::vec((0i64..12, 0i64..3), 0..24),
			mut cuts in prop::collection::vec(0usize..24, 0..8),
		) {
			cuts.sort_unstable();
			prop_assert_eq!(in_parts(&accesses, &cuts), by_definition(&accesses));
		}
	}
}
