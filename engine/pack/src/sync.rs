//! The clocks of several nodes brought to one time, by what the program itself made sure of: no rank leaves
//! a collective open before the last one entered it.

use crate::clock::Correction;

/// One rank's part in a collective call, in its node's own time (ns).
#[derive(Debug, Clone, Copy)]
pub struct Passage {
	pub clock: usize,
	pub enter: i64,
	pub leave: i64,
}

/// How a clock was brought to the reference's time.
#[derive(Debug, Clone, PartialEq)]
pub struct Aligned {
	pub correction: Correction,
	/// Bound on what is left, ns.
	pub error: Option<i64>,
	pub constraints: u32,
	pub method: &'static str,
}

/// At time `at`, what must be added to the clock lies between `low` and `high`.
#[derive(Debug, Clone, Copy)]
struct Bound {
	at: i64,
	low: i64,
	high: i64,
}

/// Crystals are good to this; a larger difference in rate is not considered.
const LARGEST_DRIFT: f64 = 500e-6;
const STEPS: i32 = 400;

/// One [`Aligned`] for each of `clocks`; clock 0 is the reference. Clocks that no collective ties to it, even
/// through others, keep their real-time clock's word.
pub fn align(clocks: usize, collectives: &[Vec<Passage>], span: (i64, i64)) -> Vec<Aligned> {
	let mut aligned: Vec<Option<Aligned>> = vec![None; clocks];
	if let Some(reference) = aligned.first_mut() {
		*reference = Some(Aligned {
			correction: Correction::default(),
			error: Some(0),
			constraints: 0,
			method: "reference",
		});
	}
	// From the reference outwards; the best tied clock first.
	while let Some((clock, alignment)) = next_clock(&aligned, collectives, span) {
		aligned[clock] = Some(alignment);
	}
	let unbound = || Aligned {
		correction: Correction::default(),
		error: None,
		constraints: 0,
		method: "realtime",
	};
	aligned.into_iter().map(|clock| clock.unwrap_or_else(unbound)).collect()
}

fn next_clock(
	aligned: &[Option<Aligned>],
	collectives: &[Vec<Passage>],
	span: (i64, i64),
) -> Option<(usize, Aligned)> {
	let open = (0..aligned.len()).filter(|&clock| aligned[clock].is_none());
	open.filter_map(|clock| Some((clock, solve(clock, aligned, collectives, span)?)))
		.min_by_key(|(_, candidate)| candidate.error.unwrap_or(i64::MAX))
}

/// Bounds on what `clock` lacks, from every collective it shares with clocks that are aligned.
fn bounds(clock: usize, aligned: &[Option<Aligned>], collectives: &[Vec<Passage>]) -> Vec<Bound> {
	let mut bounds = Vec::new();
	for passages in collectives {
		let own: Vec<&Passage> = passages.iter().filter(|p| p.clock == clock).collect();
		let (Some(enter), Some(leave)) =
			(own.iter().map(|p| p.enter).max(), own.iter().map(|p| p.leave).min())
		else {
			continue;
		};
		let (mut low, mut high) = (i64::MIN, i64::MAX);
		for other in passages {
			let Some(Some(known)) = aligned.get(other.clock) else { continue };
			let error = known.error.unwrap_or(0);
			// other.enter <= leave + x, and enter + x <= other.leave
			low = low.max(known.correction.apply(other.enter).saturating_sub(leave) - error);
			high = high.min(known.correction.apply(other.leave).saturating_sub(enter) + error);
		}
		if low > i64::MIN / 2 && high < i64::MAX / 2 {
			bounds.push(Bound { at: enter / 2 + leave / 2, low, high });
		}
	}
	bounds
}

fn solve(
	clock: usize,
	aligned: &[Option<Aligned>],
	collectives: &[Vec<Passage>],
	span: (i64, i64),
) -> Option<Aligned> {
	let bounds = bounds(clock, aligned, collectives);
	let from = bounds.first()?.at;
	// Of all rates that fit, the one that leaves most room; and how far the others lie from it.
	let rate = |step: i32| LARGEST_DRIFT * f64::from(step) / f64::from(STEPS);
	let fits: Vec<(f64, (i64, i64))> =
		(-STEPS..=STEPS).map(|step| (rate(step), room(&bounds, from, rate(step)))).collect();
	let preference = |fit: &&(f64, (i64, i64))| {
		let (low, high) = fit.1;
		(high.saturating_sub(low), -(fit.0.abs() * 1e9) as i64) // of equals the smallest drift
	};
	let widest = fits.iter().max_by_key(preference)?;
	let (drift, (low, high)) = refine(&bounds, from, widest.0);
	if low > high {
		return None;
	}
	let correction = Correction { shift: low / 2 + high / 2, drift, from };
	let mut error = (high - low) / 2 + 1;
	for (other, (low, high)) in fits.into_iter().filter(|(_, (low, high))| low <= high) {
		for at in [span.0, span.1] {
			let chosen = correction.apply(at) - at;
			for shift in [low, high] {
				let alternative = Correction { shift, drift: other, from }.apply(at) - at;
				error = error.max((alternative - chosen).abs());
			}
		}
	}
	let constraints = u32::try_from(bounds.len()).unwrap_or(u32::MAX);
	Some(Aligned { correction, error: Some(error), constraints, method: "collectives" })
}

/// What is left for the shift when the clock drifts by `drift`.
fn room(bounds: &[Bound], from: i64, drift: f64) -> (i64, i64) {
	let mut room = (i64::MIN, i64::MAX);
	for bound in bounds {
		let drifted = ((bound.at - from) as f64 * drift).round() as i64;
		room.0 = room.0.max(bound.low - drifted);
		room.1 = room.1.min(bound.high - drifted);
	}
	room
}

/// The room is concave in the rate: halve the step around the best until it does not matter.
fn refine(bounds: &[Bound], from: i64, start: f64) -> (f64, (i64, i64)) {
	let width = |drift: f64| {
		let (low, high) = room(bounds, from, drift);
		high.saturating_sub(low)
	};
	let (mut best, mut step) = (start, LARGEST_DRIFT / f64::from(STEPS));
	while step > 1e-12 {
		let mut neighbours =
			[best - step, best + step].into_iter().filter(|d| d.abs() <= LARGEST_DRIFT);
		let better = neighbours.find(|&d| width(d) > width(best));
		match better {
			Some(drift) => best = drift,
			None => step /= 2.0,
		}
	}
	(best, room(bounds, from, best))
}

#[cfg(test)]
mod tests {
	use super::*;

	/// Collectives of two nodes, the second `skew` behind and drifting; each rank waits for the last.
	fn collectives(count: i64, every: i64, skew: i64, drift: f64) -> Vec<Vec<Passage>> {
		let warped = |t: i64| t - skew - (t as f64 * drift) as i64;
		(0..count)
			.map(|i| {
				let at = 1_000_000 + i * every;
				let (a, b) = (at + (i * 7919) % 20_000, at + (i * 104_729) % 20_000);
				let done = a.max(b);
				vec![
					Passage { clock: 0, enter: a, leave: done + 2_000 },
					Passage { clock: 1, enter: warped(b), leave: warped(done + 2_500) },
				]
			})
			.collect()
	}

	#[test]
	fn skew_and_drift_are_found_within_the_bound() {
		let (skew, drift) = (250_000_000, 80e-6);
		let last = 600 * 100_000_000;
		let aligned = align(2, &collectives(600, 100_000_000, skew, drift), (0, last));
		let clock = &aligned[1];
		assert_eq!(clock.method, "collectives");
		for t in (0..last).step_by(1_000_000_000) {
			let warped = t - skew - (t as f64 * drift) as i64;
			let off = clock.correction.apply(warped) - t;
			let bound = clock.error.unwrap();
			assert!(off.abs() <= bound, "{off} ns off at {t}, bound {bound}");
			assert!(bound < 30_000, "{bound}");
		}
	}

	#[test]
	fn a_clock_without_collectives_has_no_bound() {
		let aligned = align(2, &[], (0, 1));
		assert_eq!(aligned[1].error, None);
		assert_eq!(aligned[1].method, "realtime");
	}

	#[test]
	fn contradictions_are_not_believed() {
		let collective = |clock_1: i64| {
			vec![
				Passage { clock: 0, enter: 1_000, leave: 2_000 },
				Passage { clock: 1, enter: clock_1, leave: clock_1 + 100 },
			]
		};
		let aligned = align(2, &[collective(1_000), collective(9_000_000)], (0, 10_000_000));
		assert_eq!(aligned[1].method, "realtime");
	}

	#[test]
	fn a_third_clock_is_reached_through_the_second() {
		let passage = |clock, at: i64| Passage { clock, enter: at, leave: at + 100 };
		let aligned = align(
			3,
			&[
				vec![passage(0, 1_000), passage(1, 6_000)],
				vec![passage(1, 7_000), passage(2, 97_000)],
			],
			(0, 100_000),
		);
		let off = aligned[2].correction.apply(97_000) - 2_000;
		assert!(off.abs() <= aligned[2].error.unwrap());
	}
}
