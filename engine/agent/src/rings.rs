//! Which traced processes live on this node: those that have a ring.

use std::collections::HashMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use fathom_stream::RingHeader;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A process to be told of when it ends.
pub struct Watched {
	pub pid: u32,
	pub start: u64,
	/// Readable once the process has ended; kernels before 5.3 have none.
	pub ended: Option<OwnedFd>,
}

impl Watched {
	pub fn new(pid: u32, start: u64) -> Watched {
		let ended = i32::try_from(pid).ok().and_then(Pid::from_raw);
		let ended = ended.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
		Watched { pid, start, ended }
	}

	pub fn alive(&self) -> bool {
		fathom_pack::is_alive(self.pid, self.start)
	}
}

/// When a process began, as /proc says (field 22); `None`: it is not there.
pub fn start_of(pid: u32) -> Option<u64> {
	let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
	stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

pub struct Rings {
	folder: PathBuf,
	/// By the ring's path.
	pub processes: HashMap<PathBuf, (RingHeader, Watched)>,
}

impl Rings {
	pub fn new(folder: &Path) -> Rings {
		Rings { folder: folder.to_owned(), processes: HashMap::new() }
	}

	/// Looks again. True: there is a ring whose process is dead.
	pub fn scan(&mut self) -> bool {
		let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
		let paths = entries.map(|entry| entry.path());
		let mut before = std::mem::take(&mut self.processes);
		let mut dead = false;
		for path in paths.filter(|path| path.extension().is_some_and(|e| e == "ring")) {
			let known = before.remove(&path).or_else(|| {
				let header = fathom_pack::ring_owner(&path).ok()??;
				Some((header, Watched::new(header.pid, header.pid_start)))
			});
			// A ring that is being made has no header yet; it has at the next look.
			let Some((header, watched)) = known else { continue };
			if watched.alive() {
				self.processes.insert(path, (header, watched));
			} else {
				dead = true;
			}
		}
		dead
	}
}
