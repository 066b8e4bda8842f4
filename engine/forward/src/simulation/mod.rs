//! The server as it is, with clients, a network and a disk that a number decides: who is heard when, what is lost, when a server
//! is killed and how much of its last write is there. What clients were told is held against what the disk has.

/// What happens, where FATHOM_SCHEDULE_TRACE wants it.
macro_rules! say {
	($($what:tt)*) => {
		if std::env::var_os("FATHOM_SCHEDULE_TRACE").is_some() {
			println!($($what)*);
		}
	};
}

/// An address, a file, who asks its owner there, and what.
pub type Ask = (String, Handle, Asker, OwnerRequest);

mod client;
pub mod disk;
mod log;
mod programs;
mod world;

use std::hash::BuildHasher;

use fathom_wire::Handle;

use crate::append_owner::{Asker, OwnerRequest};

/// Hashes that are the same in each run, so that a schedule can be tried again.
#[derive(Clone, Default)]
pub struct SameHashes;

impl BuildHasher for SameHashes {
	type Hasher = ahash::AHasher;

	fn build_hasher(&self) -> ahash::AHasher {
		ahash::RandomState::with_seeds(1, 2, 3, 4).build_hasher()
	}
}

#[cfg(test)]
mod tests {
	use std::panic::catch_unwind;
	use std::sync::atomic::{AtomicU64, Ordering};

	use super::world::World;

	fn number(name: &str) -> Option<u64> {
		std::env::var(name).ok()?.parse().ok()
	}

	/// FATHOM_SCHEDULES of them, the first one's number FATHOM_SCHEDULE.
	#[test]
	fn clients_are_told_what_the_disk_has() {
		let first = number("FATHOM_SCHEDULE").unwrap_or(1);
		let last = first + number("FATHOM_SCHEDULES").unwrap_or(1000);
		let next = AtomicU64::new(first);
		let threads = std::thread::available_parallelism().map_or(1, usize::from);
		let try_some = || {
			loop {
				let schedule = next.fetch_add(1, Ordering::Relaxed);
				if schedule >= last {
					return;
				}
				if let Err(fault) = catch_unwind(|| World::new(schedule).run()) {
					next.store(last, Ordering::Relaxed);
					println!("again: FATHOM_SCHEDULE={schedule} FATHOM_SCHEDULES=1");
					std::panic::resume_unwind(fault);
				}
			}
		};
		std::thread::scope(|scope| {
			let tried: Vec<_> = (0..threads).map(|_| scope.spawn(try_some)).collect();
			assert!(tried.into_iter().all(|one| one.join().is_ok()), "a schedule found a fault");
		});
	}
}
