//! Releases files that nobody holds any more, and frees the data of removed striped files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_record::Purpose;
use fathom_wire::number::lock;
use fathom_wire::{Handle, Request};

use crate::clock;
use crate::done::Done;
use crate::layout::Layout;
use crate::server::Server;
use crate::store::{Object, Store};
use crate::stripes::PEER_ROOT;
use crate::stripes::is_striped;
use crate::trouble::Trouble;
use crate::workers::Workers;

/// How long after its removal a file's data stays at least: an open may be under way.
const GRACE: Duration = Duration::from_secs(1);
/// When it is tried again to free data on a server that was away.
const AGAIN: Duration = Duration::from_secs(5);

/// A removed file whose data is still on the servers.
#[derive(Debug, Clone)]
pub struct Orphan {
	/// What stands for it, which other servers may hold.
	home: Handle,
	layout: Layout,
	/// It is freed from then on.
	not_before: Instant,
	/// The log says that it cannot be freed yet.
	reported: bool,
}

impl Server {
	/// Threads for work on a file: those for striped ones wait for other servers, the others never do.
	pub fn workers_of(&self, handle: &Handle) -> &Workers<Done> {
		let striped = self.store.stripes.is_some() && is_striped(handle);
		self.callers.as_ref().filter(|_| striped).unwrap_or(&self.workers)
	}

	/// Releases files that are held less, at the server that holds them for us too, and ends removed ones that nobody holds.
	pub fn release_unheld(&mut self) {
		let left = std::mem::take(&mut self.files.left);
		let mut over: Vec<Handle> = left.iter().map(|(object, _)| object.handle()).collect();
		self.tell_holders(left);
		let lost = self.store.take_nameless();
		self.files.lose(&lost);
		over.extend(lost);
		let ended = self.files.end(&over);
		self.close_all(ended);
	}

	/// Closed by a worker: the file system gives the space back then, which may take long.
	fn close_all(&self, ended: Vec<Arc<Object>>) {
		if !ended.is_empty() {
			let work = move |_: &Store| {
				drop(ended);
				Done::Released
			};
			self.workers.give(Purpose::default(), Box::new(work));
		}
	}

	fn tell_holders(&self, left: Vec<(Arc<Object>, u32)>) {
		let is_remote =
			|object: &Object| matches!(object, Object::Striped(_) | Object::Upstream(_));
		for (object, times) in left.into_iter().filter(|(object, _)| is_remote(object)) {
			let workers = self.workers_of(&object.handle());
			let work = move |store: &Store| {
				store.release(&object, times);
				Done::Released
			};
			workers.give(Purpose::default(), Box::new(work));
		}
	}

	/// At the start: what was removed when no server could free it. Those who held it may still be there.
	pub fn find_removed(&mut self) -> Result<(), String> {
		if self.store.stripes.is_some() {
			self.store.find_removed().map_err(|trouble| trouble.why)?;
			self.note_removed(self.settings.lease);
		}
		Ok(())
	}

	fn note_removed(&mut self, grace: Duration) {
		let not_before = clock::now() + grace;
		for (home, layout) in self.store.take_removed() {
			if !self.orphans.iter().any(|orphan| orphan.home == home) {
				self.orphans.push(Orphan { home, layout, not_before, reported: false });
			}
		}
	}

	/// Free the data of removed files that nobody holds.
	pub fn free_removed(&mut self) {
		let ended = self.files.end_all();
		self.close_all(ended);
		if self.store.stripes.is_none() {
			return;
		}
		self.note_removed(GRACE);
		let now = clock::now();
		let all = std::mem::take(&mut self.orphans);
		let (free, later): (Vec<Orphan>, Vec<Orphan>) = all.into_iter().partition(|orphan| {
			let held = self.files.get(&orphan.home).is_some_and(|file| file.holds > 0);
			orphan.not_before <= now && !held
		});
		self.orphans = later;
		let (false, Some(callers)) = (free.is_empty(), &self.callers) else { return };
		let work = move |store: &Store| Done::Freed(free_all(store, free));
		callers.give(Purpose::default(), Box::new(work));
	}

	/// Data on a server that is away is freed later.
	pub fn freed(&mut self, done: Vec<(Orphan, Result<(), Trouble>)>) {
		for (orphan, result) in done {
			let Err(trouble) = result else { continue };
			if !orphan.reported {
				let (name, why) = (orphan.layout.name(), trouble.why);
				warn!("fathom-engine: data of removed file {name} is not freed yet: {why}");
			}
			let not_before = clock::now() + AGAIN;
			self.orphans.push(Orphan { not_before, reported: true, ..orphan });
		}
	}

	/// At the end, that of others may still need this server: until they have gone, or have asked for nothing for as long as
	/// one of them may wait for another.
	pub fn is_left_alone(&self, since: Instant) -> bool {
		if self.store.stripes.is_none() {
			return true;
		}
		self.group.hang_up();
		let peers = self.clients.values().any(|client| client.is_peer && client.connections > 0);
		!peers || clock::since(self.last_peer_request.max(since)) > self.settings.patience
	}
}

fn free_all(store: &Store, free: Vec<Orphan>) -> Vec<(Orphan, Result<(), Trouble>)> {
	let Some(stripes) = &store.stripes else { return Vec::new() };
	let free_one = |orphan: Orphan| {
		let freed = stripes.free(&orphan.layout);
		(orphan, freed)
	};
	free.into_iter().map(free_one).collect()
}

/// Only another server asks for ends of files, for its clients' locks, and, where servers stripe, for what lies in this
/// one's own directory.
pub fn is_of_peer(request: &Request, stripes: bool) -> bool {
	let own = |handle: &Handle| stripes && *handle == PEER_ROOT;
	match request {
		Request::Reserve { .. } | Request::Holders { .. } | Request::Awaited { .. } => true,
		Request::Lock { claim, .. }
		| Request::Unlock { claim, .. }
		| Request::Locked { claim, .. } => claim.flags & lock::RELAYED != 0,
		Request::Lookup { dir: handle, .. }
		| Request::Open { dir: handle, .. }
		| Request::Unlink { dir: handle, .. }
		| Request::Mkdir { dir: handle, .. }
		| Request::Rmdir { dir: handle, .. }
		| Request::Symlink { dir: handle, .. }
		| Request::Mknod { dir: handle, .. }
		| Request::Link { dir: handle, .. }
		| Request::ReadDir { handle, .. }
		| Request::GetAttr { handle }
		| Request::SetAttr { handle, .. }
		| Request::Seek { handle, .. }
		| Request::Allocate { handle, .. }
		| Request::GetXattr { handle, .. }
		| Request::SetXattr { handle, .. }
		| Request::ListXattr { handle }
		| Request::RemoveXattr { handle, .. }
		| Request::StatFs { handle } => own(handle),
		Request::Rename { dir, to_dir, .. } => own(dir) || own(to_dir),
		_ => false,
	}
}
