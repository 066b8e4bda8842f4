//! Who serves a directory: one server alone, or the servers of one list. Two that each think that they own the ends of its
//! files would write one's appends over the other's.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::journal::{own_directory, own_file};
use crate::trouble::Trouble;

/// A server that was killed may take so long to be gone.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);
/// The list of the servers that hold the directory, by its digest.
const LIST: &str = "servers";

/// The directory's lock, until it is dropped.
pub struct Claim(#[expect(dead_code, reason = "it is held, not used")] OwnedFd);

impl Claim {
	/// `list`: what all servers of the directory must be started with; None: this one serves it alone. None where the file
	/// system locks no directory, or this user may not.
	pub fn take(root: BorrowedFd<'_>, list: Option<&str>) -> Result<Option<Claim>, Trouble> {
		let Ok(place) = lockable(root) else { return Ok(None) };
		let until = Instant::now() + PATIENCE;
		loop {
			match lock(&place, root, list) {
				Err(Errno::WOULDBLOCK) if Instant::now() < until => sleep(PAUSE),
				Err(Errno::WOULDBLOCK) => return Err(held(list)),
				Err(_) => return Ok(None),
				Ok(()) => return Ok(Some(Claim(place))),
			}
		}
	}
}

fn held(list: Option<&str>) -> Trouble {
	let why = match list {
		None => "another server serves it; end that one, or make both a group (--group)",
		Some(_) => "a server with another --group, or with none, serves it; give all the same list",
	};
	Trouble::new(Errno::BUSY, why.to_owned())
}

/// The directory itself; where only files can be locked, one in it.
fn lockable(root: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
	let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
	let place = rustix::fs::openat(root, ".", flags, Mode::empty())?;
	match rustix::fs::flock(&place, FlockOperation::NonBlockingLockShared) {
		Ok(()) => rustix::fs::flock(&place, FlockOperation::Unlock).map(|()| place),
		Err(Errno::WOULDBLOCK) => Ok(place),
		Err(_) => {
			let own = own_directory(&root, true)?;
			own_file(&own, "lock", OFlags::RDWR | OFlags::CREATE).map(OwnedFd::from)
		}
	}
}

fn lock(place: &impl AsFd, root: BorrowedFd<'_>, list: Option<&str>) -> Result<(), Errno> {
	let alone = rustix::fs::flock(place, FlockOperation::NonBlockingLockExclusive);
	let Some(list) = list else { return alone };
	if alone.is_ok() {
		let own = own_directory(&root, true)?;
		let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
		own_file(&own, LIST, flags)?.write_all(list.as_bytes()).map_err(|_| Errno::IO)?;
	}
	rustix::fs::flock(place, FlockOperation::NonBlockingLockShared)?;
	let own = own_directory(&root, false)?;
	let same = own_file(&own, LIST, OFlags::RDONLY).is_ok_and(|file| says(file, list));
	if same { Ok(()) } else { Err(Errno::WOULDBLOCK) }
}

fn says(mut file: File, list: &str) -> bool {
	let mut text = String::new();
	file.read_to_string(&mut text).is_ok() && text == list
}
