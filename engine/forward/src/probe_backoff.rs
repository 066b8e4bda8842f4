//! Decides how often to ask the kernel for something that it keeps refusing.

use std::sync::atomic::{AtomicU64, Ordering};

/// After so many refusals in a row only one try in `SELDOM` is made.
const IN_A_ROW: u64 = 16;
const SELDOM: u64 = 64;

/// Refusals since it was granted last, and times that it was not asked for. A refusal can be for good (ext4), that of a file (on
/// btrfs all that are copied on write), or of a moment.
#[derive(Default)]
pub struct ProbeBackoff(AtomicU64);

impl ProbeBackoff {
	const NEVER: u64 = u64::MAX;

	/// Each time that this says no counts.
	pub fn is_worth(&self) -> bool {
		match self.0.load(Ordering::Relaxed) {
			ProbeBackoff::NEVER => false,
			count if count < IN_A_ROW || count % SELDOM == 0 => true,
			_ => {
				self.0.fetch_add(1, Ordering::Relaxed);
				false
			}
		}
	}

	pub fn granted(&self) {
		self.0.store(0, Ordering::Relaxed);
	}

	pub fn refused(&self) {
		self.0.fetch_add(1, Ordering::Relaxed);
	}

	/// It is not known here.
	pub fn refused_for_good(&self) {
		self.0.store(ProbeBackoff::NEVER, Ordering::Relaxed);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_is_refused_in_a_row_is_tried_seldom_until_it_is_granted() {
		let backoff = ProbeBackoff::default();
		let count_probes = |times: u64| {
			(0..times)
				.filter(|_| {
					backoff.is_worth() && {
						backoff.refused();
						true
					}
				})
				.count() as u64
		};
		assert_eq!(count_probes(IN_A_ROW), IN_A_ROW);
		assert_eq!(count_probes(10 * SELDOM), 10);
		backoff.granted();
		assert_eq!(count_probes(IN_A_ROW + 1), IN_A_ROW);
		backoff.refused_for_good();
		assert_eq!(count_probes(1000), 0);
	}
}
