//! The fast path of a small request on an idle file, where the store need not wait and nothing came to put it together with.
//! It is done at once, without a place in the queue, room in the pool or a deadline, which would cost more than the rest.

use fathom_wire::number::{flag, hint, level, op};
use fathom_wire::{Extent, HEADER, Handle, Header, Hints, Reply, Request};

use crate::answers::{changes, reply_header};
use crate::client::Client;
use crate::limits::INLINE;
use crate::reads::reply_bytes;
use crate::server::Server;

impl Server {
	/// Does and answers it. False: it goes the way of all, and nothing that shows was done.
	pub fn try_fast_path(
		&mut self,
		number: u64,
		header: &Header,
		request: &Request,
		hints: &Hints,
		data: &[u8],
	) -> bool {
		let in_order = self.clients.get(&header.client).is_some_and(Client::keeps_order);
		if in_order || fathom_record::is_on() || header.flags & (flag::PULL | flag::SYNC) != 0 {
			return false;
		}
		let frame = match request {
			Request::Write { handle, extents } if !hints.has(hint::DROP_IO) => {
				self.write_fast(number, *handle, extents, data)
			}
			Request::Read { handle, extents } if !hints.has(hint::NOATIME) => {
				self.read_fast(number, *handle, extents)
			}
			Request::GetAttr { handle } => self.attr_fast(*handle),
			_ => None,
		};
		let Some(mut frame) = frame else { return false };
		let flags = match header.op {
			op::READ => header.flags & flag::BODY_CRC,
			_ => 0,
		};
		Header { flags, ..reply_header(header) }.seal(&mut frame);
		if changes(header.op)
			&& let Some(client) = self.clients.get_mut(&header.client)
		{
			client.answers.insert(header.seq, frame.clone());
		}
		self.send(number, frame);
		true
	}

	/// Written before it is answered, whatever level was asked for: it takes no longer.
	fn write_fast(
		&mut self,
		number: u64,
		handle: Handle,
		extents: &[Extent],
		data: &[u8],
	) -> Option<Vec<u8>> {
		let bytes = single_small_extent(extents)?.length;
		let connection = self.connections.get(&number)?;
		if data.len() as u64 != bytes || !self.single_event || connection.has_more() {
			return None;
		}
		let file = self.files.get(&handle)?;
		let idle = file.queue.is_empty() && file.end.at.is_none() && file.end.is_quiet();
		let object = &file.object;
		let may = idle && self.store.may_write_now(object);
		if !may || !self.store.write_now(object, &[data], extents[0].offset) {
			return None;
		}
		self.cache.written(handle, extents);
		self.count.writes += 1;
		self.count.accesses += 1;
		self.count.written += bytes;
		Some(framed(&Reply::Write { bytes, level: level::WRITTEN }))
	}

	fn read_fast(&mut self, number: u64, handle: Handle, extents: &[Extent]) -> Option<Vec<u8>> {
		let extent = single_small_extent(extents)?;
		if self.connections.get(&number)?.compresses {
			return None;
		}
		let file = self.files.get(&handle)?;
		if !file.queue.is_empty() || self.store.is_slow(&file.object) {
			return None;
		}
		let head = HEADER + reply_bytes(1);
		let mut frame = vec![0; head + extent.length as usize];
		let bytes = self.store.read_now(&file.object, &mut frame[head..], extent.offset)?;
		let fields = Reply::Read { lengths: vec![bytes as u64] }.encode(&Hints::default());
		frame[HEADER..head].copy_from_slice(&fields);
		frame.truncate(head + bytes);
		self.count.store_reads += 1;
		self.count.read += bytes as u64;
		Some(frame)
	}

	fn attr_fast(&mut self, handle: Handle) -> Option<Vec<u8>> {
		let file = self.files.get(&handle)?;
		if !file.queue.is_empty() || !self.store.is_quick(&file.object) {
			return None;
		}
		let attr = self.store.attr(&file.object).ok()?;
		Some(framed(&Reply::GetAttr { attr }))
	}
}

/// The extent, if it is one, and as short as data in a request may be.
fn single_small_extent(extents: &[Extent]) -> Option<Extent> {
	match extents {
		[extent] if (1..=INLINE as u64).contains(&extent.length) => Some(*extent),
		_ => None,
	}
}

/// A reply behind room for its header.
fn framed(reply: &Reply) -> Vec<u8> {
	let mut frame = vec![0; HEADER];
	reply.put(&mut frame, &Hints::default());
	frame
}
