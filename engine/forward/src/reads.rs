//! Reads: large ones piece by piece, as there is room in the pool.

use fathom_record::Purpose;
use fathom_wire::number::{flag, hint, kind, limit};
use fathom_wire::{Extent, HEADER, Handle, Header, Hints, Reply, Request, compress};
use rustix::io::Errno;

use crate::answers::reply_header;
use crate::client::{Doing, Reading};
use crate::clock;
use crate::done::{Done, ReadFrame};
use crate::limits::AHEAD;
use crate::queue::{Access, Key};
use crate::server::Server;
use crate::store::{Object, Store};
use crate::trouble::Trouble;

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
		let large = total > self.piece as u64;
		self.set_doing(key, Doing::Reading(Reading { lengths, large, ..Reading::default() }));
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
		let (handle, number, large) = (pending.handle, pending.connection, reading.large);
		let quiet = pending.hints.has(hint::NOATIME);
		let reading_direct = reading.direct || quiet;
		let head = if large { HEADER + 8 } else { HEADER + reply_bytes(extents.len()) };
		let mut compresses = false;
		if let Some(connection) = self.connections.get_mut(&number) {
			if large && connection.waiting_out > AHEAD {
				return connection.readers.push(key);
			}
			compresses = connection.compresses;
		} else if large {
			// nobody takes it; who comes back asks again
			self.leave_queue(key);
			return self.fail(key, Errno::CONNRESET, (0, 0));
		}
		let held = (wanted as usize).min(self.settings.pool);
		if !self.take_in_turn(key, held) {
			return;
		}
		let Ok(object) = self.object(key, handle) else { return self.free(key.0, held) };
		let purpose = self.purpose(key, wanted);
		let cached = !large && !reading_direct && self.may_cache(&object);
		let frame = self.buffers.take_filled(head + wanted as usize);
		let mut got = ReadFrame { frame, parts: Vec::new(), error: None, compressed: false, held };
		if cached {
			match self.read_cached(key, handle, &parts, head, got) {
				Some(back) => got = back,
				None => return,
			}
		}
		let mut frame = got.frame;
		self.count.store_reads += parts.len() as u64;
		if !compresses // which would hold up all others
			&& !quiet
			&& let Some(parts) = self.read_inline(&object, &parts, &mut frame[head..], &purpose)
		{
			let moved: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
			frame.truncate(head + moved as usize);
			let got = ReadFrame { frame, parts, error: None, compressed: false, held };
			return self.done_inline.push_back((clock::now(), Done::Read(key, got)));
		}
		let work = move |store: &Store| {
			let (parts, error) = read(store, &object, &parts, &mut frame[head..], quiet);
			let moved: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
			frame.truncate(head + moved as usize);
			let compressed = compresses && compress(&mut frame, head);
			Done::Read(key, ReadFrame { frame, parts, error, compressed, held })
		};
		self.workers_of(&handle).give(purpose, Box::new(work));
	}

	/// The parts, if they can be had without waiting.
	fn read_inline(
		&self,
		object: &Object,
		parts: &[Extent],
		into: &mut [u8],
		purpose: &Purpose,
	) -> Option<Vec<(u64, u64)>> {
		if into.len() > self.piece {
			return None;
		}
		fathom_record::works_for(purpose.clone());
		let mut at = 0;
		let mut read = |part: &Extent| {
			let place = &mut into[at..at + part.length as usize];
			let bytes = self.store.read_now(object, place, part.offset)?;
			at += bytes;
			Some((part.length, bytes as u64))
		};
		parts.iter().map(&mut read).collect()
	}

	pub fn finish_read(&mut self, key: Key, got: ReadFrame) {
		let ReadFrame { mut frame, parts, error, compressed, held } = got;
		let moved: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
		self.count.read += moved;
		let Some(pending) = self.pending(key) else { return self.free(key.0, held) };
		let handle = pending.handle;
		if let Some((extent, trouble)) = error {
			self.free(key.0, held);
			self.leave_queue(key);
			let range = (extent.offset, extent.length);
			return self.fail_with(key, trouble.status(), range, &trouble.why);
		}
		let short = parts.iter().any(|(requested, bytes)| bytes < requested);
		if short && self.files.get(&handle).is_some_and(|file| file.queue.again(key)) {
			self.free(key.0, held);
			return self.pump(handle);
		}
		let Some(pending) = self.pending(key) else { return self.free(key.0, held) };
		let number = pending.connection;
		let crc = pending.header.flags & flag::BODY_CRC;
		let packed = if compressed { flag::COMPRESSED } else { 0 };
		let header =
			Header { kind: kind::DATA, flags: crc | packed, ..reply_header(&pending.header) };
		let (Request::Read { extents, .. }, Doing::Reading(reading)) =
			(&pending.request, &mut pending.doing)
		else {
			return self.free(key.0, held);
		};
		reading.advance(extents, &parts);
		let over = reading.next.0 >= extents.len();
		let reply = Reply::Read { lengths: reading.lengths.clone() };
		if !reading.large {
			let fields = reply.encode(&Hints::default());
			frame[HEADER..HEADER + fields.len()].copy_from_slice(&fields);
			self.leave_queue(key);
			return self.answer_frame(key, packed, frame, held);
		}
		frame[HEADER..HEADER + 8].copy_from_slice(&reading.sent.to_le_bytes());
		reading.sent += moved;
		header.seal(&mut frame);
		if !over {
			self.read_on(key); // while this is sent
		}
		self.send_held(key, number, frame, held);
		if over {
			self.leave_queue(key);
			self.answer(key, 0, &reply, b"", 0);
		}
	}
}

/// Bytes of the reply's fields and hints, before its data.
pub fn reply_bytes(extents: usize) -> usize {
	4 + 8 * extents + 2
}

/// Bytes asked for and read of each part, and which failed.
type Read = (Vec<(u64, u64)>, Option<(Extent, Trouble)>);

/// `quiet`: the time of reading stays.
fn read(store: &Store, object: &Object, parts: &[Extent], into: &mut [u8], quiet: bool) -> Read {
	match store.read_list(object, parts, into, quiet) {
		Some(Ok(lengths)) => return (close_up(parts, &lengths, into), None),
		Some(Err(trouble)) if parts.len() == 1 => return (Vec::new(), Some((parts[0], trouble))),
		_ => {} // the first that fails is to be named
	}
	let (mut lengths, mut at) = (Vec::new(), 0);
	for part in parts {
		let place = &mut into[at..at + part.length as usize];
		let read = if quiet {
			store.read_quietly(object, place, part.offset)
		} else {
			store.read(object, place, part.offset)
		};
		match read {
			Ok(bytes) => {
				at += bytes;
				lengths.push((part.length, bytes as u64));
			}
			Err(trouble) => return (lengths, Some((*part, trouble))),
		}
	}
	(lengths, None)
}

/// What came short is followed by the next at once.
fn close_up(parts: &[Extent], lengths: &[usize], into: &mut [u8]) -> Vec<(u64, u64)> {
	let (mut from, mut to) = (0, 0);
	for (part, length) in parts.iter().zip(lengths) {
		if from != to {
			into.copy_within(from..from + length, to);
		}
		(from, to) = (from + part.length as usize, to + length);
	}
	parts.iter().zip(lengths).map(|(part, length)| (part.length, *length as u64)).collect()
}
