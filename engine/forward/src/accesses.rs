//! Accesses to the store: recorded, and as slow as the throttle says.

use fathom_record::{Access, Place};
use rustix::io::Errno;

use crate::throttle::Throttle;

type Result<T> = std::result::Result<T, Errno>;

pub struct Accesses {
	pub throttle: Option<Throttle>,
}

impl Accesses {
	/// Whoever asks the store waits here as long as the throttle says.
	pub fn pass(&self, creates: u32, bytes: usize) {
		if let Some(throttle) = &self.throttle {
			throttle.pass(creates, bytes);
		}
	}

	/// An access that moves no data: recorded, and as slow as the throttle says.
	pub fn access<T>(
		&self,
		what: Access,
		place: Place<'_>,
		creates: u32,
		work: impl FnOnce() -> Result<T>,
	) -> Result<T> {
		let passed = || {
			self.pass(creates, 0);
			work()
		};
		fathom_record::access(what, place, (0, 0), passed, |_| 0)
	}

	/// One that moves data: bytes that were moved.
	pub fn transfer(
		&self,
		what: Access,
		place: Place<'_>,
		extent: (usize, u64),
		work: impl FnOnce() -> Result<usize>,
	) -> Result<usize> {
		let passed = || {
			self.pass(0, extent.0);
			work()
		};
		fathom_record::access(what, place, extent, passed, |bytes| *bytes)
	}
}
