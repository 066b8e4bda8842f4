//! Does a process still run? A pid is reused, its start time is not; and a process whose first thread has ended
//! looks like one that nobody has waited for, but its other threads may go on.

use std::fs;

/// Does the process that began at `start` (field 22 of /proc/PID/stat) under this pid still run?
pub fn is_alive(pid: u32, start: u64) -> bool {
	let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
	let began = fields(&stat).nth(19).and_then(|field| field.parse().ok());
	began == Some(start) && runs(pid)
}

/// Does a thread of this process run?
pub fn runs(pid: u32) -> bool {
	let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
	threads
		.map(|thread| fs::read_to_string(thread.path().join("stat")).unwrap_or_default())
		.any(|stat| fields(&stat).next().is_some_and(|state| !matches!(state, "Z" | "X")))
}

/// From the state (field 3) on: the name before may hold anything.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
	stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn this_process_runs_and_one_begun_at_another_time_does_not() {
		let pid = std::process::id();
		let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
		let start = fields(&stat).nth(19).unwrap().parse().unwrap();
		assert!(is_alive(pid, start));
		assert!(!is_alive(pid, start + 1));
		assert!(!runs(0));
	}

	#[test]
	fn a_process_that_nobody_waited_for_does_not_run() {
		let mut child = std::process::Command::new("true").spawn().unwrap();
		let stat = format!("/proc/{}/stat", child.id());
		while fields(&fs::read_to_string(&stat).unwrap()).next() != Some("Z") {
			std::thread::yield_now();
		}
		assert!(!runs(child.id()));
		child.wait().unwrap();
	}
}
