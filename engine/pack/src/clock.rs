//! From a clock's ticks to nanoseconds: a line of pieces through the moments when ticks and the system's
//! clock were read together.
//!
//! The runtime reads the system's clock first and ticks right after, so a reading that was interrupted in
//! between is late in ticks, never early. In each stretch of time the earliest reading is the true one.

use fathom_stream::Clock;

/// Ticks are nanoseconds, or have to be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
	Ticks,
	Monotonic,
	Faked,
}

impl Kind {
	pub fn of(clock: u8) -> Kind {
		match clock {
			0 => Kind::Ticks,
			1 => Kind::Monotonic,
			_ => Kind::Faked,
		}
	}

	pub fn name(self) -> &'static str {
		match self {
			Kind::Ticks => "tsc",
			Kind::Monotonic => "monotonic",
			Kind::Faked => "faked",
		}
	}
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Knot {
	tick: u64,
	ns: i64,
}

/// A monotone map; outside its knots the first and last pieces go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
	knots: Vec<Knot>,
	/// ns per tick from knot i on.
	rates: Vec<f64>,
	/// Of the readings that were used, the farthest from the line.
	pub residual: i64,
}

const PIECES: u64 = 256;
const SHORTEST_PIECE_NS: u64 = 100_000_000;
/// A piece whose rate is farther than this from the whole line's is a bad reading, not a drift.
const LARGEST_DRIFT: f64 = 1e-3;

impl Line {
	/// Ticks that are nanoseconds already.
	pub fn identity() -> Line {
		Line { knots: vec![Knot { tick: 0, ns: 0 }], rates: vec![1.0], residual: 0 }
	}

	/// Fits the readings; `per_second` is used when they do not tell the rate.
	pub fn fit(samples: &[Clock], per_second: Option<f64>) -> Line {
		let mut points: Vec<(u64, u64)> = samples.iter().map(|s| (s.ticks, s.monotonic)).collect();
		points.sort_unstable();
		points.dedup();
		let (Some(&first), Some(&last)) = (points.first(), points.last()) else {
			return Line::identity();
		};
		let nominal = per_second.map_or(1.0, |hz| 1e9 / hz);
		let span = last.0 - first.0;
		let measured = last.1.saturating_sub(first.1) as f64 / span.max(1) as f64;
		// Two readings less than a millisecond apart tell less about the rate than the node's own figure.
		let short = last.1.saturating_sub(first.1) < 1_000_000 && per_second.is_some();
		let rate = if span == 0 || measured <= 0.0 || short { nominal } else { measured };
		let knots = pick(&points, rate);
		Line::through(knots, rate, &points)
	}

	fn through(knots: Vec<Knot>, rate: f64, points: &[(u64, u64)]) -> Line {
		let mut rates: Vec<f64> = knots
			.windows(2)
			.map(|pair| (pair[1].ns - pair[0].ns) as f64 / (pair[1].tick - pair[0].tick) as f64)
			.collect();
		let end = rates.last().copied().unwrap_or(rate);
		rates.push(end);
		let mut line = Line { knots, rates, residual: 0 };
		let mut distance: Vec<i64> =
			points.iter().map(|p| (line.ns(p.0) - p.1 as i64).abs()).collect();
		distance.sort_unstable();
		// The median: outliers are interrupted readings, which the line does not follow.
		line.residual = distance.get(distance.len() / 2).copied().unwrap_or(0);
		line
	}

	/// This line's nanoseconds carried on by `ns -> ns + shift + drift * (ns - from)`.
	pub fn corrected(&self, correct: &Correction) -> Line {
		let knots: Vec<Knot> = self
			.knots
			.iter()
			.map(|knot| Knot { tick: knot.tick, ns: correct.apply(knot.ns) })
			.collect();
		let rates = self.rates.iter().map(|rate| rate * (1.0 + correct.drift)).collect();
		Line { knots, rates, residual: self.residual }
	}

	#[inline]
	fn piece(&self, tick: u64) -> usize {
		self.knots.partition_point(|knot| knot.tick <= tick).saturating_sub(1)
	}

	#[inline]
	fn at(&self, piece: usize, tick: u64) -> i64 {
		let knot = self.knots[piece];
		along(knot.ns, self.rates[piece], tick.wrapping_sub(knot.tick) as i64)
	}

	pub fn ns(&self, tick: u64) -> i64 {
		self.at(self.piece(tick), tick)
	}

	pub fn ticks_per_second(&self) -> f64 {
		1e9 / self.rates[self.rates.len() / 2]
	}

	/// Readings close to each other in time: remembers the piece.
	pub fn reader(&self) -> Reader<'_> {
		let mut reader = Reader { line: self, first: 0, last: 0, ns: 0, rate: 0.0 };
		reader.seek(0);
		reader
	}
}

/// Adds `shift`, and `drift` times the distance from `from`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Correction {
	pub shift: i64,
	pub drift: f64,
	pub from: i64,
}

impl Correction {
	pub fn apply(&self, ns: i64) -> i64 {
		let drifted = (ns.saturating_sub(self.from) as f64 * self.drift).round() as i64;
		ns.saturating_add(self.shift).saturating_add(drifted)
	}
}

pub struct Reader<'l> {
	line: &'l Line,
	/// Ticks that the piece holds for.
	first: u64,
	last: u64,
	/// Time at `first`, and the piece's rate.
	ns: i64,
	rate: f64,
}

impl Reader<'_> {
	#[inline]
	pub fn ns(&mut self, tick: u64) -> i64 {
		if tick < self.first || tick > self.last {
			self.seek(tick);
			if tick < self.first {
				return self.line.ns(tick); // before the first knot
			}
		}
		along(self.ns, self.rate, tick.wrapping_sub(self.first) as i64)
	}

	#[cold]
	fn seek(&mut self, tick: u64) {
		let knots = &self.line.knots;
		let piece = self.line.piece(tick);
		self.first = knots[piece].tick;
		self.last = knots.get(piece + 1).map_or(u64::MAX, |next| next.tick - 1);
		self.ns = knots[piece].ns;
		self.rate = self.line.rates[piece];
	}
}

#[inline]
fn along(ns: i64, rate: f64, ticks: i64) -> i64 {
	let ahead = ticks as f64 * rate;
	// Half away from zero, as `round` does, which is a function call on older processors.
	ns.saturating_add((ahead + if ahead < 0.0 { -0.5 } else { 0.5 }) as i64)
}

/// The truest reading of each stretch, and no two that contradict each other.
fn pick(points: &[(u64, u64)], rate: f64) -> Vec<Knot> {
	let first = points[0];
	let span = points[points.len() - 1].1.saturating_sub(first.1);
	let stretch = (span / PIECES).max(SHORTEST_PIECE_NS);
	let late = |p: &(u64, u64)| (p.0 - first.0) as f64 * rate - p.1 as f64;
	let mut best: Vec<(u64, (u64, u64))> = Vec::new();
	for point in points {
		let piece = point.1.saturating_sub(first.1) / stretch;
		match best.last_mut() {
			Some((last, earliest)) if *last == piece => {
				if late(point) < late(earliest) {
					*earliest = *point;
				}
			}
			_ => best.push((piece, *point)),
		}
	}
	let mut knots: Vec<Knot> = Vec::new();
	for (_, (tick, ns)) in best {
		let knot = Knot { tick, ns: ns as i64 };
		let sound = knots.last().is_none_or(|last| {
			let slope = (knot.ns - last.ns) as f64 / (knot.tick - last.tick).max(1) as f64;
			knot.tick > last.tick && (slope / rate - 1.0).abs() < LARGEST_DRIFT
		});
		if sound {
			knots.push(knot);
		}
	}
	knots
}

/// What has to be added to CLOCK_MONOTONIC to get CLOCK_REALTIME: the middle of all readings, so that a step
/// of the clock during the run does not tear the run apart.
pub fn realtime_offset(samples: &[Clock]) -> i64 {
	let mut offsets: Vec<i64> =
		samples.iter().map(|s| s.realtime.wrapping_sub(s.monotonic) as i64).collect();
	offsets.sort_unstable();
	offsets.get(offsets.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
	use super::*;

	fn sample(ticks: u64, monotonic: u64) -> Clock {
		Clock { ticks, monotonic, realtime: monotonic + 1_000_000_000 }
	}

	#[test]
	fn interrupted_readings_do_not_bend_the_line() {
		let true_ns = |tick: u64| 5_000 + tick * 10 / 27;
		let mut samples = Vec::new();
		for i in 0..1000u64 {
			let tick = 1_000 + i * 27_000_000;
			let late = if i % 7 == 3 { 400_000 } else { i % 3 };
			samples.push(sample(tick + late * 27 / 10, true_ns(tick)));
		}
		let line = Line::fit(&samples, None);
		for tick in (1_000..27_000_000_000).step_by(99_999_999) {
			let off = line.ns(tick) - true_ns(tick) as i64;
			assert!(off.abs() <= 4, "{off} ns at {tick}");
		}
	}

	#[test]
	fn never_runs_backwards() {
		let samples: Vec<Clock> =
			(0..500u64).map(|i| sample(i * 50_000_000, i * 20_000_000 + (i * 7919) % 90)).collect();
		let line = Line::fit(&samples, None);
		let mut reader = line.reader();
		let mut last = i64::MIN;
		for tick in (0..25_000_000_000u64).step_by(7_777_777) {
			let now = reader.ns(tick);
			assert!(now >= last);
			assert_eq!(now, line.ns(tick));
			last = now;
		}
	}

	#[test]
	fn one_reading_uses_the_nodes_rate() {
		let line = Line::fit(&[sample(1000, 500)], Some(2e9));
		assert_eq!(line.ns(3000), 1500);
	}

	#[test]
	fn a_gap_of_minutes_stays_one() {
		let mut samples: Vec<Clock> = (0..100).map(|i| sample(i * 3000, i * 1000)).collect();
		let later = 360_000_000_000u64;
		samples.extend((0..100).map(|i| sample(later * 3 + i * 3000, later + i * 1000)));
		let line = Line::fit(&samples, None);
		assert_eq!(line.ns(later * 3) - line.ns(0), later as i64);
	}
}
