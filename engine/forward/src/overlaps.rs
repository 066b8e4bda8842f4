//! The bytes that waiting requests touch, in order of offset: who has to wait for whom is found without asking all of them.

use std::collections::BTreeMap;

use fathom_wire::Extent;

/// A request's number in the order of arrival.
pub type Number = u64;

#[derive(Default)]
pub struct Overlaps {
	/// By where they begin and whose they are: where they end, and whether they are written.
	extents: BTreeMap<(u64, Number), (u64, bool)>,
	/// The longest since there were none: who touches a byte begins at most so far before it.
	longest: u64,
}

impl Overlaps {
	pub fn insert(&mut self, number: Number, extents: &[Extent], writes: bool) {
		for extent in extents {
			let (end, _) = self.extents.entry((extent.offset, number)).or_insert((0, writes));
			*end = extent.end().max(*end);
			self.longest = self.longest.max(extent.length);
		}
	}

	pub fn remove(&mut self, number: Number, extents: &[Extent]) {
		for extent in extents {
			self.extents.remove(&(extent.offset, number));
		}
		if self.extents.is_empty() {
			self.longest = 0;
		}
	}

	/// Who may not be done at the same time as one that reads, or writes, these bytes.
	pub fn of<'a>(
		&'a self,
		extents: &'a [Extent],
		writes: bool,
	) -> impl Iterator<Item = Number> + 'a {
		extents.iter().flat_map(move |extent| {
			let from = extent.offset.saturating_sub(self.longest);
			let candidates = self.extents.range((from, 0)..(extent.end(), 0)).rev();
			let meets = move |(_, (end, written)): &(_, &(u64, bool))| {
				*end > extent.offset && (writes || *written)
			};
			candidates.filter(meets).map(|((_, number), _)| *number)
		})
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	fn extents(all: &[(u64, u64)]) -> Vec<Extent> {
		all.iter().map(|&(offset, length)| Extent { offset, length }).collect()
	}

	fn meet(a: &[(u64, u64)], b: &[(u64, u64)]) -> bool {
		let mut overlaps = Overlaps::default();
		overlaps.insert(7, &extents(a), true);
		let overlapping = overlaps.of(&extents(b), false).any(|number| number == 7);
		overlaps.remove(7, &extents(a));
		assert!(overlaps.of(&extents(a), true).next().is_none());
		overlapping
	}

	#[test]
	fn interleaved_lists_do_not_meet() {
		let a = [(0, 10), (20, 10), (40, 10)];
		assert!(!meet(&a, &[(10, 10), (30, 10)]));
		assert!(meet(&a, &[(10, 10), (30, 11)]));
		assert!(meet(&[(0, 100), (10, 1)], &[(50, 1)]));
		assert!(meet(&[(0, 1), (0, 100)], &[(50, 1)]));
	}

	#[test]
	fn reads_do_not_wait_for_reads() {
		let (mut overlaps, bytes) = (Overlaps::default(), extents(&[(5, 5)]));
		overlaps.insert(1, &bytes, false);
		assert_eq!(overlaps.of(&bytes, false).count(), 0);
		assert_eq!(overlaps.of(&bytes, true).collect::<Vec<_>>(), [1]);
	}
}
