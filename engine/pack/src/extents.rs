//! Stretches of a file, and who has a claim to each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bytes of a file: `length` from `offset` on, in pieces that end at multiples of `unit`, each `stride` behind the one before.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Bytes {
	pub offset: i64,
	pub length: i64,
	pub unit: i64,
	pub stride: i64,
}

impl Bytes {
	fn pieces(self) -> impl Iterator<Item = (i64, i64)> {
		let mut at = self.offset;
		let end = self.offset.saturating_add(self.length);
		let mut left = self.length;
		std::iter::from_fn(move || {
			if left <= 0 {
				return None;
			}
			if self.unit <= 0 || self.stride < self.unit {
				left = 0;
				return Some((at, end));
			}
			let stop = (at / self.unit + 1).checked_mul(self.unit)?.min(at.checked_add(left)?);
			let piece = (at, stop);
			left -= stop - at;
			at = (at - at % self.unit).checked_add(self.stride)?;
			Some(piece)
		})
	}
}

/// What one owner may have had of the bytes that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
	pub owner: usize,
	pub bytes: u64,
	/// How many may have been meant, where they were most.
	pub candidates: u32,
}

impl Taken {
	pub fn share(&self, percent: u32) -> u32 {
		percent / self.candidates.max(1)
	}
}

/// Owners as they came, and how many times the stretch is still to be taken.
#[derive(Debug, Clone)]
struct Extent {
	stop: i64,
	owners: Vec<usize>,
	due: usize,
}

/// Owners of one stretch that are remembered.
const MOST_OWNERS: usize = 16;

impl Extent {
	fn add(&mut self, owner: usize, stays: impl Fn(usize) -> bool) {
		self.owners.retain(|&before| stays(before));
		self.due = self.due.min(self.owners.len()) + 1;
		self.owners.push(owner);
		if self.owners.len() > MOST_OWNERS {
			self.owners.remove(0);
			self.due = self.due.min(MOST_OWNERS);
		}
	}
}

/// Whose the bytes of a file are, by start; none overlap.
#[derive(Debug, Default)]
pub struct Extents {
	all: BTreeMap<i64, Extent>,
}

impl Extents {
	/// Earlier owners go, but those that stay.
	pub fn put(&mut self, bytes: Bytes, owner: usize, stays: impl Fn(usize) -> bool) {
		for (start, stop) in bytes.pieces() {
			let mut at = start;
			for (from, mut extent) in self.cut(start, stop) {
				self.own(at, from, owner);
				at = extent.stop;
				extent.add(owner, &stays);
				self.all.insert(from, extent);
			}
			self.own(at, stop, owner);
		}
	}

	fn own(&mut self, start: i64, stop: i64, owner: usize) {
		if start < stop {
			self.all.insert(start, Extent { stop, owners: vec![owner], due: 1 });
		}
	}

	/// Takes the bytes once, by owner. `choose`: whose they may be; one alone is an owner no more.
	pub fn take(
		&mut self,
		bytes: Bytes,
		choose: impl Fn(&mut Vec<usize>) -> Vec<usize>,
	) -> Vec<Taken> {
		let mut taken_by_owner: BTreeMap<usize, Taken> = BTreeMap::new();
		for (start, stop) in bytes.pieces() {
			for (from, mut extent) in self.cut(start, stop) {
				let chosen = choose(&mut extent.owners);
				for &owner in &chosen {
					let taken = taken_by_owner.entry(owner).or_insert(Taken {
						owner,
						bytes: 0,
						candidates: 1,
					});
					taken.bytes += (extent.stop - from).unsigned_abs();
					taken.candidates = taken.candidates.max(chosen.len() as u32);
				}
				if let [only] = chosen[..] {
					extent.owners.retain(|&owner| owner != only);
				}
				extent.due = (extent.due - 1).min(extent.owners.len());
				if extent.due > 0 {
					self.all.insert(from, extent);
				}
			}
		}
		taken_by_owner.into_values().collect()
	}

	/// Takes out what lies between, by start.
	fn cut(&mut self, start: i64, stop: i64) -> Vec<(i64, Extent)> {
		self.split(start);
		self.split(stop);
		let inside: Vec<i64> = self.all.range(start..stop).map(|(at, _)| *at).collect();
		inside.into_iter().filter_map(|at| Some((at, self.all.remove(&at)?))).collect()
	}

	/// No stretch goes across.
	fn split(&mut self, at: i64) {
		let before = self.all.range_mut(..at).next_back();
		if let Some((_, extent)) = before.filter(|(_, extent)| extent.stop > at) {
			let behind = extent.clone();
			extent.stop = at;
			self.all.insert(at, behind);
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	fn whole(offset: i64, length: i64) -> Bytes {
		Bytes { offset, length, unit: 0, stride: 0 }
	}

	const ALL: fn(&mut Vec<usize>) -> Vec<usize> = |owners| owners.clone();

	#[test]
	fn what_several_have_is_shared_as_often_as_it_was_put() {
		let mut extents = Extents::default();
		extents.put(whole(0, 10), 0, |_| true);
		extents.put(whole(5, 10), 1, |_| true);
		let both = [
			Taken { owner: 0, bytes: 5, candidates: 2 },
			Taken { owner: 1, bytes: 5, candidates: 2 },
		];
		assert_eq!(extents.take(whole(5, 5), ALL), both);
		assert_eq!(extents.take(whole(5, 5), ALL), both);
		assert_eq!(extents.take(whole(5, 5), ALL), []);
		let rest = [
			Taken { owner: 0, bytes: 5, candidates: 1 },
			Taken { owner: 1, bytes: 5, candidates: 1 },
		];
		assert_eq!(extents.take(whole(0, 20), ALL), rest);
	}

	#[test]
	fn who_alone_can_have_been_meant_is_owner_no_more() {
		let mut extents = Extents::default();
		(0..3).for_each(|owner| extents.put(whole(0, 10), owner, |before| before > 0));
		let first = |owners: &mut Vec<usize>| owners[..1].to_vec();
		assert_eq!(
			extents.take(whole(0, 10), first),
			[Taken { owner: 1, bytes: 10, candidates: 1 }]
		);
		assert_eq!(
			extents.take(whole(0, 10), first),
			[Taken { owner: 2, bytes: 10, candidates: 1 }]
		);
		assert_eq!(extents.take(whole(0, 10), first), []);
	}

	proptest! {
		#[test]
		fn each_byte_has_the_owner_that_put_it_last(
			puts in prop::collection::vec((0i64..60, 1i64..40, 1i64..5, 0i64..3), 1..12), from in 0i64..80, length in 1i64..80,
		) {
			let (mut extents, mut bytes) = (Extents::default(), [None; 400]);
			for (owner, (offset, length, unit, more)) in puts.into_iter().enumerate() {
				let put = Bytes { offset, length: length.min(20), unit, stride: unit + more };
				extents.put(put, owner, |_| false);
				put.pieces().flat_map(|(a, b)| a..b).for_each(|at| bytes[at as usize] = Some(owner));
			}
			let mut want: BTreeMap<usize, u64> = BTreeMap::new();
			for owner in bytes[from as usize..(from + length) as usize].iter().flatten() {
				*want.entry(*owner).or_default() += 1;
			}
			let want: Vec<_> = want.into_iter().map(|(owner, bytes)| Taken { owner, bytes, candidates: 1 }).collect();
			prop_assert_eq!(extents.take(whole(from, length), ALL), want);
			prop_assert_eq!(extents.take(whole(from, length), ALL), vec![]);
		}
	}
}
