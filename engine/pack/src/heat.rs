//! When data moved: calls, bytes and time in a bounded number of bins of the run's time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bins are as wide as this times a power of two, and at most so many.
const NARROWEST: i64 = 12_500_000;
const BINS: i64 = 200;
/// Whatever is later goes there too.
const LAST: usize = BINS as usize - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HeatKey {
	pub process: u32,
	/// Number of the layer's name.
	pub layer: u8,
	pub writes: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
	pub calls: u64,
	pub bytes: i64,
	pub time: i64,
}

/// What moved from `start` on, for `duration` ns.
#[derive(Debug, Clone, Copy)]
pub struct Moved {
	pub start: i64,
	pub duration: i64,
	pub bin: Bin,
}

/// Of some processes.
#[derive(Debug)]
pub struct Heat {
	pub width: i64,
	rows: Vec<(HeatKey, Vec<Bin>)>,
	/// The row and the bin that were used last, and when that bin begins: most calls stay in it.
	last: usize,
	bin: usize,
	begin: i64,
}

/// As narrow as `duration` allows.
pub fn width(duration: i64) -> i64 {
	let mut width = NARROWEST;
	while width.saturating_mul(BINS) < duration {
		width *= 2;
	}
	width
}

impl Default for Heat {
	fn default() -> Self {
		Heat::new(NARROWEST)
	}
}

impl Heat {
	pub fn new(width: i64) -> Heat {
		Heat { width, rows: Vec::new(), last: 0, bin: 0, begin: 0 }
	}

	/// Calls count where they begin; bytes and time are spread evenly over the time they took.
	#[inline]
	pub fn add(&mut self, key: HeatKey, moved: &Moved) {
		let from = moved.start.wrapping_sub(self.begin);
		let inside = from.saturating_add(moved.duration) < self.width || self.bin == LAST;
		if from < 0 || !inside {
			self.spread(key, moved);
			return;
		}
		let at = self.bin;
		let bin = &mut self.bins(key)[at];
		bin.calls += moved.bin.calls;
		bin.bytes = bin.bytes.saturating_add(moved.bin.bytes);
		bin.time = bin.time.saturating_add(moved.bin.time);
	}

	fn spread(&mut self, key: HeatKey, moved: &Moved) {
		let width = self.width;
		let place = |ns: i64| (ns / width).clamp(0, BINS - 1) as usize;
		let (first, last) = (place(moved.start), place(moved.start.saturating_add(moved.duration)));
		self.bin = last;
		self.begin = width.saturating_mul(last as i64);
		let bins = self.bins(key);
		let Bin { calls, mut bytes, mut time } = moved.bin;
		bins[first].calls += calls;
		for (at, bin) in bins.iter_mut().enumerate().take(last).skip(first) {
			let until = width.saturating_mul(at as i64 + 1).saturating_sub(moved.start);
			// What is left of it when this bin ends.
			let left = |all: i64| {
				all - (i128::from(all) * i128::from(until) / i128::from(moved.duration)) as i64
			};
			bin.bytes += bytes - left(moved.bin.bytes);
			bin.time += time - left(moved.bin.time);
			bytes = left(moved.bin.bytes);
			time = left(moved.bin.time);
		}
		bins[last].bytes = bins[last].bytes.saturating_add(bytes);
		bins[last].time = bins[last].time.saturating_add(time);
	}

	#[inline]
	fn bins(&mut self, key: HeatKey) -> &mut [Bin] {
		if self.rows.get(self.last).is_none_or(|row| row.0 != key) {
			self.last = self.rows.iter().position(|row| row.0 == key).unwrap_or_else(|| {
				self.rows.push((key, vec![Bin::default(); BINS as usize]));
				self.rows.len() - 1
			});
		}
		&mut self.rows[self.last].1
	}

	/// Bins in which something happened, with their numbers.
	pub fn into_rows(self) -> Vec<(HeatKey, i64, Bin)> {
		let mut rows = BTreeMap::new();
		for (key, bins) in self.rows {
			let used = bins.into_iter().enumerate().filter(|(_, bin)| *bin != Bin::default());
			rows.extend(used.map(|(at, bin)| ((key, at as i64), bin)));
		}
		rows.into_iter().map(|((key, at), bin)| (key, at, bin)).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const KEY: HeatKey = HeatKey { process: 0, layer: 0, writes: true };

	#[test]
	fn a_long_call_is_spread_and_nothing_is_lost() {
		let mut heat = Heat::new(100_000_000);
		let bin = Bin { calls: 1, bytes: 1001, time: 250_000_000 };
		heat.add(KEY, &Moved { start: 150_000_000, duration: 250_000_000, bin });
		let rows: Vec<_> = heat.into_rows().iter().map(|(_, at, bin)| (*at, *bin)).collect();
		let bin = |calls, bytes, time| Bin { calls, bytes, time };
		let expected = [
			(1, bin(1, 200, 50_000_000)),
			(2, bin(0, 400, 100_000_000)),
			(3, bin(0, 401, 100_000_000)),
		];
		assert_eq!(rows, expected);
	}

	#[test]
	fn bins_are_wide_enough_for_any_run() {
		assert_eq!(width(0), NARROWEST);
		assert_eq!(width(BINS * NARROWEST + 1), 2 * NARROWEST);
		assert!(width(i64::MAX) >= i64::MAX / 200);
	}
}
