//! Data of writes on its way in: pulled piece by piece, as there is room in the pool.

use fathom_wire::number::{flag, hint, kind, level};
use fathom_wire::{Handle, Header, Hints, Pull, encode};
use rustix::io::Errno;

use crate::client::{Doing, Early, Pending};
use crate::queue::{Key, Piece};
use crate::server::{Server, reply_header};
use crate::traced::caller_of;
use crate::writes::written_reply;

impl Server {
	/// Data that came with the request; or it is asked for.
	pub fn feed(&mut self, key: Key, data: (Vec<u8>, usize)) {
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
	pub fn ready(
		&mut self,
		key: Key,
		handle: Handle,
		at: u64,
		data: (Vec<u8>, usize),
		held: usize,
	) {
		let Some(pending) = self.pending(key) else { return self.free(held) };
		let drop = pending.hints.has(hint::DROP_IO);
		let caller = caller_of(&pending.header, 0);
		let Doing::Writing(writing) = &pending.doing else { return self.free(held) };
		let extents = writing.slice(at, (data.0.len() - data.1) as u64);
		let nonblocking = pending.header.flags & flag::NONBLOCKING != 0;
		let accepted = nonblocking && !writing.waited && writing.got == writing.total;
		let accepted = accepted && pending.answered().is_none();
		let reply = written_reply(writing, level::ACCEPTED);
		let piece = Piece { key, extents, data: data.0, start: data.1, held, drop, caller };
		if let Some(file) = self.files.get(&handle) {
			file.queue.ready(piece);
		}
		if accepted {
			let body = reply.encode(&Hints::default());
			self.answer_early(key, Early::Accepted, 0, &body);
		}
		self.pump(handle);
	}

	/// The rest of a write's data will not come: that part has failed.
	pub fn give_up(&mut self, key: Key, errno: Errno) {
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
			self.leave_queue(key);
			return self.fail(key, Errno::from_raw_os_error(errno as i32), (0, total));
		}
		self.check_written(key);
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
pub fn is_pulled(pending: &Pending) -> bool {
	pending.header.flags & flag::PULL != 0
}
