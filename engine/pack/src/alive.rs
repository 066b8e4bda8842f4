//! Does a process still run? A pid is reused, its start time is not; and a process whose first thread has ended
//! looks like one that nobody has waited for, but its other threads may go on.

use std::fs;
use std::io;
use std::path::Path;

use fathom_sink::{IfThere, entries};
use rustix::io::Errno;

use crate::error::{At, PackError};

/// Does the process that began at `start` (field 22 of /proc/PID/stat) under this pid still run?
pub fn is_alive(pid: u32, start: u64) -> Result<bool, PackError> {
	let stat = stat(Path::new(&format!("/proc/{pid}")))?;
	let began = fields(&stat).nth(19).and_then(|field| field.parse().ok());
	Ok(began == Some(start) && runs(pid)?)
}

/// The same; where nobody can say it, it may: whoever asks looks again.
pub fn may_live(pid: u32, start: u64) -> bool {
	is_alive(pid, start).unwrap_or(true)
}

/// Does a thread of this process run?
pub fn runs(pid: u32) -> Result<bool, PackError> {
	let folder = format!("/proc/{pid}/task");
	let threads = while_it_lives(entries(folder.as_ref())).at(folder.as_ref())?;
	for thread in threads.unwrap_or_default() {
		let runs = |state| !matches!(state, "Z" | "X");
		if fields(&stat(&thread)?).next().is_some_and(runs) {
			return Ok(true);
		}
	}
	Ok(false)
}

/// Of a process or thread; empty: it is gone.
fn stat(folder: &Path) -> Result<String, PackError> {
	let path = folder.join("stat");
	Ok(while_it_lives(fs::read_to_string(&path)).at(&path)?.unwrap_or_default())
}

/// What /proc says of a process that ends while it is read.
fn while_it_lives<T>(read: io::Result<T>) -> io::Result<Option<T>> {
	match read {
		Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => Ok(None),
		read => read.if_there(),
	}
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
		assert!(is_alive(pid, start).unwrap());
		assert!(!is_alive(pid, start + 1).unwrap());
		assert!(!runs(0).unwrap());
	}

	#[test]
	fn a_process_that_nobody_waited_for_does_not_run() {
		let mut child = std::process::Command::new("true").spawn().unwrap();
		let stat = format!("/proc/{}/stat", child.id());
		while fields(&fs::read_to_string(&stat).unwrap()).next() != Some("Z") {
			std::thread::yield_now();
		}
		assert!(!runs(child.id()).unwrap());
		child.wait().unwrap();
	}
}
