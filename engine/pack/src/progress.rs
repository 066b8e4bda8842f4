//! How far a long pack is: a line on stderr now and then.

use std::io::IsTerminal;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const QUIET_FOR: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_secs(1);

pub struct Progress {
	loud: bool,
	total: AtomicU64,
	done: AtomicU64,
	next: Mutex<Instant>,
}

impl Progress {
	pub fn new(loud: bool) -> Self {
		Progress {
			loud,
			total: AtomicU64::new(0),
			done: AtomicU64::new(0),
			next: Mutex::new(Instant::now() + QUIET_FOR),
		}
	}

	pub fn expect(&self, calls: u64) {
		self.total.store(calls, Ordering::Relaxed);
	}

	pub fn add(&self, calls: u64) {
		let done = self.done.fetch_add(calls, Ordering::Relaxed) + calls;
		if !self.loud {
			return;
		}
		let Ok(mut next) = self.next.try_lock() else { return };
		if Instant::now() < *next {
			return;
		}
		*next = Instant::now() + EVERY;
		let total = self.total.load(Ordering::Relaxed).max(1);
		let end = if std::io::stderr().is_terminal() { "\r" } else { "\n" };
		let percent = done.min(total) * 100 / total;
		let _ = write!(
			std::io::stderr(),
			"fathom-engine: packed {done} of {total} calls ({percent} %){end}"
		);
	}
}
