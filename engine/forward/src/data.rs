//! Reads, writes, appends and commits: their place in a file's order, their buffers, what comes of them.

use std::sync::Arc;

use fathom_wire::number::{flag, hint, kind, level, limit};
use fathom_wire::{Extent, Failed, Gap, Handle, Header, Hints, Pull, Reply, Request, encode};
use rustix::io::Errno;

use crate::client::{Doing, Early, Pending, Reading, Writing};
use crate::names::release;
use crate::queue::{Access, Key, Piece, runs};
use crate::server::{Done, INLINE, Server, failure, reply_header};
use crate::store::{Object, Store};

/// What a server has done so far.
#[derive(Default)]
pub struct Count {
	pub requests: u64,
	pub repeated: u64,
	pub late: u64,
	pub writes: u64,
	pub written: u64,
	pub accesses: u64,
	pub appends: u64,
	pub read: u64,
}

/// The flag that says there is more.
pub fn is_tail(more: bool) -> u32 {
	if more { flag::MORE } else { 0 }
}

impl Server {
	/// The server's counters as JSON.
	pub fn said(&self) -> String {
		let count = &self.count;
		serde_json::json!({
			"name": self.settings.name, "epoch": format!("{:016x}", self.epoch),
			"clients": self.clients.len(), "connections": self.connections.len(), "files": self.files.len(),
			"pool_bytes": self.settings.pool, "pool_free_bytes": self.pool_free,
			"requests": count.requests, "repeated": count.repeated, "late": count.late,
			"writes": count.writes, "written_bytes": count.written, "store_writes": count.accesses,
			"appends": count.appends, "read_bytes": count.read,
		})
		.to_string()
	}

	pub fn begin_write(
		&mut self,
		key: Key,
		handle: Handle,
		extents: Vec<Extent>,
		data: (Vec<u8>, usize),
	) -> Result<(), Errno> {
		self.object(key, handle)?;
		let total = extents.iter().try_fold(0u64, |sum, e| sum.checked_add(e.length));
		let total = total.filter(|t| *t <= u64::from(limit::DATA)).ok_or(Errno::MSGSIZE)?;
		self.check_data(key, total, &data)?;
		let end = extents.iter().map(Extent::end).max().unwrap_or(0);
		self.may_write(key, handle, end)?;
		let writing = Writing { extents: extents.clone(), total, ..Writing::default() };
		self.set_doing(key, Doing::Writing(writing));
		self.enqueue(key, handle, Access::Write, extents);
		self.feed(key, data);
		Ok(())
	}

	pub fn begin_append(
		&mut self,
		key: Key,
		handle: Handle,
		length: u64,
		data: (Vec<u8>, usize),
	) -> Result<(), Errno> {
		self.object(key, handle)?;
		if length > u64::from(limit::DATA) {
			return Err(Errno::MSGSIZE);
		}
		self.check_data(key, length, &data)?;
		let writing = Writing { total: length, append: true, ..Writing::default() };
		self.set_doing(key, Doing::Writing(writing));
		self.count.appends += 1;
		let file = self.files.get(&handle).ok_or(Errno::STALE)?;
		if file.end.at.is_some() {
			self.reserve(key, handle);
			self.feed(key, data);
			return Ok(());
		}
		// first touch: the size is asked for once, behind all that was asked of the file before
		file.end.waiting.push(key);
		let first = file.end.waiting.len() == 1;
		if let Some(Doing::Writing(writing)) = self.pending(key).map(|p| &mut p.doing) {
			writing.early = Some((data.0, data.1, 0));
		}
		if first {
			self.enqueue((0, key.1 ^ key.0), handle, Access::Whole, Vec::new());
		}
		Ok(())
	}

	/// Data in the request is as long as it says, and short; or it is to be pulled.
	fn check_data(&mut self, key: Key, total: u64, data: &(Vec<u8>, usize)) -> Result<(), Errno> {
		let pulled = self.pending(key).is_some_and(|p| is_pulled(p));
		match (data.0.len() - data.1) as u64 {
			0 if pulled => Ok(()),
			length if !pulled && length == total && length <= INLINE as u64 => Ok(()),
			_ => Err(Errno::MSGSIZE),
		}
	}

	fn set_doing(&mut self, key: Key, doing: Doing) {
		if let Some(pending) = self.pending(key) {
			pending.doing = doing;
		}
	}

	/// A file that is being appended to is not written beyond its end but with the hint.
	fn may_write(&mut self, key: Key, handle: Handle, end: u64) -> Result<(), Errno> {
		let shared = self.pending(key).is_some_and(|p| p.hints.has(hint::APPEND_SHARED));
		let file = self.files.get(&handle).ok_or(Errno::STALE)?;
		match file.end.at {
			Some(at) if end > at && shared => file.end.at = Some(end),
			Some(at) if end > at && file.is_appended() => return Err(Errno::BUSY),
			Some(at) if end > at => file.end.at = None,
			_ => {}
		}
		Ok(())
	}

	/// Nor truncated; if it is, the next append asks for the size, behind the truncation.
	pub fn may_resize(&mut self, key: Key, handle: Handle, resized: bool) -> Result<(), Errno> {
		let shared = self.pending(key).is_some_and(|p| p.hints.has(hint::APPEND_SHARED));
		let file = self.files.get(&handle).ok_or(Errno::STALE)?;
		if resized && file.is_appended() && !shared {
			return Err(Errno::BUSY);
		}
		if resized {
			file.end.at = None;
		}
		Ok(())
	}

	/// An append gets its extent, and its place in the order of writes.
	fn reserve(&mut self, key: Key, handle: Handle) {
		let align = self.pending(key).and_then(|p| p.hints.number(hint::APPEND_ALIGN));
		let Some(pending) = self.pending(key) else { return };
		let Doing::Writing(writing) = &mut pending.doing else { return };
		let length = writing.total;
		let Some(file) = self.files.get(&handle) else { return };
		let Some((offset, gap)) = file.end.reserve(length, align.unwrap_or(1).into()) else {
			return self.fail(key, Errno::FBIG, (0, length));
		};
		file.end.outstanding += 1;
		if let Some(gap) = gap {
			self.files.add_gap(handle, gap);
		}
		let extent = Extent { offset, length };
		if let Some(Doing::Writing(writing)) = self.pending(key).map(|p| &mut p.doing) {
			writing.extents = vec![extent];
			writing.offset = Some(offset);
		}
		self.enqueue(key, handle, Access::Write, vec![extent]);
	}

	/// The size is known: who waited for it is served, in order.
	fn sized(&mut self, handle: Handle, probe: Key, size: Result<u64, Errno>) {
		let Some(file) = self.files.get(&handle) else { return };
		file.queue.finish(probe);
		file.end.at = size.ok();
		let waiting = std::mem::take(&mut file.end.waiting);
		for key in waiting {
			if let Err(errno) = size {
				self.fail(key, errno, (0, 0));
				continue;
			}
			let early = match self.pending(key).map(|p| &mut p.doing) {
				Some(Doing::Writing(writing)) => writing.early.take(),
				_ => None,
			};
			if let Some((data, at, _)) = early {
				self.reserve(key, handle);
				self.feed(key, (data, at));
			}
		}
		self.pump(handle);
	}

	/// Data that came with the request; or it is asked for.
	fn feed(&mut self, key: Key, data: (Vec<u8>, usize)) {
		if self.pending(key).is_some_and(|p| is_pulled(p)) {
			return self.pull(key);
		}
		let length = data.0.len() - data.1;
		let held = if self.take(length) { length } else { 0 };
		let Some(pending) = self.pending(key) else { return self.free(held) };
		let handle = pending.handle;
		if let Doing::Writing(writing) = &mut pending.doing {
			writing.waited = held < length;
			(writing.pulled, writing.got) = (length as u64, length as u64);
		}
		self.ready(key, handle, 0, data, held);
	}

	/// Ask for the next part of the data, if there is room for it.
	fn pull(&mut self, key: Key) {
		let piece = self.piece as u64;
		let wanted = match self.pending(key).map(|p| &p.doing) {
			Some(Doing::Writing(w)) if w.pulled == w.got => piece.min(w.total - w.pulled),
			_ => return,
		};
		if wanted == 0 {
			return self.check_written(key);
		}
		if !self.take(wanted as usize) {
			if let Some(Doing::Writing(writing)) = self.pending(key).map(|p| &mut p.doing) {
				writing.waited = true;
			}
			return self.hungry.push_back(key);
		}
		if let Some(Doing::Writing(writing)) = self.pending(key).map(|p| &mut p.doing) {
			writing.pulled += wanted;
			writing.reserved = wanted as usize;
		}
		self.pull_again(key);
	}

	/// Send the pull that is under way, on the request's connection of now.
	pub fn pull_again(&mut self, key: Key) {
		let Some(pending) = self.pending(key) else { return };
		let Doing::Writing(writing) = &pending.doing else { return };
		if writing.pulled == writing.got {
			return;
		}
		let pull = Pull { at: writing.got, length: (writing.pulled - writing.got) as u32 };
		let header = Header { kind: kind::PULL, ..reply_header(&pending.header) };
		let number = pending.connection;
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.pulled += 1;
		}
		self.send(number, header.frame(&encode(&pull)), 0);
	}

	/// Data came. What nobody asked for, or has been given already, is dropped.
	pub fn data(&mut self, key: Key, at: u64, body: Vec<u8>) {
		let Some(pending) = self.pending(key) else { return };
		let handle = pending.handle;
		let Doing::Writing(writing) = &mut pending.doing else { return };
		let length = body.len() as u64 - 8;
		if at != writing.got || length != writing.pulled - writing.got || length == 0 {
			return;
		}
		writing.got = writing.pulled;
		let held = std::mem::take(&mut writing.reserved);
		self.ready(key, handle, at, (body, 8), held);
		self.pull(key);
	}

	/// Data of a write is there: it waits for its turn; the client may have its answer.
	fn ready(&mut self, key: Key, handle: Handle, at: u64, data: (Vec<u8>, usize), held: usize) {
		let Some(pending) = self.pending(key) else { return self.free(held) };
		let drop = pending.hints.has(hint::DROP_IO);
		let Doing::Writing(writing) = &pending.doing else { return self.free(held) };
		let extents = writing.slice(at, (data.0.len() - data.1) as u64);
		let nonblocking = pending.header.flags & flag::NONBLOCKING != 0;
		let accepted = nonblocking && !writing.waited && writing.got == writing.total;
		let accepted = accepted && pending.answered.is_none();
		let reply = written_reply(writing, level::ACCEPTED);
		let piece = Piece { key, extents, data: data.0, start: data.1, held, drop };
		if let Some(file) = self.files.get(&handle) {
			file.queue.ready(piece);
		}
		if accepted {
			let body = reply.encode(&Hints::default());
			self.answer_early(key, Early::Accepted, 0, &body);
		}
		self.pump(handle);
	}

	pub fn begin_read(
		&mut self,
		key: Key,
		handle: Handle,
		extents: Vec<Extent>,
	) -> Result<(), Errno> {
		self.object(key, handle)?;
		let total = extents.iter().try_fold(0u64, |sum, e| sum.checked_add(e.length));
		let total = total.filter(|t| *t <= u64::from(limit::DATA)).ok_or(Errno::MSGSIZE)?;
		let lengths = vec![0; extents.len()];
		let large = total > u64::from(limit::PIECE);
		self.set_doing(key, Doing::Reading(Reading { lengths, next: (0, 0), sent: 0, large }));
		self.enqueue(key, handle, Access::Read, extents);
		Ok(())
	}

	/// The next part of a read, if there is room for it.
	fn read_on(&mut self, key: Key) {
		let piece = self.piece as u64;
		let Some(pending) = self.pending(key) else { return };
		let (Request::Read { extents, .. }, Doing::Reading(reading)) =
			(&pending.request, &pending.doing)
		else {
			return;
		};
		let (mut parts, mut room) = (Vec::new(), if reading.large { piece } else { u64::MAX });
		let mut skip = reading.next.1;
		for extent in &extents[reading.next.0..] {
			let length = (extent.length - skip).min(room);
			parts.push(Extent { offset: extent.offset + skip, length });
			(room, skip) = (room - length, 0);
			if room == 0 {
				break;
			}
		}
		let wanted: u64 = parts.iter().map(|part| part.length).sum();
		let handle = pending.handle;
		if !self.take((wanted as usize).min(self.settings.pool)) {
			return self.hungry.push_back(key);
		}
		let Ok(object) = self.object(key, handle) else { return };
		self.workers.give(Box::new(move |store| read(store, key, &object, &parts)));
	}

	fn has_read(
		&mut self,
		key: Key,
		mut data: Vec<u8>,
		got: &[(u64, u64)],
		error: Option<(Extent, Errno)>,
	) {
		self.count.read += data.len() as u64;
		let held = data.capacity().min(self.settings.pool);
		let Some(pending) = self.pending(key) else { return self.free(held) };
		if let Some((extent, errno)) = error {
			self.free(held);
			self.leave_queue(key);
			return self.fail(key, errno, (extent.offset, extent.length));
		}
		let handle = pending.handle;
		let short = got.iter().any(|(asked, bytes)| bytes < asked);
		if short && self.files.get(&handle).is_some_and(|file| file.queue.again(key)) {
			self.free(held);
			return self.pump(handle);
		}
		let Some(pending) = self.pending(key) else { return self.free(held) };
		let number = pending.connection;
		let header = Header { kind: kind::DATA, ..reply_header(&pending.header) };
		let (Request::Read { extents, .. }, Doing::Reading(reading)) =
			(&pending.request, &mut pending.doing)
		else {
			return self.free(held);
		};
		for (asked, bytes) in got {
			let (at, within) = reading.next;
			reading.lengths[at] += bytes;
			// an extent of which a part was asked for goes on with the next part, unless the file has ended
			let more = within + bytes < extents[at].length && bytes == asked;
			reading.next = if more { (at, within + bytes) } else { (at + 1, 0) };
		}
		let reply = Reply::Read { lengths: reading.lengths.clone() };
		let over = reading.next.0 >= extents.len();
		if !reading.large {
			self.leave_queue(key);
			self.answer(key, 0, &reply, &data, 0);
			return self.free(held);
		}
		let mut body = reading.sent.to_le_bytes().to_vec();
		reading.sent += data.len() as u64;
		body.append(&mut data);
		self.send(number, header.frame(&body), held);
		if over {
			self.leave_queue(key);
			self.answer(key, 0, &reply, b"", 0);
		} else {
			self.read_on(key);
		}
	}

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
		let writing = client.pending.values().filter(|p| writes(&p.doing)).map(|p| p.handle);
		let mut files: Vec<_> = client.held.keys().copied().chain(writing).collect();
		files.sort_unstable();
		files.dedup();
		files
	}

	fn run_commit(&mut self, key: Key, handle: Handle, object: Arc<Object>, level: u8) {
		if level == level::SYNCED {
			self.workers
				.give(Box::new(move |store| Done::Synced(key, handle, store.sync(&object))));
		} else {
			self.synced(key, handle, Ok(()));
		}
	}

	/// One of a commit's files is done.
	fn synced(&mut self, key: Key, handle: Handle, result: Result<(), Errno>) {
		if let Some(file) = self.files.get(&handle) {
			file.queue.finish(key);
		}
		if let (Err(errno), Some(client)) = (result, self.clients.get_mut(&key.0)) {
			// which bytes did not reach the disk, the system does not say
			let errno = errno.raw_os_error() as u32;
			let length = i64::MAX as u64;
			client.failed(Failed { handle, seq: key.1, offset: 0, length, errno });
		}
		if let Some(pending) = self.pending(key)
			&& let Doing::Committing(left) = &mut pending.doing
		{
			*left -= 1;
			if *left == 0 {
				let asked = pending.handle;
				self.committed(key, asked);
			}
		}
		self.pump(handle);
	}

	fn committed(&mut self, key: Key, handle: Handle) {
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		let (failed, more) = client.tell(handle, limit::FAILED as usize);
		self.answer(key, is_tail(more), &Reply::Commit { failed }, b"", 0);
	}

	/// Take a place in a file's order.
	pub fn enqueue(&mut self, key: Key, handle: Handle, access: Access, extents: Vec<Extent>) {
		if let Some(file) = self.files.get(&handle) {
			file.queue.push(key, access, extents);
		}
		self.pump(handle);
	}

	/// A request leaves its file's order; who waited for it goes on.
	pub fn leave_queue(&mut self, key: Key) {
		let Some(handle) = self.pending(key).map(|pending| pending.handle) else { return };
		let left = self.files.get(&handle).map(|file| file.queue.finish(key)).unwrap_or_default();
		left.into_iter().for_each(|piece| self.free(piece.held));
		self.pump(handle);
	}

	/// Start what may be done now on a file.
	pub fn pump(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		let begun = file.queue.begin();
		let pieces = file.queue.next_writes();
		let object = file.object.clone();
		if !pieces.is_empty() {
			let object = object.clone();
			self.workers.give(Box::new(move |store| write(store, handle, &object, pieces)));
		}
		for key in begun {
			if key.0 == 0 {
				let object = object.clone();
				self.workers.give(Box::new(move |store| {
					Done::Size(handle, key, store.attr(&object).map(|attr| attr.size))
				}));
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
			Done::Simple(key, result, met) => self.named(key, result, met),
			Done::Some(key, Ok((reply, more))) => self.answer(key, is_tail(more), &reply, b"", 0),
			Done::Some(key, Err(errno)) => self.fail(key, errno, (0, 0)),
			Done::Size(handle, probe, size) => self.sized(handle, probe, size),
			Done::Read(key, data, lengths, error) => self.has_read(key, data, &lengths, error),
			Done::Synced(key, handle, result) => self.synced(key, handle, result),
			Done::Written(handle, pieces, accesses) => {
				self.count.accesses += accesses;
				if let Some(file) = self.files.get(&handle) {
					file.queue.written();
				}
				for (piece, failed) in pieces {
					self.free(piece.held);
					self.count.written += piece.length() as u64;
					if let Some(Doing::Writing(w)) = self.pending(piece.key).map(|p| &mut p.doing) {
						w.done += piece.length() as u64;
						w.failed.extend(failed);
					}
					self.check_written(piece.key);
				}
				self.pump(handle);
			}
		}
	}

	/// A write of which all is done gets its answer; what failed of an accepted one is kept for commit.
	fn check_written(&mut self, key: Key) {
		let Some(pending) = self.pending(key) else { return };
		let Doing::Writing(writing) = &pending.doing else { return };
		if writing.done < writing.total {
			return;
		}
		self.count.writes += 1;
		self.end_write(key);
	}

	fn end_write(&mut self, key: Key) {
		self.leave_queue(key);
		let Some(pending) = self.pending(key) else { return };
		let (handle, answered) = (pending.handle, pending.answered);
		let sync = pending.header.flags & flag::SYNC != 0 && answered.is_none();
		let Doing::Writing(writing) = &mut pending.doing else { return };
		let failed = std::mem::take(&mut writing.failed);
		let append = writing.offset.is_some();
		let reply = written_reply(writing, level::WRITTEN);
		if append {
			self.end_append(key, handle, &failed);
		}
		if answered == Some(Early::Accepted) {
			self.keep_failed(key, handle, &failed);
		}
		match failed.first() {
			Some((extent, errno)) => {
				let errno = Errno::from_raw_os_error(*errno as i32);
				self.fail(key, errno, (extent.offset, extent.length));
			}
			None if sync => self.sync_write(key, handle, reply),
			None => self.answer(key, 0, &reply, b"", 0),
		}
	}

	/// Level synced was asked for: the data is written, now it is made to last.
	fn sync_write(&mut self, key: Key, handle: Handle, reply: Reply) {
		let reply = match reply {
			Reply::Append { offset, .. } => Reply::Append { offset, level: level::SYNCED },
			Reply::Write { bytes, .. } => Reply::Write { bytes, level: level::SYNCED },
			other => other,
		};
		match self.object(key, handle) {
			Ok(object) => self.workers.give(Box::new(move |store| {
				Done::Simple(key, store.sync(&object).map(|()| reply), None)
			})),
			Err(errno) => self.fail(key, errno, (0, 0)),
		}
	}

	fn end_append(&mut self, key: Key, handle: Handle, failed: &[(Extent, u32)]) {
		for (extent, errno) in failed {
			let (offset, length) = (extent.offset, extent.length);
			let gap = Gap { offset, length, client: key.0, seq: key.1, errno: *errno };
			self.files.add_gap(handle, gap);
		}
		if let Some(file) = self.files.get(&handle) {
			file.end.outstanding = file.end.outstanding.saturating_sub(1);
		}
	}

	fn keep_failed(&mut self, key: Key, handle: Handle, failed: &[(Extent, u32)]) {
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		for (extent, errno) in failed {
			let (offset, length) = (extent.offset, extent.length);
			client.failed(Failed { handle, seq: key.1, offset, length, errno: *errno });
		}
	}

	/// A request's deadline has passed: it is answered. One whose data does not come is given up.
	pub fn late(&mut self, key: Key) {
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

	/// The rest of a write's data will not come: that part has failed.
	fn give_up(&mut self, key: Key, errno: Errno) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, pulled) = (pending.handle, is_pulled(pending));
		let Doing::Writing(writing) = &mut pending.doing else { return };
		if !pulled {
			return; // its data is here
		}
		let (got, total) = (writing.got, writing.total);
		let errno = errno.raw_os_error() as u32;
		let missing = writing.slice(got, total - got);
		writing.failed.extend(missing.into_iter().map(|extent| (extent, errno)));
		(writing.pulled, writing.got) = (total, total);
		writing.done += total - got;
		let held = std::mem::take(&mut writing.reserved);
		let unplaced = writing.append && writing.offset.is_none();
		self.free(held);
		if unplaced {
			if let Some(file) = self.files.get(&handle) {
				file.end.waiting.retain(|waiting| *waiting != key);
			}
			return self.fail(key, Errno::from_raw_os_error(errno as i32), (0, total));
		}
		self.check_written(key);
	}

	/// A client is gone for good: what it held is released, what it was not told is logged.
	pub fn bury(&mut self, id: u64) {
		let unfinished: Vec<u64> = match self.clients.get(&id) {
			Some(client) => client.pending.keys().copied().collect(),
			None => return,
		};
		unfinished.into_iter().for_each(|seq| self.give_up((id, seq), Errno::CONNRESET));
		if self.clients.get(&id).is_some_and(|client| !client.pending.is_empty()) {
			return; // what the store still does for it ends first
		}
		let Some(mut client) = self.clients.remove(&id) else { return };
		self.log_untold(id, &client);
		for (handle, times) in client.held.clone() {
			release(&mut client, &mut self.files, handle, times);
		}
	}

	/// Room in the pool, if there is so much.
	pub fn take(&mut self, bytes: usize) -> bool {
		let enough = self.pool_free >= bytes;
		if enough {
			self.pool_free -= bytes;
		}
		enough
	}

	/// Room again: who waited for it goes on.
	pub fn free(&mut self, bytes: usize) {
		if bytes == 0 {
			return;
		}
		self.pool_free += bytes;
		for _ in 0..self.hungry.len() {
			let Some(key) = self.hungry.pop_front() else { return };
			let before = self.hungry.len();
			match self.pending(key).map(|p| &p.doing) {
				Some(Doing::Reading(_)) => self.read_on(key),
				Some(Doing::Writing(_)) => self.pull(key),
				_ => {}
			}
			if self.hungry.len() > before {
				break; // still no room
			}
		}
	}
}

/// Whether a write's data comes by pulls.
fn is_pulled(pending: &Pending) -> bool {
	pending.header.flags & flag::PULL != 0
}

fn written_reply(writing: &Writing, level: u8) -> Reply {
	match writing.offset {
		Some(offset) => Reply::Append { offset, level },
		None => Reply::Write { bytes: writing.total, level },
	}
}

fn read(store: &Store, key: Key, object: &Object, parts: &[Extent]) -> Done {
	let total = parts.iter().map(|part| part.length as usize).sum();
	let mut data = vec![0; total];
	let (mut lengths, mut at) = (Vec::new(), 0);
	for part in parts {
		match store.read(object, &mut data[at..at + part.length as usize], part.offset) {
			Ok(bytes) => {
				at += bytes;
				lengths.push((part.length, bytes as u64));
			}
			Err(errno) => return Done::Read(key, data, lengths, Some((*part, errno))),
		}
	}
	data.truncate(at);
	Done::Read(key, data, lengths, None)
}

/// Write pieces with as few accesses as they allow. What fails together is tried apart, so that exact ranges are named.
fn write(store: &Store, handle: Handle, object: &Object, pieces: Vec<Piece>) -> Done {
	let mut failed = vec![Vec::new(); pieces.len()];
	let mut accesses = 0;
	for run in runs(&pieces) {
		let parts: Vec<&[u8]> = run.parts.iter().map(|(_, bytes)| *bytes).collect();
		accesses += 1;
		if store.write(object, &parts, run.offset).is_ok() {
			continue;
		}
		let mut offset = run.offset;
		for (number, bytes) in &run.parts {
			accesses += 1;
			let length = bytes.len() as u64;
			if let Err(errno) = store.write(object, &[bytes], offset) {
				failed[*number].push((Extent { offset, length }, errno.raw_os_error() as u32));
			}
			offset += length;
		}
	}
	Done::Written(handle, pieces.into_iter().zip(failed).collect(), accesses)
}
