//! Commits: wait for all earlier writes, sync them if asked, and report the ranges that failed.

use std::sync::Arc;

use fathom_wire::number::{level, limit};
use fathom_wire::{Failed, Handle, Reply};
use rustix::io::Errno;

use crate::answers::is_late_commit;
use crate::client::Doing;
use crate::data::is_tail;
use crate::done::Done;
use crate::queue::{Access, Key};
use crate::server::Server;
use crate::store::{Object, Store};
use crate::trouble::Trouble;

impl Server {
	pub fn begin_commit(&mut self, key: Key, handle: Handle, level: u8) -> Result<(), Errno> {
		if !(level::WRITTEN..=level::SYNCED).contains(&level) {
			return Err(Errno::INVAL);
		}
		if handle != Handle::ROOT {
			self.object(key, handle)?;
		}
		let files = match handle {
			Handle::ROOT => self.files_of(key.0),
			one => vec![one],
		};
		self.set_doing(key, Doing::Committing(files.len()));
		if files.is_empty() {
			self.committed(key, handle);
		}
		for file in files {
			self.enqueue(key, file, Access::Whole, Vec::new());
		}
		Ok(())
	}

	/// Files that a client holds or writes.
	fn files_of(&self, client: u64) -> Vec<Handle> {
		let Some(client) = self.clients.get(&client) else { return Vec::new() };
		let writes = |d: &Doing| matches!(d, Doing::Writing(_));
		let writing = client.pending().values().filter(|p| writes(&p.doing)).map(|p| p.handle);
		let mut files: Vec<_> = client.held.keys().copied().chain(writing).collect();
		files.sort_unstable();
		files.dedup();
		files
	}

	pub fn run_commit(&mut self, key: Key, handle: Handle, object: Arc<Object>, level: u8) {
		if level == level::WRITTEN && !self.store.buffers_writes(&object) {
			return self.synced(key, handle, Ok(()));
		}
		let sync = move |store: &Store| {
			let synced =
				if level == level::SYNCED { store.sync(&object) } else { store.flush(&object) };
			Done::Synced(key, handle, synced)
		};
		self.do_for(key, Box::new(sync));
	}

	/// One of a commit's files is done.
	pub fn synced(&mut self, key: Key, handle: Handle, result: Result<(), Trouble>) {
		if let Some(file) = self.files.get(&handle) {
			file.queue.finish(key);
		}
		if let (Err(trouble), Some(client)) = (result, self.clients.get_mut(&key.0)) {
			// which bytes did not reach the disk, the system does not say
			let errno = trouble.status();
			let length = i64::MAX as u64;
			client.failed(Failed { handle, seq: key.1, offset: 0, length, errno });
		}
		if let Some(pending) = self.pending(key)
			&& let Doing::Committing(left) = &mut pending.doing
		{
			*left -= 1;
			if *left == 0 {
				let target = pending.handle;
				self.committed(key, target);
			}
		}
		self.pump(handle);
	}

	fn committed(&mut self, key: Key, handle: Handle) {
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		// what failed is told by who is heard: by its repeat, or the client's next commit
		let most = match client.find(key.1).is_some_and(|pending| is_late_commit(pending)) {
			true => 0,
			false => limit::FAILED as usize,
		};
		let (failed, more) = client.take_failures(key.1, handle, most);
		self.answer(key, is_tail(more), &Reply::Commit { failed }, b"", 0);
	}
}
