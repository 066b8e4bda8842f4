//! Who a process of another node is, as munged says it: the forwarding client's C, which loads libmunge.so.2 when it is
//! asked for. Calls wait for munged, so they belong on a thread that may.

mod credential;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A munged.
#[derive(Debug, Clone)]
pub struct Munge {
	/// Empty: the usual one.
	socket: CString,
}

impl Munge {
	/// The one that listens there; without a socket, the usual one.
	pub fn new(socket: Option<&Path>) -> Result<Munge, String> {
		let socket = socket.map(|path| path.as_os_str().as_bytes()).unwrap_or_default();
		let socket = CString::new(socket).map_err(|error| format!("munge: socket: {error}"))?;
		Ok(Munge { socket })
	}

	/// As `FATHOM_FORWARD_MUNGE` says it: `1`, or a socket.
	pub fn from_option(word: &str) -> Result<Munge, String> {
		Munge::new(Some(word).filter(|word| *word != "1").map(Path::new))
	}

	/// A credential of this process for a statement, that only its own user may read.
	pub fn seal(&self, statement: &[u8]) -> Result<String, String> {
		credential::seal(&self.socket, statement, own_user())
	}

	/// Did a process of the same user make this credential, for just this statement, and is it shown for the first time?
	pub fn check(&self, credential: &[u8], statement: &[u8]) -> Result<(), String> {
		let text = CString::new(credential).map_err(|_| "munge: no credential".to_owned())?;
		credential::check(&self.socket, &text, statement, own_user())
	}
}

fn own_user() -> u32 {
	rustix::process::geteuid().as_raw()
}
