//! What time it is. Whoever decides by the time asks here, so that a simulation can say it.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

pub fn now() -> Instant {
	#[cfg(test)]
	if let Some(passed) = simulated::passed() {
		return simulated::start() + passed;
	}
	Instant::now()
}

/// How long ago that was.
pub fn since(then: Instant) -> Duration {
	now().saturating_duration_since(then)
}

/// Seconds and nanoseconds since 1970, as that clock has them.
pub fn date(clock: ClockId) -> (i64, u32) {
	#[cfg(test)]
	if let Some(passed) = simulated::passed() {
		return simulated::date(clock, passed);
	}
	let now = clock_gettime(clock);
	(now.tv_sec, now.tv_nsec as u32)
}

pub fn pause(time: Duration) {
	#[cfg(test)]
	if simulated::passed().is_some() {
		return simulated::pass(time);
	}
	std::thread::sleep(time);
}

/// The time of this thread's simulation.
#[cfg(test)]
pub mod simulated {
	use std::cell::Cell;
	use std::sync::OnceLock;

	use super::{ClockId, Duration, Instant};

	/// The kernel's clock of files goes on so seldom.
	const TICK: u128 = 4_000_000;

	thread_local! {
		static PASSED: Cell<Option<Duration>> = const { Cell::new(None) };
	}

	pub fn begin() {
		PASSED.set(Some(Duration::from_secs(1)));
	}

	pub fn pass(time: Duration) {
		PASSED.set(PASSED.get().map(|passed| passed + time));
	}

	pub fn passed() -> Option<Duration> {
		PASSED.get()
	}

	pub fn start() -> Instant {
		static START: OnceLock<Instant> = OnceLock::new();
		*START.get_or_init(Instant::now)
	}

	pub fn date(clock: ClockId, passed: Duration) -> (i64, u32) {
		let coarse = matches!(clock, ClockId::RealtimeCoarse);
		let ticks = if coarse { TICK } else { 1 };
		let nanoseconds = passed.as_nanos() / ticks * ticks;
		((nanoseconds / 1_000_000_000) as i64 + 1_000_000, (nanoseconds % 1_000_000_000) as u32)
	}
}
