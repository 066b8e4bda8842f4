//! On one processor a tracer and its thread change places at once; on two each stop waits until a processor wakes up.

use std::fs::read_to_string;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where the kernel says on which processor a thread ran last: the 39th word, the 37th behind the program's name.
const PROCESSOR: usize = 36;

/// This thread runs on another's processor until this is dropped.
pub struct Beside {
	before: CpuSet,
}

impl Beside {
	/// `None`: this thread may not run there, or nobody says where that is; it stays where it was.
	pub fn of(process: i32, thread: i32) -> Option<Beside> {
		let stat = read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
		let mut words = stat.rsplit_once(')')?.1.split_whitespace();
		let processor = words.nth(PROCESSOR)?.parse::<usize>().ok()?;
		let before = sched_getaffinity(None).ok()?;
		if processor >= CpuSet::MAX_CPU || !before.is_set(processor) {
			return None;
		}
		let mut there = CpuSet::new();
		there.set(processor);
		sched_setaffinity(None, &there).ok()?;
		Some(Beside { before })
	}
}

impl Drop for Beside {
	fn drop(&mut self) {
		let _stays = sched_setaffinity(None, &self.before);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn it_is_on_one_processor_until_dropped() {
		let before = sched_getaffinity(None).ok();
		let process = std::process::id() as i32;
		let beside = Beside::of(process, process);
		let there = sched_getaffinity(None).map(|set| set.count());
		assert_eq!(there.ok(), beside.as_ref().map(|_| 1).or(before.map(|set| set.count())));
		drop(beside);
		assert_eq!(sched_getaffinity(None).ok(), before);
	}

	#[test]
	fn of_a_thread_that_is_not_there_nothing_is_done() {
		let before = sched_getaffinity(None).ok();
		assert!(Beside::of(std::process::id() as i32, i32::MAX).is_none());
		assert_eq!(sched_getaffinity(None).ok(), before);
	}
}
