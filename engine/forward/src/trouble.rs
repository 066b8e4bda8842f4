//! Why something was not done: an errno, and words for who asked.

use std::io;

use rustix::io::Errno;

/// The status of a request whose file is not known.
pub const STALE: u32 = Errno::STALE.raw_os_error() as u32;

/// Why something was not done.
#[derive(Debug, Clone)]
pub struct Trouble {
	pub errno: Errno,
	pub why: String,
	/// A connection to another server was lost, or not answered on: it may have been done, before or without an answer.
	pub again: bool,
}

impl Trouble {
	pub fn new(errno: Errno, why: String) -> Trouble {
		Trouble { errno, why, again: false }
	}

	pub fn status(&self) -> u32 {
		self.errno.raw_os_error() as u32
	}
}

impl From<Errno> for Trouble {
	fn from(errno: Errno) -> Trouble {
		Trouble::new(errno, errno_text(errno))
	}
}

/// An errno as `io::Error` says it.
pub fn errno_text(errno: Errno) -> String {
	io::Error::from(errno).to_string()
}
