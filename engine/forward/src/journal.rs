//! The file that a file's ledger is written to: lines are added before what they say is done, without sync, so that they
//! outlive the server and not the machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_wire::Handle;
use rustix::io::Errno;

use crate::ledger::{Ledger, Line};

/// Where journals are unless it is said otherwise: in the exported directory, and not listed there.
pub const OWN: &str = ".fathom-forward";
/// Bytes after which a journal is written anew with what still matters.
const LONG: u64 = 4 << 20;

pub struct Journal {
	/// None: nothing is kept.
	path: Option<PathBuf>,
	open: Mutex<Option<File>>,
	bytes: AtomicU64,
}

impl Journal {
	/// A file's, in a directory that need not be there yet.
	pub fn of(directory: Option<&Path>, id: &Handle) -> Journal {
		let name: String = id.0[16..].iter().map(|byte| format!("{byte:02x}")).collect();
		let path = directory.map(|directory| directory.join(name));
		Journal { path, open: Mutex::new(None), bytes: AtomicU64::new(0) }
	}

	/// What it says; whether it was there.
	pub fn read(&self) -> Result<(Ledger, bool), Errno> {
		let Some(path) = &self.path else { return Ok((Ledger::default(), false)) };
		match fs::read(path) {
			Ok(bytes) => Ok((Ledger::read(&String::from_utf8_lossy(&bytes)), true)),
			Err(error) if is_absent(&error) => Ok((Ledger::default(), false)),
			Err(error) => Err(errno_of(&error)),
		}
	}

	pub fn is_long(&self) -> bool {
		self.bytes.load(Ordering::Relaxed) > LONG
	}

	pub fn add(&self, lines: &[Line]) -> Result<(), Errno> {
		let Some(path) = &self.path else { return Ok(()) };
		let mut open = self.open.lock().map_err(|_| Errno::IO)?;
		let file = match &mut *open {
			Some(file) => file,
			None => open.insert(create(path).map_err(|error| errno_of(&error))?),
		};
		let text = text(lines);
		self.bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
		file.write_all(text.as_bytes()).map_err(|error| errno_of(&error))
	}

	/// These lines and no others; without any, the file goes.
	pub fn rewrite(&self, lines: &[Line]) -> Result<(), Errno> {
		let Some(path) = &self.path else { return Ok(()) };
		let mut open = self.open.lock().map_err(|_| Errno::IO)?;
		*open = None;
		self.bytes.store(0, Ordering::Relaxed);
		let written = if lines.is_empty() {
			fs::remove_file(path)
		} else {
			let new = path.with_extension("new");
			let made = create(&new).and_then(|mut file| file.write_all(text(lines).as_bytes()));
			made.and_then(|()| fs::rename(&new, path))
		};
		match written {
			Err(error) if !is_absent(&error) => Err(errno_of(&error)),
			_ => Ok(()),
		}
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
