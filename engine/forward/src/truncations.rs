//! Truncations: the owner of the file's end first waits for what it has handed out, and hands out nothing until they are done.

use std::time::Duration;

use fathom_wire::number::{hint, reserve, set};
use fathom_wire::{Handle, Reply, Request, SetAttr, Wanted};
use rustix::io::Errno;

use crate::append_owner::{Answer, Asker, OwnerRequest};
use crate::client::Doing;
use crate::clock;
use crate::done::Done;
use crate::queue::Key;
use crate::server::Server;
use crate::store::Store;
use crate::trouble::Trouble;

/// After this an owner is asked again.
const PAUSE: Duration = Duration::from_millis(3);

/// What waits for an owner of a file's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pausing {
	Appends(Handle),
	Truncation(Key),
}

/// What a truncation's request asks the owner.
fn question(key: Key, flags: u32, size: u64) -> OwnerRequest {
	let wanted = vec![Wanted { client: key.0, seq: key.1, length: 0, align: 1 }];
	OwnerRequest { flags: flags | reserve::CUT, size, wanted, ..OwnerRequest::default() }
}

/// It said yes.
fn is_granted(answer: &Answer) -> bool {
	matches!(answer, Answer::Offsets(offsets, _) if offsets.first() == Some(&0))
}

impl Server {
	pub fn pause(&mut self, what: Pausing) {
		self.pauses.insert((clock::now() + PAUSE, what));
	}

	/// Owners that were not ready.
	pub fn ask_owners_again(&mut self) {
		let now = clock::now();
		while let Some((due, what)) = self.pauses.first().copied().filter(|(due, _)| *due <= now) {
			self.pauses.remove(&(due, what));
			match what {
				Pausing::Appends(handle) => self.place_again(handle),
				Pausing::Truncation(key) => self.ask_for_truncation(key),
			}
		}
	}

	/// It is a truncation's turn.
	pub fn begin_truncation(&mut self, key: Key, handle: Handle, size: u64) {
		let Some(pending) = self.pending(key) else { return };
		(pending.handle, pending.cut_to) = (handle, size);
		self.ask_for_truncation(key);
	}

	/// One that the owner of the file's end has granted to another server, which asks for it: what waits here may wait for it.
	pub fn begin_granted(&mut self, key: Key, size: u64) {
		if let Some(pending) = self.pending(key) {
			pending.cut_to = size;
		}
		self.truncate(key);
	}

	fn ask_for_truncation(&mut self, key: Key) {
		let Some(pending) = self.pending(key) else { return };
		let shared = pending.hints.has(hint::APPEND_SHARED);
		let (handle, size) = (pending.handle, pending.cut_to);
		let flags = if shared { reserve::SHARED } else { 0 };
		self.ask_owner(handle, Asker::Cut(key), question(key, flags, size));
	}

	/// The owner lets it be done, refuses it, or is to be asked again.
	pub fn truncation_answered(&mut self, key: Key, answer: Result<Answer, Trouble>) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, size) = (pending.handle, pending.cut_to);
		match answer {
			Ok(answer) if is_granted(&answer) => self.truncate(key),
			Ok(_) => self.pause(Pausing::Truncation(key)),
			Err(trouble) => {
				if trouble.errno != Errno::BUSY {
					self.give_up_at_owner(handle, question(key, reserve::GIVEN_UP, size));
				}
				self.end_truncation(key, Err(trouble));
			}
		}
	}

	fn truncate(&mut self, key: Key) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, request) = (pending.handle, pending.request.clone());
		let doing = std::mem::replace(&mut pending.doing, Doing::Simple);
		let object = match self.object(key, handle) {
			Ok(object) => object,
			Err(errno) => {
				self.set_doing(key, doing);
				return self.truncated(key, Err(errno.into()));
			}
		};
		let set = match &request {
			Request::SetAttr { set, .. } => set.clone(),
			_ => SetAttr { which: set::SIZE, ..SetAttr::default() },
		};
		let work = move |store: &Store| {
			let attr = store.set_attr(&object, &set, true)?;
			Ok(match doing {
				Doing::Truncating(reply) => match *reply {
					Reply::Open { handle, created, .. } => Reply::Open { handle, attr, created },
					other => other,
				},
				_ => Reply::SetAttr { attr },
			})
		};
		self.do_for(key, Box::new(move |store| Done::Truncated(key, work(store))));
	}

	/// It is done, or has failed: the owner hears it before the client.
	pub fn truncated(&mut self, key: Key, result: Result<Reply, Trouble>) {
		if self.is_granted(key) {
			return self.end_truncation(key, result);
		}
		let Some(pending) = self.pending(key) else { return };
		let (handle, size) = (pending.handle, pending.cut_to);
		let flag = if result.is_ok() { reserve::DONE } else { reserve::GIVEN_UP };
		pending.doing = Doing::Truncated(result.map(Box::new));
		self.ask_owner(handle, Asker::CutDone(key), question(key, flag, size));
	}

	/// The owner knows of it, or is not the one that was asked first: it may have handed out extents meanwhile.
	pub fn truncation_known(&mut self, key: Key, answer: Result<Answer, Trouble>) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, size) = (pending.handle, pending.cut_to);
		let doing = std::mem::replace(&mut pending.doing, Doing::Simple);
		let Doing::Truncated(result) = doing else { return };
		match (answer, result) {
			(Ok(answer), Ok(reply)) if !is_granted(&answer) => {
				if matches!(*reply, Reply::Open { .. }) {
					self.set_doing(key, Doing::Truncating(reply));
				}
				self.ask_for_truncation(key);
			}
			(Ok(answer), Ok(reply)) => {
				if let (Answer::Offsets(_, stamp), Some(file)) = (answer, self.files.get(&handle))
					&& file.end.stamp != 0
				{
					file.end.stamp = stamp;
				}
				self.end_truncation(key, Ok(*reply));
			}
			(Err(trouble), result) => {
				self.give_up_at_owner(handle, question(key, reserve::GIVEN_UP, size));
				self.end_truncation(key, result.and(Err(trouble)));
			}
			(Ok(_), Err(trouble)) => self.end_truncation(key, Err(trouble)),
		}
	}

	fn end_truncation(&mut self, key: Key, result: Result<Reply, Trouble>) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, opens) = (pending.handle, matches!(pending.request, Request::Open { .. }));
		if opens && result.is_err() {
			self.release(key, handle);
		}
		self.finish_name(key, result, None);
	}
}
