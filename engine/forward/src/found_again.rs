//! Files that this server does not know by their handles, as it was started anew or has forgotten them. A client that was
//! told so repeats its request with their paths; the request keeps its number, so that it is never done twice.

use std::sync::Arc;

use fathom_wire::number::{flag, hint, op, open, reserve};
use fathom_wire::{Handle, Hints, Reply, Request, Text, Wanted};
use rustix::io::Errno;

use crate::append_owner::{Answer, Asker, OwnerRequest};
use crate::client::{Doing, Pending};
use crate::done::Done;
use crate::names::hold;
use crate::queue::Key;
use crate::server::Server;
use crate::store::{Object, Store};
use crate::stripes::Striping;
use crate::trouble::{STALE, Trouble};

/// Bytes of a handle, at the beginning of a hint.
const HANDLE: usize = 32;

/// What is begun once its files are known.
pub type Waiting = (Request, (Vec<u8>, usize));

/// Paths of files by handle; a long one comes in several hints.
fn paths(hints: &Hints) -> Vec<(Handle, Text)> {
	let mut paths: Vec<(Handle, Text)> = Vec::new();
	for (_, value) in hints.0.iter().filter(|(key, _)| *key == hint::FOUND_AT) {
		let Some((handle, part)) = value.split_first_chunk::<HANDLE>() else { continue };
		match paths.last_mut().filter(|(last, _)| last.0 == *handle) {
			Some((_, path)) => path.0.extend(part),
			None => paths.push((Handle(*handle), Text(part.to_vec()))),
		}
	}
	paths
}

/// How the file is open, by what is done with it; None: it need not be.
fn access(op: u16) -> Option<u32> {
	match op {
		op::WRITE | op::APPEND => Some(open::WRITE),
		op::READ | op::COMMIT => Some(open::READ),
		_ => None,
	}
}

/// The file whose contents a request is about.
fn file_of(request: &Request) -> Option<Handle> {
	match request {
		Request::Write { handle, .. }
		| Request::Append { handle, .. }
		| Request::Read { handle, .. }
		| Request::Commit { handle, .. }
		| Request::GetAttr { handle }
		| Request::SetAttr { handle, .. }
		| Request::Allocate { handle, .. } => Some(*handle),
		_ => None,
	}
}

impl Server {
	/// A request begins; before it its files are looked for, if they are not known and it names their paths. Meanwhile the client's
	/// others wait, and so do those that are on a file of which earlier ones are to come again: none passes another.
	pub fn begin_with_files(&mut self, key: Key, request: Request, data: (Vec<u8>, usize)) {
		let paths = self.pending(key).map(|pending| paths(&pending.hints)).unwrap_or_default();
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		if client.is_finding {
			return client.wait_behind(key.1, (request, data));
		}
		if let Some(handle) = file_of(&request) {
			match paths.is_empty() {
				false => client.comes_again(handle, key.1),
				true if client.is_stale(handle) => return self.refuse_stale(key, request, data),
				true => {}
			}
		}
		let unknown = paths.into_iter().filter_map(|(handle, path)| {
			let file = self.files.get(&handle);
			// who has it may know it no more, nor this server its name of now
			let is_sought = file.as_ref().is_none_or(|file| file.object.is_of_another());
			is_sought.then_some((handle, path, file.is_none()))
		});
		let unknown: Vec<_> = unknown.collect();
		let root = self.files.get(&Handle::ROOT).map(|file| file.object.clone());
		let (false, Some(root)) = (unknown.is_empty(), root) else {
			return self.begin(key, request, data);
		};
		let access = self.pending(key).and_then(|pending| access(pending.header.op));
		if let Some(client) = self.clients.get_mut(&key.0) {
			client.is_finding = true;
		}
		let workers = self.workers_of(&unknown[0].0);
		let work = move |store: &Store| {
			let all = unknown.into_iter();
			let again = all.filter_map(|(handle, path, is_new)| {
				find(store, &root, handle, path, access.filter(|_| is_new))
			});
			Done::FoundAgain(key, again.collect(), Box::new((request, data)))
		};
		workers.give(Default::default(), Box::new(work));
	}

	/// It would pass others, which come again; it may have been done itself.
	fn refuse_stale(&mut self, key: Key, request: Request, data: (Vec<u8>, usize)) {
		let asked = match request {
			Request::Append { handle, length } => self.ask_whether_done(key, handle, length, data),
			_ => Err(Errno::STALE),
		};
		if let Err(errno) = asked {
			self.fail(key, errno, (0, 0));
		}
	}

	/// What was found is known again, and held by who has it open.
	pub fn found_again(&mut self, key: Key, again: Vec<Again>, waiting: Waiting) {
		for (object, path, opened) in again {
			let handle = object.handle();
			self.files.learn(object, path);
			if opened {
				hold(self, key.0, handle);
			}
		}
		if let Some(client) = self.clients.get_mut(&key.0) {
			client.is_finding = false;
		}
		self.begin(key, waiting.0, waiting.1);
		self.begin_behind(key.0);
	}

	/// What waited for files of earlier requests, up to one whose own are looked for.
	fn begin_behind(&mut self, id: u64) {
		let next = |server: &mut Server| {
			let client = server.clients.get_mut(&id).filter(|client| !client.is_finding)?;
			client.behind.pop_front()
		};
		while let Some((seq, (request, data))) = next(self) {
			self.begin_with_files((id, seq), request, data);
		}
	}

	/// A request has its answer: it comes again if its file is not known, and it did not say where that is.
	pub fn note_stale(&mut self, (id, seq): Key, pending: &Pending, status: u32) {
		let again = status == STALE && !pending.hints.has(hint::FOUND_AT);
		if let (Some(handle), Some(client)) =
			(file_of(&pending.request), self.clients.get_mut(&id).filter(|c| !c.is_server))
		{
			client.set_stale(handle, seq, again);
		}
	}

	/// An append to a file that is not known may have been done: the journal of the file's end says it.
	pub fn ask_whether_done(
		&mut self,
		key: Key,
		handle: Handle,
		length: u64,
		data: (Vec<u8>, usize),
	) -> Result<(), Errno> {
		let pending = self.pending(key).filter(|p| p.header.flags & flag::RETRY != 0);
		let pending = pending.ok_or(Errno::STALE)?;
		if !pending.hints.has(hint::FOUND_AT) {
			pending.doing = Doing::Unknown(data); // its path may come meanwhile
		}
		if let Some(client) = self.clients.get_mut(&key.0).filter(|client| !client.is_server) {
			client.set_stale(handle, key.1, true); // what comes before the answer must not pass it
		}
		let wanted = vec![Wanted { client: key.0, seq: key.1, length, align: 1 }];
		let request = OwnerRequest { flags: reserve::ASKED, wanted, ..OwnerRequest::default() };
		self.ask_owner(handle, Asker::WhetherDone(key), request);
		Ok(())
	}

	pub fn done_answered(&mut self, key: Key, answer: Result<Answer, Trouble>) {
		match answer {
			Ok(Answer::Offsets(offsets, _))
				if offsets.first().is_some_and(|at| *at != u64::MAX) =>
			{
				let reply = Reply::Append {
					offset: offsets[0],
					level: fathom_wire::number::level::WRITTEN,
				};
				self.answer(key, 0, &reply, b"", 0);
			}
			_ => self.begin_with_path(key),
		}
	}

	/// An append that was not done begins, if the path of its file has come.
	fn begin_with_path(&mut self, key: Key) {
		let Some(pending) = self.pending(key) else { return };
		let doing = std::mem::replace(&mut pending.doing, Doing::Simple);
		match (doing, pending.hints.has(hint::FOUND_AT)) {
			(Doing::Unknown(data), true) => {
				let request = pending.request.clone();
				self.begin_with_files(key, request, data);
			}
			_ => self.fail(key, Errno::STALE, (0, 0)),
		}
	}
}

/// An object, its path, whether it is held.
pub type Again = (Object, String, bool);

/// By its path, if that still is this file.
fn find(
	store: &Store,
	root: &Arc<Object>,
	handle: Handle,
	path: Text,
	access: Option<u32>,
) -> Option<Again> {
	let text = String::from_utf8_lossy(&path.0).into_owned();
	if let Some(flags) = access
		&& let Ok((object, ..)) = store.open_file(root, &path, (flags, 0), Striping::default())
	{
		if object.handle() == handle {
			return Some((object, text, true));
		}
		store.release(&object, 1);
	}
	let lookup = |nofollow| store.lookup(root, &path, nofollow).map(|(object, _)| object);
	let is_it = |object: &Object| object.handle() == handle;
	let of_name = lookup(true).ok().filter(is_it);
	of_name.or_else(|| lookup(false).ok().filter(is_it)).map(|object| (object, text, false))
}
