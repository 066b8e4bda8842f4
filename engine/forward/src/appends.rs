//! Appends: the end of a file, the extents that are handed out, who may move it otherwise.

use fathom_wire::number::{hint, limit};
use fathom_wire::{Extent, Gap, Handle};
use rustix::io::Errno;

use crate::client::{Doing, Writing};
use crate::queue::{Access, Key};
use crate::server::Server;

impl Server {
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
			writing.early = Some(data);
		}
		if first {
			self.enqueue((0, key.1 ^ key.0), handle, Access::Whole, Vec::new());
		}
		Ok(())
	}

	/// A file that is being appended to is not written beyond its end but with the hint.
	pub fn may_write(&mut self, key: Key, handle: Handle, end: u64) -> Result<(), Errno> {
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
	pub fn reserve(&mut self, key: Key, handle: Handle) {
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
	pub fn sized(&mut self, handle: Handle, probe: Key, size: Result<u64, Errno>) {
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
			if let Some(data) = early {
				self.reserve(key, handle);
				self.feed(key, data);
			}
		}
		self.pump(handle);
	}

	pub fn end_append(&mut self, key: Key, handle: Handle, failed: &[(Extent, u32)]) {
		for (extent, errno) in failed {
			let (offset, length) = (extent.offset, extent.length);
			let gap = Gap { offset, length, client: key.0, seq: key.1, errno: *errno };
			self.files.add_gap(handle, gap);
		}
		if let Some(file) = self.files.get(&handle) {
			file.end.outstanding = file.end.outstanding.saturating_sub(1);
		}
	}
}
