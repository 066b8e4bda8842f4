//! The file that a file's ledger is written to: lines are added before what they say is done, without sync, so that they
//! outlive the server and not the machine.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fathom_wire::Handle;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::ledger::{Ledger, Line};
use crate::trouble::errno_text;

/// Where journals are unless it is said otherwise: in the exported directory, and not listed there.
pub const JOURNALS: &str = ".fathom-forward";
/// A journal that is longer is written anew with what still matters.
const LONG: u64 = 4 << 20;

/// Where journals are.
pub trait JournalStore: Send + Sync {
	/// None: there is none.
	fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Errno>;
	/// Made if it is not there.
	fn open(&self, name: &str) -> Result<Box<dyn JournalFile>, Errno>;
	/// In the place of another.
	fn rename(&self, name: &str, to: &str) -> Result<(), Errno>;
	fn remove(&self, name: &str) -> Result<(), Errno>;
	/// Bytes after which a journal is written anew.
	fn long(&self) -> u64 {
		LONG
	}
}

/// A journal that is open.
pub trait JournalFile: Send {
	/// Behind what is there, all of it or nothing; it outlives this process.
	fn add(&mut self, text: &[u8]) -> Result<(), Errno>;
}

pub struct Journal {
	/// None: nothing is kept.
	journal_store: Option<Arc<dyn JournalStore>>,
	name: String,
	open: Mutex<Option<Box<dyn JournalFile>>>,
	bytes: AtomicU64,
}

impl Journal {
	/// A file's, on a shelf that need not be there yet.
	pub fn of(journal_store: Option<Arc<dyn JournalStore>>, id: &Handle) -> Journal {
		let name = id.0[16..].iter().map(|byte| format!("{byte:02x}")).collect();
		Journal { journal_store, name, open: Mutex::new(None), bytes: AtomicU64::new(0) }
	}

	/// What it says; whether it was there.
	pub fn read(&self) -> Result<(Ledger, bool), Errno> {
		let Some(journal_store) = &self.journal_store else {
			return Ok((Ledger::default(), false));
		};
		Ok(match journal_store.read(&self.name)? {
			Some(bytes) => (Ledger::read(&String::from_utf8_lossy(&bytes)), true),
			None => (Ledger::default(), false),
		})
	}

	pub fn is_long(&self) -> bool {
		let long = self.journal_store.as_ref().map_or(LONG, |store| store.long());
		self.bytes.load(Ordering::Relaxed) > long
	}

	pub fn add(&self, lines: &[Line]) -> Result<(), Errno> {
		let Some(journal_store) = &self.journal_store else { return Ok(()) };
		let mut open = self.open.lock().map_err(|_| Errno::IO)?;
		let page = match &mut *open {
			Some(page) => page,
			None => open.insert(journal_store.open(&self.name)?),
		};
		let text = text(lines);
		self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
		page.add(text.as_bytes())
	}

	/// These lines and no others; without any, the file goes.
	pub fn rewrite(&self, lines: &[Line]) -> Result<(), Errno> {
		let Some(journal_store) = &self.journal_store else { return Ok(()) };
		let mut open = self.open.lock().map_err(|_| Errno::IO)?;
		*open = None;
		self.bytes.store(0, Ordering::Relaxed);
		if lines.is_empty() {
			return journal_store.remove(&self.name);
		}
		let new = format!("{}.new", self.name);
		journal_store.remove(&new)?; // of one that a kill interrupted
		journal_store.open(&new)?.add(text(lines).as_bytes())?;
		journal_store.rename(&new, &self.name)
	}
}

/// The server's own directory beneath the exported one; no link is followed to it, as others may have put one there.
pub fn own_directory(root: &impl AsFd, make: bool) -> Result<OwnedFd, Errno> {
	directory_in(root, JOURNALS, make)
}

fn directory_in(above: &impl AsFd, name: &str, make: bool) -> Result<OwnedFd, Errno> {
	let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
	let open = || rustix::fs::openat(above, name, flags, Mode::empty());
	match open() {
		Err(Errno::NOENT) if make => {
			match rustix::fs::mkdirat(above, name, Mode::RWXU) {
				Err(error) if error != Errno::EXIST => return Err(error),
				_ => {}
			}
			open()
		}
		opened => opened,
	}
}

/// A file there.
pub fn own_file(directory: &impl AsFd, name: &str, flags: OFlags) -> Result<File, Errno> {
	let (flags, mode) = (flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
	rustix::fs::openat(directory, name, flags, mode).map(File::from)
}

/// All of a file there; None: there is none. What keeps it from being read is said, as nobody knows then what it holds.
pub fn read_own(root: &impl AsFd, name: &str) -> Result<Option<Vec<u8>>, String> {
	let file = own_directory(root, false).and_then(|own| own_file(&own, name, OFlags::RDONLY));
	let mut bytes = Vec::new();
	let read = match file {
		Err(Errno::NOENT) => return Ok(None),
		Err(errno) => Err(errno),
		Ok(mut file) => file.read_to_end(&mut bytes).map_err(|error| errno_of(&error)),
	};
	let why = |errno| format!("{JOURNALS}/{name}: {}; mend it, or remove it", errno_text(errno));
	read.map(|_| Some(bytes)).map_err(why)
}

/// A directory of this machine.
pub struct JournalDirectory {
	root: OwnedFd,
	opened: Mutex<Option<Arc<OwnedFd>>>,
}

impl JournalDirectory {
	/// In the server's own directory beneath this one.
	pub fn beneath(root: OwnedFd) -> JournalDirectory {
		JournalDirectory { root, opened: Mutex::new(None) }
	}

	/// Opened once; anew if somebody removed it.
	fn directory(&self, make: bool) -> Result<Arc<OwnedFd>, Errno> {
		let mut opened = self.opened.lock().map_err(|_| Errno::IO)?;
		let is_there =
			|place: &Arc<OwnedFd>| rustix::fs::fstat(place).is_ok_and(|facts| facts.st_nlink > 0);
		if let Some(place) = opened.as_ref().filter(|place| is_there(place)) {
			return Ok(place.clone());
		}
		let place = directory_in(&own_directory(&self.root, make)?, "appends", make)?;
		Ok(opened.insert(Arc::new(place)).clone())
	}
}

impl JournalStore for JournalDirectory {
	fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Errno> {
		let place = self.directory(false);
		match place.and_then(|place| own_file(&place, name, OFlags::RDONLY)) {
			Ok(mut file) => {
				let mut bytes = Vec::new();
				file.read_to_end(&mut bytes).map_err(|error| errno_of(&error))?;
				Ok(Some(bytes))
			}
			// nor can one be where its directory is none
			Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
			Err(error) => Err(error),
		}
	}

	fn open(&self, name: &str) -> Result<Box<dyn JournalFile>, Errno> {
		let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
		Ok(Box::new(own_file(&self.directory(true)?, name, flags)?))
	}

	fn rename(&self, name: &str, to: &str) -> Result<(), Errno> {
		let place = self.directory(false)?;
		rustix::fs::renameat(&place, name, &place, to)
	}

	fn remove(&self, name: &str) -> Result<(), Errno> {
		let place = self.directory(false);
		match place.and_then(|place| rustix::fs::unlinkat(&place, name, AtFlags::empty())) {
			Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
			done => done,
		}
	}
}

impl JournalFile for File {
	fn add(&mut self, text: &[u8]) -> Result<(), Errno> {
		let mut left = text;
		while !left.is_empty() {
			match self.write(left) {
				Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
				Ok(bytes) if bytes > 0 => left = &left[bytes..],
				failed => {
					// what its asker is told was not written must not be read; a length that is not known cuts nothing
					let added = (text.len() - left.len()) as u64;
					if let Ok(facts) = self.metadata() {
						let _ = self.set_len(facts.len().saturating_sub(added));
					}
					return Err(failed.map_or_else(|error| errno_of(&error), |_| Errno::IO));
				}
			}
		}
		Ok(())
	}
}

/// Begins with the end of a line: the one before may have been cut off.
fn text(lines: &[Line]) -> String {
	lines.iter().fold("\n".to_owned(), |text, line| text + &format!("{line}\n"))
}

pub fn errno_of(error: &io::Error) -> Errno {
	Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use crate::simulation::disk::{Disk, Own};

	#[test]
	fn a_new_journal_that_a_kill_left_is_not_added_to() {
		let store = Arc::new(Own(Disk::new(true, LONG), 0));
		let journal = Journal::of(Some(store.clone()), &Handle::default());
		let mut left = store.open(&format!("{}.new", journal.name)).unwrap();
		left.add(text(&[Line::Size(7)]).as_bytes()).unwrap();
		journal.rewrite(&[Line::Size(3)]).unwrap();
		let whole = store.read(&journal.name).unwrap().unwrap();
		assert_eq!(whole, text(&[Line::Size(3)]).as_bytes());
	}

	#[test]
	fn what_is_added_behind_a_line_that_was_cut_off_is_read() {
		let store = Arc::new(Own(Disk::new(true, LONG), 0));
		let journal = Journal::of(Some(store.clone()), &Handle::default());
		store.open(&journal.name).unwrap().add(b"\ntaken 1 1 0 5").unwrap();
		journal.add(&[Line::Size(3)]).unwrap();
		assert_eq!(journal.read().unwrap().0.lines(), [Line::Size(3)]);
	}
}
