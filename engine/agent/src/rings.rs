//! Which traced processes live on this node: those that have a ring.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use fathom_sink::entries;
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
		fathom_pack::may_live(self.pid, self.start)
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

	/// Looks again. True: there is a ring whose process is dead. After an error those that were known are known still.
	pub fn scan(&mut self) -> io::Result<bool> {
		let paths = entries(&self.folder)?;
		let mut there = HashSet::new();
		let mut dead = false;
		for path in paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "ring")) {
			if !self.processes.contains_key(&path) {
				// A ring that is being made has no header yet; it has at the next look.
				let Some(Ok(header)) = fathom_pack::ring_owner(&path)? else { continue };
				let watched = Watched::new(header.pid, header.pid_start);
				self.processes.insert(path.clone(), (header, watched));
			}
			there.insert(path);
		}
		self.processes.retain(|path, (_, watched)| {
			let alive = watched.alive();
			dead |= there.contains(path) && !alive;
			there.contains(path) && alive
		});
		Ok(dead)
	}
}
