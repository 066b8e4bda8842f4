//! The file that a file's ledger is written to: lines are added before what they say is done, without sync, so that they
//! outlive the server and not the machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fathom_wire::Handle;
use rustix::io::Errno;

use crate::ledger::{Ledger, Line};

/// Where journals are unless it is said otherwise: in the exported directory, and not listed there.
pub const OWN: &str = ".fathom-forward";
/// Bytes after which a journal is written anew with what still matters.
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
}

/// A journal that is open.
pub trait JournalFile: Send {
	/// Behind what is there; it outlives this process.
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
		self.bytes.load(Ordering::Relaxed) > LONG
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
		journal_store.open(&new)?.add(text(lines).as_bytes())?;
		journal_store.rename(&new, &self.name)
	}
}

/// A directory of this machine.
pub struct JournalDirectory(pub PathBuf);

impl JournalStore for JournalDirectory {
	fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Errno> {
		match fs::read(self.0.join(name)) {
			Ok(bytes) => Ok(Some(bytes)),
			Err(error) if is_absent(&error) => Ok(None),
			Err(error) => Err(errno_of(&error)),
		}
	}

	fn open(&self, name: &str) -> Result<Box<dyn JournalFile>, Errno> {
		match create(&self.0.join(name)) {
			Ok(file) => Ok(Box::new(file)),
			Err(error) => Err(errno_of(&error)),
		}
	}

	fn rename(&self, name: &str, to: &str) -> Result<(), Errno> {
		fs::rename(self.0.join(name), self.0.join(to)).map_err(|error| errno_of(&error))
	}

	fn remove(&self, name: &str) -> Result<(), Errno> {
		match fs::remove_file(self.0.join(name)) {
			Err(error) if !is_absent(&error) => Err(errno_of(&error)),
			_ => Ok(()),
		}
	}
}

impl JournalFile for File {
	fn add(&mut self, text: &[u8]) -> Result<(), Errno> {
		self.write_all(text).map_err(|error| errno_of(&error))
	}
}

/// Begins with the end of a line: the one before may have been cut off.
fn text(lines: &[Line]) -> String {
	lines.iter().fold("\n".to_owned(), |text, line| text + &format!("{line}\n"))
}

fn create(path: &Path) -> io::Result<File> {
	let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(path);
	match (open(), path.parent()) {
		(Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
			fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
			open()
		}
		(opened, _) => opened,
	}
}

/// No journal is there, nor can one be where its directory is none.
fn is_absent(error: &io::Error) -> bool {
	matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn errno_of(error: &io::Error) -> Errno {
	Errno::from_io_error(error).unwrap_or(Errno::IO)
}
