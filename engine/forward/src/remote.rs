//! Files of a server, for other parts of Fathom: creates them, appends to them, and commits. Calls are asked again until
//! the deadline.

use std::time::{Duration, Instant};

use fathom_wire::number::{flag, level, open};
use fathom_wire::{Failed, Handle, Reply, Request};
use rustix::io::Errno;

use crate::auth::Secrets;
use crate::peer::{Peer, Question, Response};

pub struct Remote {
	peer: Peer,
	/// How long a call may take.
	patience: Duration,
}

impl Remote {
	/// `address`: unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT; `name`: for people.
	pub fn new(
		address: &str,
		secrets: Secrets,
		name: &str,
		patience: Duration,
	) -> Result<Remote, String> {
		Ok(Remote { peer: Peer::new(address, secrets, name)?, patience })
	}

	fn due(&self) -> Instant {
		Instant::now() + self.patience
	}

	/// Makes a directory below the exported one, unless it is there.
	pub fn directory(&self, path: &str) -> Result<(), String> {
		let mkdir = Request::Mkdir { dir: Handle::ROOT, mode: 0o777, path: path.into() };
		match self.peer.call(&mkdir, self.due()) {
			Err(trouble) if trouble.errno != Errno::EXIST => Err(trouble.why),
			_ => Ok(()),
		}
	}

	/// Opens a file to be appended to; it is made if it is not there.
	pub fn open(&self, path: &str) -> Result<Handle, String> {
		let flags = open::CREATE | open::WRITE;
		let request = Request::Open { dir: Handle::ROOT, flags, mode: 0o666, path: path.into() };
		match self.peer.call(&request, self.due()) {
			Ok(Response { reply: Reply::Open { handle, .. }, .. }) => Ok(handle),
			Ok(_) => Err(self.strange()),
			Err(trouble) => Err(trouble.why),
		}
	}

	/// Where the bytes lie. Not `nonblocking`: they are in the file, else in the server's memory.
	pub fn append(&self, handle: Handle, bytes: &[u8], nonblocking: bool) -> Result<u64, String> {
		let request = Request::Append { handle, length: bytes.len() as u64 };
		let flags = if nonblocking { flag::NONBLOCKING } else { 0 };
		let question = Question { data: &[bytes], flags, ..Question::of(&request) };
		match self.peer.put(question, self.due()) {
			Ok(Response { reply: Reply::Append { offset, .. }, .. }) => Ok(offset),
			Ok(_) => Err(self.strange()),
			Err(trouble) => Err(trouble.why),
		}
	}

	/// Waits until all that was accepted is in the file; what is not.
	pub fn commit(&self, handle: Handle) -> Result<Vec<Failed>, String> {
		let request = Request::Commit { handle, level: level::WRITTEN };
		let mut all = Vec::new();
		loop {
			match self.peer.call(&request, self.due()) {
				Ok(Response { reply: Reply::Commit { failed }, more, .. }) => {
					all.extend(failed);
					if more {
						continue;
					}
					// it may have been met by this very question
					return match self.peer.started_anew() {
						true => Err(format!("server {} was started anew", self.peer.address)),
						false => Ok(all),
					};
				}
				Ok(_) => return Err(self.strange()),
				Err(trouble) => return Err(trouble.why),
			}
		}
	}

	fn strange(&self) -> String {
		format!("server {}: an answer to another question", self.peer.address)
	}
}
