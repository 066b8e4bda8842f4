//! Data of writes on its way in: pulled piece by piece, as there is room in the pool.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fathom_wire::number::{flag, hint, kind, level};
use fathom_wire::{Handle, Header, Hints, Pull, encode};
use rustix::io::Errno;

use crate::answers::reply_header;
use crate::callers::callers_of;
use crate::client::{Doing, Early, Pending, Writing};
use crate::clock;
use crate::limits::UNFINISHED;
use crate::queue::{Key, Piece};
use crate::server::Server;
use crate::writes::written_reply;

/// Bytes of a request that are asked for and have not come.
const PULLED_AHEAD: u64 = 1 << 20;

/// How long a write's data takes to come: the way to its client and back, and the client.
#[derive(Default)]
pub struct Pulls {
	/// Since when data is asked for that has not come.
	since: Option<Instant>,
	/// What the first part took.
	first: Option<Duration>,
	whole: Duration,
}

impl Pulls {
	fn requested(&mut self) {
		self.since.get_or_insert_with(clock::now);
	}

	/// A part came; `all`: no other is under way.
	fn arrived(&mut self, all: bool) {
		let Some(since) = self.since else { return };
		let now = clock::now();
		self.first.get_or_insert(now - since);
		if all {
			self.whole += now - since;
			self.since = None;
		}
	}

	/// What the first part took, and all.
	pub fn took(&self) -> (Duration, Duration) {
		let open = self.since.map_or(Duration::ZERO, clock::since);
		(self.first.unwrap_or(open), self.whole + open)
	}
}

impl Server {
	/// Data that came with the request; or it is asked for.
	pub fn feed(&mut self, key: Key, data: (Vec<u8>, usize)) {
		if self.pending(key).is_some_and(|p| is_pulled(p)) {
			return self.pull(key);
		}
		let length = data.0.len() - data.1;
		let held = if self.take(key.0, length) { length } else { 0 };
		let Some(pending) = self.pending(key) else { return self.free(key.0, held) };
		let handle = pending.handle;
		if let Doing::Writing(writing) = &mut pending.doing {
			writing.waited = held < length;
			(writing.pulled, writing.got) = (length as u64, length as u64);
		}
		self.ready(key, handle, 0, data, held);
	}

	/// Ask for the next parts of the data, as far ahead as there is room for them.
	fn pull(&mut self, key: Key) {
		let piece = self.piece as u64;
		let writing = |p: &Pending| match &p.doing {
			Doing::Writing(w) => Some((w.pulled, w.got, w.total)),
			_ => None,
		};
		while let Some((pulled, got, total)) = self.pending(key).and_then(|p| writing(p)) {
			if got == total {
				return self.check_written(key);
			}
			let wanted = piece.min(total - pulled);
			if wanted == 0 || (pulled > got && pulled + wanted - got > PULLED_AHEAD) {
				return;
			}
			let alone = pulled == got; // else it asks again when the next part comes
			let room = match alone {
				true => self.take_in_turn(key, wanted as usize),
				false => self.take(key.0, wanted as usize),
			};
			let Some(Doing::Writing(writing)) = self.pending(key).map(|p| &mut p.doing) else {
				return;
			};
			if room {
				writing.pulled += wanted;
				writing.reserved += wanted as usize;
				writing.pulls.requested();
				self.ask_for(key, Pull { at: pulled, length: wanted as u32 });
			} else {
				return writing.waited = true;
			}
		}
	}

	/// Send the pulls that are under way, on the request's connection of now.
	pub fn pull_again(&mut self, key: Key) {
		let piece = self.piece as u64;
		let Some(pending) = self.pending(key) else { return };
		let Doing::Writing(Writing { got, pulled, .. }) = pending.doing else { return };
		for at in (got..pulled).step_by(self.piece) {
			self.ask_for(key, Pull { at, length: piece.min(pulled - at) as u32 });
		}
	}

	fn ask_for(&mut self, key: Key, pull: Pull) {
		let Some(pending) = self.pending(key) else { return };
		let header = Header { kind: kind::PULL, ..reply_header(&pending.header) };
		let number = pending.connection;
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.pulled += 1;
		}
		self.send(number, header.frame(&encode(&pull)));
	}

	/// Data came. What nobody asked for, or has been given already, is dropped.
	pub fn data(&mut self, key: Key, at: u64, body: Vec<u8>) {
		let piece = self.piece as u64;
		let Some(pending) = self.pending(key) else { return };
		let handle = pending.handle;
		let Doing::Writing(writing) = &mut pending.doing else { return };
		let length = body.len() as u64 - 8;
		if at != writing.got || length != piece.min(writing.pulled - writing.got) || length == 0 {
			return;
		}
		writing.got += length;
		writing.reserved -= length as usize;
		writing.pulls.arrived(writing.got == writing.pulled);
		self.ready(key, handle, at, (body, 8), length as usize);
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
		let unfinished = self.clients.get(&key.0).map_or(0, |client| client.pending().len());
		let Some(pending) = self.pending(key) else { return self.free(key.0, held) };
		let drop = pending.hints.has(hint::DROP_IO);
		let length = (data.0.len() - data.1) as u64;
		let callers = callers_of(&pending.header, &pending.hints, at..at + length);
		let Doing::Writing(writing) = &pending.doing else { return self.free(key.0, held) };
		let extents = writing.slice(at, length);
		let nonblocking = pending.header.flags & flag::NONBLOCKING != 0;
		let accepted = nonblocking && !writing.waited && writing.got == writing.total;
		let accepted = accepted && pending.answered().is_none() && unfinished < UNFINISHED / 2;
		let reply = written_reply(writing, level::ACCEPTED);
		let piece = Piece { key, extents, data: data.0, start: data.1, held, drop, callers };
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
		self.free(key.0, held);
		if unplaced {
			if let Some(file) = self.files.get(&handle) {
				file.end.waiting.retain(|waiting| *waiting != key);
				let behind = file.end.behind_cuts.iter_mut();
				behind.for_each(|cut| cut.retain(|waiting| *waiting != key));
			}
			self.leave_queue(key);
			return self.fail(key, Errno::from_raw_os_error(errno as i32), (0, total));
		}
		self.check_written(key);
	}

	/// Room in the pool for a client, if there is so much, and it holds less than its share.
	pub fn take(&mut self, client: u64, bytes: usize) -> bool {
		let enough = self.pool_free >= bytes && !self.exceeds_quota(client, bytes);
		if enough {
			self.pool_free -= bytes;
			*self.used.entry(client).or_default() += bytes;
		}
		enough
	}

	/// It would hold more than its share. One part it may always have; other servers ask for many clients.
	fn exceeds_quota(&self, client: u64, bytes: usize) -> bool {
		let Some(used) = self.used.get(&client) else { return false };
		let peer = self.clients.get(&client).is_some_and(|client| client.is_peer);
		!peer && used + bytes > self.settings.client_pool
	}

	/// The same, or the request waits for it. The oldest never does, and takes a part beyond the pool: the room may be
	/// held by others that wait for it.
	pub fn take_in_turn(&mut self, key: Key, bytes: usize) -> bool {
		let Some(place) = self.pending(key).map(|pending| (pending.arrived.at, key)) else {
			return false;
		};
		let oldest = self.unfinished.first() == Some(&place);
		if self.take(key.0, bytes) {
			return true;
		}
		if oldest {
			let available = bytes.min(self.pool_free);
			self.pool_free -= available;
			self.overdrawn += bytes - available;
			*self.used.entry(key.0).or_default() += bytes;
		} else if self.exceeds_quota(key.0, bytes) {
			self.over_quota.entry(key.0).or_default().insert(place);
		} else {
			self.waiting_for_pool.insert(place);
		}
		oldest
	}

	/// Room again.
	pub fn free(&mut self, client: u64, bytes: usize) {
		if bytes == 0 {
			return;
		}
		let repaid = bytes.min(self.overdrawn);
		self.overdrawn -= repaid;
		self.pool_free += bytes - repaid;
		if let Some(used) = self.used.get_mut(&client) {
			*used -= bytes;
			if *used == 0 {
				self.used.remove(&client);
			}
		}
		self.resume_over_quota(client);
		self.resume_waiting_for_pool();
	}

	/// Requests of a client that waited for its own to be done.
	fn resume_over_quota(&mut self, client: u64) {
		while let Some(first) = self.over_quota.get_mut(&client).and_then(BTreeSet::pop_first) {
			self.resume(first.1);
			if self.over_quota.get(&client).is_some_and(|over_quota| over_quota.contains(&first)) {
				return; // still no room
			}
		}
		self.over_quota.remove(&client);
	}

	/// Who waited for room goes on, the oldest first.
	pub fn resume_waiting_for_pool(&mut self) {
		let oldest = self.unfinished.first().copied();
		if let Some(oldest) = oldest
			&& self
				.over_quota
				.get_mut(&oldest.1.0)
				.is_some_and(|over_quota| over_quota.remove(&oldest))
		{
			self.resume(oldest.1);
		}
		while let Some(first) = self.waiting_for_pool.pop_first() {
			self.resume(first.1);
			if self.waiting_for_pool.contains(&first) {
				break; // still no room
			}
		}
	}

	fn resume(&mut self, key: Key) {
		match self.pending(key).map(|p| &p.doing) {
			Some(Doing::Reading(_)) => self.read_on(key),
			Some(Doing::Writing(_)) => self.pull(key),
			_ => {}
		}
	}
}

/// Whether a write's data comes by pulls.
pub fn is_pulled(pending: &Pending) -> bool {
	pending.header.flags & flag::PULL != 0
}
