//! Requests on names and attributes: one piece of work each, on a worker.

use std::sync::Arc;

use fathom_wire::number::{allocate, flag, open, rename, set};
use fathom_wire::{Attr, Handle, Reply, Request, Text};
use rustix::io::Errno;

use crate::append_owner::{Asker, OwnerRequest};
use crate::client::{Client, Doing};
use crate::done::Done;
use crate::group::id_of;
use crate::intents::Intent;
use crate::queue::{Access, Key};
use crate::server::Server;
use crate::store::{Object, Store};
use crate::trouble::Trouble;

impl Server {
	/// Start a new request.
	pub fn begin(&mut self, key: Key, request: Request, data: (Vec<u8>, usize)) {
		let begun = match request {
			Request::Write { handle, extents } => self.begin_write(key, handle, extents, data),
			Request::Append { handle, length } => self.begin_append(key, handle, length, data),
			Request::Read { handle, extents } => self.begin_read(key, handle, extents),
			Request::Commit { handle, level } => self.begin_commit(key, handle, level),
			Request::GetAttr { handle } | Request::Seek { handle, .. } => {
				self.enqueue_whole(key, handle)
			}
			Request::Allocate { handle, mode, offset, length } => {
				let grows = mode & allocate::KEEP_SIZE == 0;
				let end = if grows { offset.saturating_add(length) } else { 0 };
				self.may_write(key, handle, end).and_then(|()| self.enqueue_whole(key, handle))
			}
			Request::GetXattr { handle, .. }
			| Request::SetXattr { handle, .. }
			| Request::ListXattr { handle }
			| Request::RemoveXattr { handle, .. } => self.begin_xattr(key, handle, request, &data),
			Request::SetAttr { handle, ref set } if self.is_granted(key) => {
				self.object(key, handle).map(|_| self.begin_granted(key, set.size))
			}
			Request::SetAttr { handle, ref set } => {
				let resized = set.which & set::SIZE != 0;
				self.may_resize(key, handle, resized).and_then(|()| self.enqueue_whole(key, handle))
			}
			Request::Ping {} => self.answer_now(key, &Reply::Ping {}, 0, b""),
			Request::Status {} => {
				let status = self.status_json();
				self.answer_now(key, &Reply::Status {}, 0, status.as_bytes())
			}
			Request::Record { begin } => self.begin_record(key, begin != 0, &data.0[data.1..]),
			Request::Release { handle } => {
				self.release(key, handle);
				self.answer_now(key, &Reply::Release {}, 0, b"")
			}
			Request::Gaps { handle, from } => {
				let asker = Asker::Gaps(key, from);
				if handle == id_of(handle) {
					self.serve_as_owner(handle, asker, OwnerRequest::default()); // another server asks
				} else {
					self.ask_owner(handle, asker, OwnerRequest::default());
				}
				Ok(())
			}
			Request::Reserve { handle, flags, size, stamp, wanted, outcomes } => {
				let ask = OwnerRequest { flags, size, stamp, wanted, outcomes };
				self.serve_as_owner(id_of(handle), Asker::Peer(key), ask);
				Ok(())
			}
			Request::Call { handle, name, room } => {
				self.begin_call(key, (handle, &name, room), data)
			}
			Request::Lock { handle, claim } => self.begin_lock(key, handle, &claim),
			Request::Unlock { handle, claim } => self.begin_unlock(key, handle, &claim),
			Request::Locked { handle, claim } => self.begin_locked(key, handle, &claim),
			Request::Holders { handle, claim } => self.begin_holders(key, handle, &claim),
			Request::Awaited { owners } => {
				self.begin_awaited(key, &owners);
				Ok(())
			}
			request => self.begin_names(key, request),
		};
		if let Err(errno) = begun {
			self.fail(key, errno, (0, 0));
		}
	}

	fn answer_now(
		&mut self,
		key: Key,
		reply: &Reply,
		flags: u32,
		data: &[u8],
	) -> Result<(), Errno> {
		self.answer(key, flags, reply, data, 0);
		Ok(())
	}

	pub fn object(&mut self, key: Key, handle: Handle) -> Result<Arc<Object>, Errno> {
		let object = self.files.get(&handle).map(|file| file.object.clone());
		if let Some(pending) = self.pending(key) {
			pending.handle = handle;
		}
		object.ok_or(Errno::STALE)
	}

	/// A request on a whole file takes its place in the file's order.
	fn enqueue_whole(&mut self, key: Key, handle: Handle) -> Result<(), Errno> {
		self.object(key, handle)?;
		self.enqueue(key, handle, Access::Whole, Vec::new());
		Ok(())
	}

	/// It is its turn.
	pub fn run_whole(&mut self, key: Key, object: Arc<Object>, request: Request) {
		match request {
			Request::GetAttr { handle } => {
				if !self.store.is_quick(&object) {
					return self.get_attr(key, handle, object);
				}
				self.do_inline(key, move |store| {
					let reply = store.attr(&object).map(|attr| Reply::GetAttr { attr });
					Done::Simple(key, reply, None)
				});
			}
			Request::SetAttr { handle, set } if set.which & set::SIZE != 0 => {
				self.begin_truncation(key, handle, set.size);
			}
			Request::SetAttr { set, .. } => self.give(key, move |store| {
				store.set_attr(&object, &set, false).map(|attr| Reply::SetAttr { attr })
			}),
			Request::Seek { offset, what, .. } => self.give(key, move |store| {
				store.seek(&object, offset, what).map(|offset| Reply::Seek { offset })
			}),
			Request::Allocate { mode, offset, length, .. } => self.give(key, move |store| {
				store.allocate(&object, mode, (offset, length)).map(|()| Reply::Allocate {})
			}),
			Request::Call { .. } => self.run_call(key, Some(object)),
			Request::Lookup { .. } | Request::Open { .. } if self.awaits_writes(key) => {
				let awaiting =
					self.pending(key).map(|p| std::mem::replace(&mut p.doing, Doing::Simple));
				let Some(Doing::AwaitingWrites(reply)) = awaiting else { return };
				self.give(key, move |store| {
					let attr = store.attr(&object)?;
					Ok(match *reply {
						Reply::Lookup { handle, .. } => Reply::Lookup { handle, attr },
						Reply::Open { handle, created, .. } => {
							Reply::Open { handle, attr, created }
						}
						other => other,
					})
				});
			}
			// all that is left of an open is to truncate
			_ => self.begin_truncation(key, object.handle(), 0),
		}
	}

	/// The client holds a file once less.
	pub fn release(&mut self, key: Key, handle: Handle) {
		if let Some(client) = self.clients.get_mut(&key.0) {
			release(client, &mut self.files, handle, 1);
		}
		self.leave_end(handle);
	}

	/// Work that ends in an answer.
	pub fn give<F>(&mut self, key: Key, work: F)
	where
		F: FnOnce(&Store) -> Result<Reply, Trouble> + Send + 'static,
	{
		self.do_for(key, Box::new(move |store| Done::Simple(key, work(store), None)));
	}

	/// Work that creates an object, which is known from now on.
	fn give_create<F>(&mut self, key: Key, path: String, work: F)
	where
		F: FnOnce(&Store) -> Result<(Reply, Object), Trouble> + Send + 'static,
	{
		let work = move |store: &Store| match work(store) {
			Ok((reply, object)) => Done::Simple(key, Ok(reply), Some((object, path))),
			Err(trouble) => Done::Simple(key, Err(trouble), None),
		};
		self.do_for(key, Box::new(work));
	}

	pub fn path_of(&mut self, dir: Handle, path: &Text) -> String {
		let above = self.files.get(&dir).map(|file| file.path.clone()).unwrap_or_default();
		let path = String::from_utf8_lossy(&path.0).into_owned();
		if above.is_empty() || path.is_empty() { above + &path } else { format!("{above}/{path}") }
	}

	/// Of a request that changes names here; one that another server is asked for it keeps itself.
	pub fn intent(&mut self, key: Key, dir: Handle) -> Option<Intent> {
		if self.files.get(&dir)?.object.is_of_another() {
			return None;
		}
		let (origin, is_relayed) = self.origin(key);
		let pending = self.pending(key)?;
		let again = is_relayed || pending.header.flags & flag::RETRY != 0;
		let frees = matches!(pending.request, Request::Unlink { .. } | Request::Rmdir { .. });
		self.intents.as_ref().map(|intents| intents.begin(origin, again, frees))
	}

	fn begin_names(&mut self, key: Key, request: Request) -> Result<(), Errno> {
		let intent = match &request {
			Request::Mkdir { dir, .. }
			| Request::Mknod { dir, .. }
			| Request::Symlink { dir, .. }
			| Request::Rename { dir, .. }
			| Request::Link { dir, .. }
			| Request::Unlink { dir, .. }
			| Request::Rmdir { dir, .. } => self.intent(key, *dir),
			_ => None,
		};
		match request {
			Request::Lookup { .. } => return self.coalesce(key, request),
			Request::Open { .. } => {
				let held = self.clients.get(&key.0).map_or(0, |client| client.held.len());
				if held >= self.settings.client_files {
					return Err(Errno::MFILE);
				}
				return self.coalesce(key, request);
			}
			Request::Mkdir { dir, mode, path } => {
				let (full_path, dir) = (self.path_of(dir, &path), self.object(key, dir)?);
				self.give_create(key, full_path, move |store| {
					let (object, attr) = once(
						intent,
						|| store.mkdir(&dir, &path, mode),
						|intent, errno| {
							made(store, (&dir, &path), (intent, errno), mode::DIRECTORY)
						},
					)?;
					Ok((Reply::Mkdir { handle: object.handle(), attr }, object))
				});
			}
			Request::Mknod { dir, mode, rdev, path } => {
				let (full_path, dir) = (self.path_of(dir, &path), self.object(key, dir)?);
				self.give_create(key, full_path, move |store| {
					let (object, attr) = once(
						intent,
						|| store.mknod(&dir, &path, mode, rdev),
						|intent, errno| {
							made(store, (&dir, &path), (intent, errno), mode & mode::TYPE)
						},
					)?;
					Ok((Reply::Mknod { handle: object.handle(), attr }, object))
				});
			}
			Request::Symlink { dir, path, target } => {
				let (full_path, dir) = (self.path_of(dir, &path), self.object(key, dir)?);
				self.give_create(key, full_path, move |store| {
					let (object, attr) = once(
						intent,
						|| store.symlink(&dir, &path, &target),
						|intent, errno| {
							made(store, (&dir, &path), (intent, errno), mode::LINK).filter(
								|(object, _)| {
									store.read_link(object).is_ok_and(|text| text == target)
								},
							)
						},
					)?;
					Ok((Reply::Symlink { handle: object.handle(), attr }, object))
				});
			}
			Request::Rename { dir, path, to_dir, to, flags } => {
				let (dir, to_dir) = (self.object(key, dir)?, self.object(key, to_dir)?);
				self.give(key, move |store| {
					rename(store, intent, (&dir, &path), (&to_dir, &to), flags)
				});
			}
			Request::Link { handle, dir, path } => {
				let (dir, object) = (self.object(key, dir)?, self.object(key, handle)?);
				self.give(key, move |store| {
					link(store, intent, &object, (&dir, &path)).map(|attr| Reply::Link { attr })
				});
			}
			Request::Unlink { dir, path } => {
				let dir = self.object(key, dir)?;
				self.give(key, move |store| {
					once(intent, || store.unlink(&dir, &path, false), |_, errno| gone(errno))
						.map(|()| Reply::Unlink {})
				});
			}
			Request::Rmdir { dir, path } => {
				let dir = self.object(key, dir)?;
				self.give(key, move |store| {
					once(intent, || store.unlink(&dir, &path, true), |_, errno| gone(errno))
						.map(|()| Reply::Rmdir {})
				});
			}
			Request::ReadDir { handle, cookie, most } => {
				let dir = self.object(key, handle)?;
				let work = move |store: &Store| {
					let read = store.read_dir(&dir, cookie, most);
					let reply = |(entries, more)| (Reply::ReadDir { entries }, more);
					Done::Partial(key, read.map(reply))
				};
				self.do_for(key, Box::new(work));
			}
			Request::ReadLink { handle } => {
				let object = self.object(key, handle)?;
				self.give(key, move |store| {
					store.read_link(&object).map(|target| Reply::ReadLink { target })
				});
			}
			Request::StatFs { handle } => {
				let object = self.object(key, handle)?;
				self.give(key, move |store| store.stat_fs(&object));
			}
			_ => return Err(Errno::OPNOTSUPP),
		}
		Ok(())
	}

	/// What came of work on a name: the file is known, and held if it was opened.
	pub fn finish_name(
		&mut self,
		key: Key,
		result: Result<Reply, Trouble>,
		handle: Option<Handle>,
	) {
		if let Some(pending) = self.pending(key) {
			pending.resolved = handle.or(pending.resolved);
		}
		if let (Some(client), Some(handle)) = (self.clients.get_mut(&key.0), handle) {
			client.knows_anew(handle, key.1);
		}
		self.check_cache(key, handle, &result);
		let flags = match self.pending(key).map(|pending| &pending.request) {
			Some(Request::Open { flags, .. }) => Some(*flags),
			_ => None,
		};
		let reply = match result {
			Ok(reply) => reply,
			Err(trouble) => {
				self.leave_queue(key);
				return self.fail_with(key, trouble.status(), (0, 0), &trouble.why);
			}
		};
		let (Some(handle), Some(flags)) = (handle, flags) else {
			return match handle {
				Some(handle) => self.answer_after_writes(key, handle, reply),
				None => {
					self.leave_queue(key);
					self.answer(key, 0, &reply, b"", 0);
				}
			};
		};
		hold(self, key.0, handle);
		let created = matches!(reply, Reply::Open { created: 1, .. });
		if flags & open::TRUNCATE == 0 || created {
			return self.answer_after_writes(key, handle, reply);
		}
		if let Some(pending) = self.pending(key) {
			pending.doing = Doing::Truncating(Box::new(reply));
		}
		let resized =
			self.may_resize(key, handle, true).and_then(|()| self.enqueue_whole(key, handle));
		if let Err(errno) = resized {
			self.release(key, handle);
			self.fail(key, errno, (0, 0));
		}
	}

	/// Attributes of a file are those after all writes that were answered.
	fn answer_after_writes(&mut self, key: Key, handle: Handle, reply: Reply) {
		if self.files.get(&handle).is_none_or(|file| file.queue.is_empty()) {
			return self.answer(key, 0, &reply, b"", 0);
		}
		self.set_doing(key, Doing::AwaitingWrites(Box::new(reply)));
		if let Err(errno) = self.enqueue_whole(key, handle) {
			self.fail(key, errno, (0, 0));
		}
	}

	fn awaits_writes(&mut self, key: Key) -> bool {
		self.pending(key).is_some_and(|pending| matches!(pending.doing, Doing::AwaitingWrites(_)))
	}
}

/// Types of files, of their mode.
mod mode {
	pub const TYPE: u32 = 0o170_000;
	pub const DIRECTORY: u32 = 0o040_000;
	pub const LINK: u32 = 0o120_000;
}

/// Work that must not be done twice, if what was asked before is remembered.
fn once<T>(
	intent: Option<Intent>,
	act: impl FnOnce() -> Result<T, Trouble>,
	done: impl FnOnce(&Intent, Errno) -> Option<T>,
) -> Result<T, Trouble> {
	match intent {
		Some(intent) => intent.once(None, act, done),
		None => act(),
	}
}

/// It is removed: by the same request, before.
fn gone(errno: Errno) -> Option<()> {
	(errno == Errno::NOENT).then_some(())
}

/// What is in the way was made by the same request, before.
fn made(
	store: &Store,
	(dir, path): (&Object, &Text),
	(intent, errno): (&Intent, Errno),
	kind: u32,
) -> Option<(Object, Attr)> {
	let there = (errno == Errno::EXIST).then(|| store.lookup(dir, path, true));
	there?.ok().filter(|(_, attr)| attr.mode & mode::TYPE == kind && intent.made(attr))
}

/// A name more. One that is there may have been made by the same request, before; then a file that is striped had another id.
fn link(
	store: &Store,
	intent: Option<Intent>,
	object: &Object,
	(dir, path): (&Object, &Text),
) -> Result<Attr, Trouble> {
	let act = || store.link(object, dir, path);
	let Some(intent) = intent else { return act() };
	let moved = store.attr(object)?.ino;
	let there = |intent: &Intent, errno| {
		let there = (errno == Errno::EXIST).then(|| store.lookup(dir, path, true));
		there?.ok().map(|(_, attr)| attr).filter(|attr| intent.moved_before() == Some(attr.ino))
	};
	intent.once(Some(moved), act, there)
}

fn rename(
	store: &Store,
	intent: Option<Intent>,
	from: (&Object, &Text),
	to: (&Object, &Text),
	flags: u32,
) -> Result<Reply, Trouble> {
	let inode = |(dir, path): (&Object, &Text)| {
		store.lookup(dir, path, true).ok().map(|(_, attr)| attr.ino)
	};
	let act = || store.rename(from, to, flags);
	match intent {
		None => act()?,
		// done once more it would be undone
		Some(intent) if flags & rename::EXCHANGE != 0 => {
			let before = intent.moved_before();
			if before.is_none() || before == inode(from) {
				intent.once(inode(from), act, |_, _| None)?;
			}
		}
		Some(intent) => {
			let there = || inode(to).map(|_| ());
			intent.once(None, act, |_, errno| (errno == Errno::NOENT).then(there)?)?;
		}
	}
	Ok(Reply::Rename {})
}

/// The client holds the file once more.
pub fn hold(server: &mut Server, client: u64, handle: Handle) {
	let Some(client) = server.clients.get_mut(&client) else {
		let object = server.files.get(&handle).map(|file| file.object.clone());
		return server.files.left.extend(object.map(|object| (object, 1)));
	};
	*client.held.entry(handle).or_default() += 1;
	if let Some(file) = server.files.get(&handle) {
		file.holds += 1;
	}
}

/// The client holds the file so many times less.
pub fn release(client: &mut Client, files: &mut crate::files::Files, handle: Handle, times: u32) {
	let Some(held) = client.held.get_mut(&handle) else { return };
	let times = times.min(*held);
	*held -= times;
	if *held == 0 {
		client.held.remove(&handle);
	}
	if let Some(file) = files.get(&handle) {
		file.holds = file.holds.saturating_sub(times);
		let object = file.object.clone();
		files.left.push((object, times));
	}
}
