//! Reads: large ones piece by piece, as there is room in the pool.

use fathom_record::Caller;
use fathom_wire::number::{kind, limit};
use fathom_wire::{Extent, Handle, Header, Reply, Request};
use rustix::io::Errno;

use crate::client::{Doing, Reading};
use crate::queue::{Access, Key};
use crate::server::{Done, Server, reply_header};
use crate::store::{Object, Store};

impl Server {
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
	pub fn read_on(&mut self, key: Key) {
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
		let caller = Caller { bytes: wanted, ..self.caller(key) };
		let work = move |store: &Store| read(store, key, &object, &parts);
		self.workers.give(caller, Box::new(work));
	}

	pub fn has_read(
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
