//! Ticks to seconds, while clocks run: what the programs' own readings and this process's tell of their rate.

use std::time::{SystemTime, UNIX_EPOCH};

use fathom_stream::{Clock, Header};

use crate::ticks;

/// Of one node: its processor's counter.
#[derive(Debug, Default)]
pub struct Rate {
	oldest: Option<Clock>,
	newest: Option<Clock>,
}

/// Readings closer together than this, in ns, say too little.
const FAR: u64 = 1_000_000_000;

impl Rate {
	pub fn learn(&mut self, header: &Header) {
		if header.clock != TICKS {
			return;
		}
		for reading in [header.begin, header.seal] {
			if reading.ticks == 0 {
				continue;
			}
			if self.oldest.is_none_or(|oldest| reading.monotonic < oldest.monotonic) {
				self.oldest = Some(reading);
			}
			if self.newest.is_none_or(|newest| reading.monotonic > newest.monotonic) {
				self.newest = Some(reading);
			}
		}
	}

	/// `None`: not known yet, where only one reading is, and no counter.
	fn ticks_per_second(&self) -> Option<f64> {
		let (oldest, newest) = (self.oldest?, self.newest?);
		let apart = newest.monotonic.saturating_sub(oldest.monotonic);
		if apart >= FAR {
			return Some(newest.ticks.saturating_sub(oldest.ticks) as f64 / apart as f64 * 1e9);
		}
		let apart = realtime().saturating_sub(oldest.realtime);
		let ticks = ticks::now()?.saturating_sub(oldest.ticks);
		(apart > 0 && ticks > 0).then(|| ticks as f64 / apart as f64 * 1e9)
	}
}

/// A process's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source {
	/// [`TICKS`], else it counts nanoseconds.
	kind: u8,
	newest: Clock,
}

const TICKS: u8 = 0;

impl Source {
	pub fn learn(&mut self, header: &Header) {
		self.kind = header.clock;
		for reading in [header.begin, header.seal] {
			if reading.monotonic > self.newest.monotonic {
				self.newest = reading;
			}
		}
	}

	pub fn ticks_per_second(&self, rate: &Rate) -> Option<f64> {
		if self.kind == TICKS { rate.ticks_per_second() } else { Some(1e9) }
	}

	/// Seconds since `tick`.
	pub fn since(&self, rate: &Rate, tick: u64) -> Option<f64> {
		let per_second = self.ticks_per_second(rate)?;
		if self.kind == TICKS
			&& let Some(now) = ticks::now()
		{
			return Some(now.saturating_sub(tick) as f64 / per_second);
		}
		let reading = realtime().saturating_sub(self.newest.realtime) as f64 / 1e9;
		let before = (tick as f64 - self.newest.ticks as f64) / per_second;
		Some((reading - before).max(0.0))
	}
}

/// Nanoseconds since 1970.
pub fn realtime() -> u64 {
	let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
	now.as_nanos() as u64
}
