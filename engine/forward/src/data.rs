//! Requests on a file's data: their place in the file's queue, how they begin, and where results of workers go.

use fathom_record::Purpose;
use fathom_wire::number::flag;
use fathom_wire::{Extent, Handle, Hints, Request, encode};
use rustix::io::Errno;

use crate::answers::failure;
use crate::client::{Doing, Early};
use crate::done::Done;
use crate::names::release;
use crate::pulls::is_pulled;
use crate::queue::{Access, Key};
use crate::server::Server;
use crate::store::Store;

/// What a server has done so far.
#[derive(Default)]
pub struct Count {
	pub requests: u64,
	/// Writes that were answered before they were done.
	pub accepted: u64,
	pub repeated: u64,
	pub late: u64,
	pub writes: u64,
	pub written: u64,
	pub accesses: u64,
	pub appends: u64,
	/// Of operations of plug-ins.
	pub calls: u64,
	pub read: u64,
	/// Bytes on the connections.
	pub bytes_in: u64,
	pub bytes_out: u64,
	pub store_reads: u64,
	/// Lookups, opens and getattrs that another's access has answered.
	pub joined: u64,
}

/// The flag that says there is more.
pub fn is_tail(more: bool) -> u32 {
	if more { flag::MORE } else { 0 }
}

impl Server {
	/// The server's counters as JSON.
	pub fn status_json(&self) -> String {
		let count = &self.count;
		serde_json::json!({
			"name": self.settings.name, "pid": std::process::id(), "epoch": format!("{:016x}", self.epoch),
			"server": self.group.numbers().0, "servers": self.group.numbers().1, "ends": self.owner.len(),
			"clients": self.clients.len(), "connections": self.connections.len(), "files": self.files.len(),
			"pool_bytes": self.settings.pool, "pool_free_bytes": self.pool_free,
			"requests": count.requests, "repeated": count.repeated, "late": count.late,
			"writes": count.writes, "written_bytes": count.written, "store_writes": count.accesses,
			"appends": count.appends, "calls": count.calls, "operations": self.plugin_ops.names(),
			"read_bytes": count.read,
			"came_bytes": count.bytes_in, "sent_bytes": count.bytes_out,
			"store_reads": count.store_reads, "joined": count.joined,
			"cache_bytes": self.cache.bytes(), "cache_blocks_read": self.cache.fills,
			"cache_reads": self.cache.hits, "cache_read_bytes": self.cache.hit_bytes,
		})
		.to_string()
	}

	pub fn set_doing(&mut self, key: Key, doing: Doing) {
		if let Some(pending) = self.pending(key) {
			pending.doing = doing;
		}
	}

	/// Take a place in a file's order.
	pub fn enqueue(&mut self, key: Key, handle: Handle, access: Access, extents: Vec<Extent>) {
		if let Some(file) = self.files.get(&handle) {
			file.queue.push(key, access, extents);
		}
		if access != Access::Write {
			self.pump(handle); // a write has no data yet
		}
	}

	/// A request leaves its file's order; who waited for it goes on.
	pub fn leave_queue(&mut self, key: Key) {
		let Some(handle) = self.pending(key).map(|pending| pending.handle) else { return };
		self.leave_queue_of(handle, key);
	}

	/// The same of a request that may be answered by now.
	pub fn leave_queue_of(&mut self, handle: Handle, key: Key) {
		let left = self.files.get(&handle).map(|file| file.queue.finish(key)).unwrap_or_default();
		left.into_iter().for_each(|piece| self.free(piece.key.0, piece.held));
		self.pump(handle);
	}

	/// Start what may be done now on a file.
	pub fn pump(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		let begun = file.queue.begin();
		let object = file.object.clone();
		if self.store.may_write_now(&object) {
			self.ready_to_write.insert(handle);
		} else {
			self.write_next(handle);
		}
		for key in begun {
			if key.0 == 0 {
				let object = object.clone();
				let work = move |store: &Store| {
					Done::Size(handle, key, store.attr(&object).map(|attr| attr.size))
				};
				self.workers_of(&handle).give(Purpose::default(), Box::new(work));
				continue;
			}
			match self.pending(key).map(|pending| pending.request.clone()) {
				Some(Request::Read { .. }) => self.read_on(key),
				Some(Request::Commit { level, .. }) => {
					self.run_commit(key, handle, object.clone(), level);
				}
				Some(request) => self.run_whole(key, object.clone(), request),
				None => {}
			}
		}
	}

	/// Something that a worker was given is done.
	pub fn finish(&mut self, done: Done) {
		match done {
			Done::Simple(key, result, learned) => {
				let handle = learned.as_ref().map(|(object, _)| object.handle());
				learned.into_iter().for_each(|(object, path)| self.files.learn(object, path));
				self.finish_name(key, result, handle);
			}
			Done::Resolved(question, resolution) => self.finish_coalesced(question, resolution),
			Done::Attr(keys, reply) => {
				keys.into_iter().for_each(|key| self.finish_name(key, reply.clone(), None));
			}
			Done::Partial(key, Ok((reply, more))) => {
				self.answer(key, is_tail(more), &reply, b"", 0)
			}
			Done::Partial(key, Err(trouble)) => {
				self.fail_with(key, trouble.status(), (0, 0), &trouble.why);
			}
			Done::FoundAgain(key, again, waiting) => self.found_again(key, again, *waiting),
			Done::WithData(key, answer) => self.answer_with_data(key, answer),
			Done::Released => {}
			Done::CredentialChecked(connection, header, own_credential) => {
				self.credential_checked(connection, &header, own_credential)
			}
			Done::Freed(done) => self.freed(done),
			Done::Journal(id, read) => self.journal_read(id, read),
			Done::Journaled(id, served, written) => self.journaled(id, served, written),
			Done::Relayed(key, id, client, answer) => self.relayed(key, id, client, answer),
			Done::Followed(key, gave_way, cycle) => self.followed(key, gave_way, cycle),
			Done::Asked(asker, answer) => self.owner_answered(asker, answer),
			Done::Size(handle, probe, size) => self.sized(handle, probe, size),
			Done::Truncated(key, result) => self.truncated(key, result),
			Done::Read(key, got) => self.finish_read(key, got),
			Done::Filled(handle, block, data) => self.filled(handle, block, data),
			Done::Synced(key, handle, result) => self.synced(key, handle, result),
			Done::Written(handle, pieces, accesses) => {
				self.count.accesses += accesses.writes;
				self.count.store_reads += accesses.reads;
				if let Some(file) = self.files.get(&handle) {
					file.queue.written();
				}
				for (piece, failed) in pieces {
					self.cache.written(handle, &piece.extents);
					self.free(piece.key.0, piece.held);
					self.count.written += piece.length() as u64;
					if let Some(Doing::Writing(w)) = self.pending(piece.key).map(|p| &mut p.doing) {
						w.done += piece.length() as u64;
						w.fail(failed);
					}
					self.check_written(piece.key);
					self.buffers.give_back(piece.data);
				}
				self.pump(handle);
			}
		}
	}

	/// A request's deadline has passed: it is answered. One whose data does not come is given up.
	pub fn answer_late(&mut self, key: Key) {
		if self.unpark(key, Errno::AGAIN) {
			return;
		}
		let late = Errno::TIMEDOUT.raw_os_error() as u32;
		let waits = self.pending(key).is_some_and(|pending| match &pending.doing {
			Doing::Writing(writing) => is_pulled(pending) && writing.got < writing.total,
			_ => false,
		});
		if waits {
			return self.give_up(key, Errno::TIMEDOUT);
		}
		let what = format!("no answer in time on server {}", self.settings.name);
		let body = encode(&failure(&what, (0, 0), Hints::default()));
		self.answer_early(key, Early::Late, late, &body);
	}

	/// A client is gone for good: releases what it held, and logs the failures that it does not know.
	pub fn drop_client(&mut self, id: u64) {
		let unfinished: Vec<u64> = match self.clients.get(&id) {
			Some(client) => client.pending().keys().copied().collect(),
			None => return,
		};
		for seq in unfinished {
			self.unpark((id, seq), Errno::CONNRESET);
			self.give_up((id, seq), Errno::CONNRESET);
		}
		if self.clients.get(&id).is_some_and(|client| !client.pending().is_empty()) {
			return; // what the store still does for it ends first
		}
		self.intents.iter().for_each(|intents| intents.forget(id));
		self.give_locks_back(id);
		self.over_quota.remove(&id);
		let Some(mut client) = self.clients.remove(&id) else { return };
		self.log_unreported(id, &client);
		for (handle, times) in client.held.clone() {
			release(&mut client, &mut self.files, handle, times);
			self.leave_end(handle);
		}
		self.abandon_extents(id);
	}
}
