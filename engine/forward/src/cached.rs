//! Small reads of files that are slow per access: from blocks that were read ahead, or by waiting for such a block.

use std::time::{SystemTime, UNIX_EPOCH};

use fathom_wire::number::open;
use fathom_wire::{Attr, Extent, Handle, Reply, Request, Time};

use crate::cache::{BLOCK, ReadPlan};
use crate::client::Doing;
use crate::clock;
use crate::done::{Done, ReadFrame};
use crate::queue::Key;
use crate::server::Server;
use crate::store::{Object, Store};
use crate::trouble::Trouble;

impl Server {
	/// Whether cached blocks of it stay valid: nobody but this server's clients changes it without closing it, and reading
	/// it is slow.
	pub fn may_cache(&self, object: &Object) -> bool {
		let alone = self.settings.group.is_none() || self.settings.striping.is_some();
		alone && self.store.is_slow(object)
	}

	/// A small read, if it needs no access of its own: it has its bytes, or waits for a block of them. Else `got` comes back.
	pub fn read_cached(
		&mut self,
		key: Key,
		handle: Handle,
		parts: &[Extent],
		head: usize,
		mut got: ReadFrame,
	) -> Option<ReadFrame> {
		match self.cache.read(key, handle, parts, &mut got.frame[head..]) {
			ReadPlan::Direct => return Some(got),
			ReadPlan::Hit(ahead) => {
				ahead.into_iter().for_each(|block| self.read_block(key, handle, block));
				got.parts = parts.iter().map(|part| (part.length, part.length)).collect();
				self.done_inline.push_back((clock::now(), Done::Read(key, got)));
			}
			ReadPlan::Wait(block) => {
				self.buffers.give_back(got.frame);
				block.into_iter().for_each(|block| self.read_block(key, handle, block));
				self.free(key.0, got.held);
			}
		}
		None
	}

	/// Read a block as a whole, for a request.
	pub fn read_block(&mut self, key: Key, handle: Handle, block: u64) {
		let Some(file) = self.files.get(&handle) else {
			return self.filled(handle, block, None);
		};
		let object = file.object.clone();
		let purpose = self.purpose(key, 0);
		self.count.store_reads += 1;
		let work = move |store: &Store| {
			let mut data = vec![0; BLOCK as usize];
			let read = store.read(&object, &mut data, block * BLOCK);
			data.truncate(read.as_ref().map_or(0, |bytes| *bytes));
			Done::Filled(handle, block, read.is_ok().then_some(data))
		};
		self.workers_of(&handle).give(purpose, Box::new(work));
	}

	/// A block was read: who waited for it goes on, from the store where it is not kept.
	pub fn filled(&mut self, handle: Handle, block: u64, data: Option<Vec<u8>>) {
		let (waiting, retained) = self.cache.filled(handle, block, data);
		for key in waiting {
			if let Some(Doing::Reading(reading)) = self.pending(key).map(|p| &mut p.doing) {
				reading.direct |= !retained;
			}
			self.read_on(key);
		}
	}

	/// A request that may have changed a file's size is done, or has failed; or it has opened the file.
	pub fn check_cache(
		&mut self,
		key: Key,
		target: Option<Handle>,
		result: &Result<Reply, Trouble>,
	) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, resizes) = match &pending.request {
			Request::SetAttr { handle, .. } | Request::Allocate { handle, .. } => (*handle, true),
			Request::Open { flags, .. } => (pending.handle, flags & open::TRUNCATE != 0),
			_ => return,
		};
		if resizes {
			self.cache.changed(handle);
		}
		if let (Some(handle), Ok(Reply::Open { attr, .. })) = (target, result) {
			self.check_stamp(handle, attr);
		}
	}

	fn check_stamp(&mut self, handle: Handle, attr: &Attr) {
		let object = self.files.get(&handle).map(|file| file.object.clone());
		if object.is_some_and(|object| self.may_cache(&object)) {
			let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
			let seconds = now.as_secs() as i64;
			self.cache.opened(handle, attr, Time { seconds, nanoseconds: 0 });
		}
	}
}
