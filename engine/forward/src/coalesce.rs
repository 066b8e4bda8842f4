//! Single flight: requests that ask the store for the same thing share one access. Those that arrive while it runs share
//! the next.

use std::sync::Arc;

use fathom_record::Purpose;
use fathom_wire::number::{lookup, op, open};
use fathom_wire::{Handle, Reply, Request, Text};
use rustix::io::Errno;

use crate::done::Done;
use crate::intents::Intent;
use crate::queue::Key;
use crate::server::Server;
use crate::store::{Object, Store};
use crate::stripes::Striping;
use crate::trouble::Trouble;
use crate::workers::Work;

/// A lookup or open, of which one access can answer many.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
	op: u16,
	dir: Handle,
	flags: u32,
	mode: u32,
	path: Vec<u8>,
	/// Of a file that is made.
	striping: Striping,
	/// The only one that it is asked for.
	alone: Option<Key>,
}

/// Requests that wait for the access that runs, and for the next one.
#[derive(Default)]
pub struct Waiters {
	now: Vec<Key>,
	next: Vec<Key>,
}

/// The reply, and the object that the path resolved to.
pub type Resolution = Result<(Reply, Object), Trouble>;

impl Server {
	/// A lookup or open begins: its access is the next one that has not begun.
	pub fn coalesce(&mut self, key: Key, request: Request) -> Result<(), Errno> {
		let (op, dir, flags, mode, path) = match request {
			Request::Lookup { dir, flags, path } => (op::LOOKUP, dir, flags, 0, path),
			Request::Open { dir, flags, mode, path } => (op::OPEN, dir, flags, mode, path),
			_ => return Err(Errno::OPNOTSUPP),
		};
		let striped = matches!(*self.object(key, dir)?, Object::Striped(_));
		// each makes a file of its own; and each open that other servers are asked for is released there
		let alone = flags & (open::EXCLUSIVE | open::TMPFILE) != 0 || striped;
		let alone = Some(key).filter(|_| op == op::OPEN && alone);
		let hints = self.pending(key).map(|pending| &pending.hints);
		let striping = hints.map(Striping::wished).unwrap_or_default();
		let question = Question { op, dir, flags, mode, path: path.0, striping, alone };
		if let Some(waiters) = self.coalesced.get_mut(&question) {
			waiters.next.push(key);
			return Ok(());
		}
		self.coalesced.insert(question.clone(), Waiters { now: vec![key], next: Vec::new() });
		self.ask_store(question);
		Ok(())
	}

	fn ask_store(&mut self, question: Question) {
		let keys =
			self.coalesced.get(&question).map(|waiters| waiters.now.clone()).unwrap_or_default();
		let purpose = self.purpose_of_all(&keys);
		let Some(dir) = self.files.get(&question.dir).map(|file| file.object.clone()) else {
			return self.finish_coalesced(question, Err(Errno::STALE.into()));
		};
		let handle = question.dir;
		let exclusive = question.op == op::OPEN
			&& question.flags & (open::EXCLUSIVE | open::TMPFILE) == open::EXCLUSIVE;
		let alone = question.alone;
		let intent = alone.filter(|_| exclusive).and_then(|key| self.intent(key, handle));
		let work = move |store: &Store| {
			let resolution = match intent {
				Some(intent) => question.ask_once(store, &dir, intent),
				None => question.ask(store, &dir),
			};
			Done::Resolved(question, resolution)
		};
		let work: Work<Done> = Box::new(work);
		let work = match alone.filter(|_| exclusive) {
			Some(key) => self.for_origin(key, work),
			None => work,
		};
		self.workers_of(&handle).give(purpose, work);
	}

	/// Those that the access was for have their answer; those that came meanwhile have theirs from the next.
	pub fn finish_coalesced(&mut self, question: Question, resolution: Resolution) {
		let Some(waiters) = self.coalesced.get_mut(&question) else { return };
		let keys = std::mem::replace(&mut waiters.now, std::mem::take(&mut waiters.next));
		let (over, path) = (waiters.now.is_empty(), Text(question.path.clone()));
		let path = self.path_of(question.dir, &path);
		if over {
			self.coalesced.remove(&question);
		} else {
			self.ask_store(question);
		}
		let (mut result, handle) = match resolution {
			Ok((reply, object)) => {
				let handle = object.handle();
				self.files.learn(object, path);
				(Ok(reply), Some(handle))
			}
			Err(trouble) => (Err(trouble), None),
		};
		self.count.joined += keys.len().saturating_sub(1) as u64;
		for key in keys {
			self.finish_name(key, result.clone(), handle);
			if let Ok(Reply::Open { created, .. }) = &mut result {
				*created = 0; // by the first
			}
		}
	}

	/// Attributes of a file, for a request whose turn it is and those behind it that ask the same.
	pub fn get_attr(&mut self, key: Key, handle: Handle, object: Arc<Object>) {
		let clients = &self.clients;
		let same = |key: Key| {
			let pending = clients.get(&key.0).and_then(|client| client.pending().get(&key.1));
			pending.is_some_and(|pending| matches!(pending.request, Request::GetAttr { .. }))
		};
		let mut keys = vec![key];
		keys.extend(self.files.get(&handle).map(|f| f.queue.join(key, same)).unwrap_or_default());
		self.count.joined += keys.len() as u64 - 1;
		let purpose = self.purpose_of_all(&keys);
		let work = move |store: &Store| {
			Done::Attr(keys, store.attr(&object).map(|attr| Reply::GetAttr { attr }))
		};
		self.workers_of(&handle).give(purpose, Box::new(work));
	}

	fn purpose_of_all(&mut self, keys: &[Key]) -> Purpose {
		let mut all = Purpose::default();
		for key in keys.iter().take(if fathom_record::is_on() { usize::MAX } else { 0 }) {
			let one = self.purpose(*key, 0);
			all.callers.extend(one.callers);
			all.known_as = one.known_as.or(all.known_as);
		}
		all
	}

	/// Who an access is for that answers a question.
	pub fn waiters(&self, question: &Question) -> Vec<Key> {
		self.coalesced.get(question).map(|waiters| waiters.now.clone()).unwrap_or_default()
	}
}

impl Question {
	/// Of an open that makes a file: one that is there may have been made by the same request, before.
	fn ask_once(&self, store: &Store, dir: &Object, intent: Intent) -> Resolution {
		let there = |intent: &Intent, errno| {
			let open =
				Question { flags: self.flags & !(open::CREATE | open::EXCLUSIVE), ..self.clone() };
			let there = (errno == Errno::EXIST).then(|| open.ask(store, dir));
			let (mut reply, object) = there?.ok()?;
			let Reply::Open { created, attr, .. } = &mut reply else { return None };
			*created = 1;
			intent.made(attr).then_some((reply, object))
		};
		intent.once(None, || self.ask(store, dir), there)
	}

	fn ask(&self, store: &Store, dir: &Object) -> Resolution {
		let path = Text(self.path.clone());
		if self.op == op::LOOKUP {
			let nofollow = self.flags & lookup::NOFOLLOW != 0;
			let (object, attr) = store.lookup(dir, &path, nofollow)?;
			return Ok((Reply::Lookup { handle: object.handle(), attr }, object));
		}
		let (object, attr, created) =
			store.open_file(dir, &path, (self.flags, self.mode), self.striping)?;
		let handle = object.handle();
		Ok((Reply::Open { handle, attr, created: u8::from(created) }, object))
	}
}
