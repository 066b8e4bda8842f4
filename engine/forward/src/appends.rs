//! Appends: reserves extents at the owner of a file's end, and reports their outcomes to it. Decides who else may move the end.

use fathom_record::Purpose;
use fathom_wire::number::{hint, limit, reserve};
use fathom_wire::{Extent, Gap, Handle, Wanted};
use rustix::io::Errno;

use crate::append_owner::{Asker, NOWHERE, OwnerRequest};
use crate::client::{Doing, Writing};
use crate::done::Done;
use crate::files::Asking;
use crate::queue::{Access, Key};
use crate::server::Server;
use crate::store::Store;
use crate::trouble::Trouble;
use crate::truncations::Pausing;

const TIMED_OUT: u32 = Errno::TIMEDOUT.raw_os_error() as u32;
/// Most appends of a file, or outcomes, in one request to its owner.
const MOST: usize = limit::FAILED as usize;

/// Appends of which these say all.
pub fn ended(outcomes: &[Gap]) -> impl Iterator<Item = Key> {
	outcomes.iter().filter(|outcome| outcome.errno == 0).map(|last| (last.client, last.seq))
}

impl Server {
	pub fn begin_append(
		&mut self,
		key: Key,
		handle: Handle,
		length: u64,
		data: (Vec<u8>, usize),
	) -> Result<(), Errno> {
		if length > u64::from(limit::DATA) {
			return Err(Errno::MSGSIZE);
		}
		if self.object(key, handle).is_err() {
			return self.ask_whether_done(key, handle, length, data);
		}
		self.check_data(key, length, &data)?;
		let early = Some(data);
		let writing = Writing { total: length, append: true, early, ..Writing::default() };
		self.set_doing(key, Doing::Writing(writing));
		self.count.appends += 1;
		let file = self.files.get(&handle).ok_or(Errno::STALE)?;
		let first = file.end.at.is_none() && file.end.waiting.is_empty();
		let behind_cut = file.end.behind_cuts.back_mut();
		let cut = behind_cut.is_some();
		behind_cut.unwrap_or(&mut file.end.waiting).push(key);
		if first && !cut {
			// the size is asked for once, behind all that was asked of the file before
			file.end.probe += 1;
			let probe = (0, file.end.probe);
			file.queue.push(probe, Access::Whole, Vec::new());
		}
		self.enqueue(key, handle, Access::Write, Vec::new());
		self.pump(handle);
		self.exchange_with_owner(handle);
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
		if resized && file.end.waiting.is_empty() {
			file.end.at = None;
		}
		if resized {
			file.end.behind_cuts.push_back(Vec::new());
		}
		if let Some(pending) = self.pending(key) {
			pending.cuts = resized;
		}
		Ok(())
	}

	/// A truncation is done, to that size, or has failed: appends that came after it can be given extents.
	pub fn cut_ended(&mut self, handle: Handle, size: Option<u64>) {
		let Some(file) = self.files.get(&handle) else { return };
		let behind = file.end.behind_cuts.pop_front().unwrap_or_default();
		if size.is_some() && (file.end.at.is_some() || !behind.is_empty()) {
			file.end.at = size;
		}
		file.end.waiting.extend(behind);
		if file.end.at.is_none() && !file.end.waiting.is_empty() {
			self.probe_now(handle);
		}
		self.exchange_with_owner(handle);
		self.leave_end(handle);
	}

	/// The size is asked for, not by its turn in the file's order: truncations that are there already wait for these appends.
	fn probe_now(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		file.end.probe += 1;
		let (probe, object, end) = ((0, file.end.probe), file.object.clone(), file.queue.end());
		let size = move |store: &Store| store.attr(&object).map(|attr| attr.size.max(end));
		let work = move |store: &Store| Done::Size(handle, probe, size(store));
		self.workers_of(&handle).give(Purpose::default(), Box::new(work));
	}

	/// The size is known: who waited for it can be given extents.
	pub fn sized(&mut self, handle: Handle, probe: Key, size: Result<u64, Trouble>) {
		let Some(file) = self.files.get(&handle) else { return };
		file.queue.finish(probe);
		if file.end.probe == probe.1 {
			file.end.at = size.as_ref().ok().copied();
			if let Err(trouble) = size {
				let waiting = std::mem::take(&mut file.end.waiting);
				waiting.into_iter().for_each(|key| self.unplaced(key, &trouble));
			}
		}
		self.exchange_with_owner(handle);
		self.leave_end(handle);
		self.pump(handle);
	}

	/// Ask the owner for what appends wait for, and tell it what is done: all at once, one question at a time.
	fn exchange_with_owner(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		let end = &mut file.end;
		let wants = end.at.is_some() && !end.pauses && !end.waiting.is_empty();
		if end.asking.is_some() || (!wants && end.outcomes.is_empty()) {
			return;
		}
		let (size, stamp) = (end.at.unwrap_or(0), end.stamp);
		let most = if wants { end.waiting.len().min(MOST) } else { 0 };
		let keys: Vec<Key> = end.waiting.drain(..most).collect();
		let outcomes: Vec<Gap> = end.outcomes.drain(..end.outcomes.len().min(MOST)).collect();
		let wanted: Vec<Wanted> = keys.iter().map(|key| self.wanted(*key)).collect();
		if let Some(file) = self.files.get(&handle) {
			let (wanted, outcomes) = (wanted.clone(), outcomes.clone());
			file.end.asking = Some(Asking { wanted, outcomes });
		}
		self.ask_owner(
			handle,
			Asker::Local(handle),
			OwnerRequest { flags: 0, size, stamp, wanted, outcomes },
		);
	}

	fn wanted(&mut self, key: Key) -> Wanted {
		let pending = self.pending(key);
		let align = pending.as_ref().and_then(|p| p.hints.number(hint::APPEND_ALIGN));
		let length = match pending.map(|p| &p.doing) {
			Some(Doing::Writing(writing)) => writing.total,
			_ => 0,
		};
		Wanted { client: key.0, seq: key.1, length, align: align.unwrap_or(1) }
	}

	/// The owner has answered.
	pub fn placed(&mut self, handle: Handle, offsets: Result<(Vec<u64>, u64), Trouble>) {
		let Some(file) = self.files.get(&handle) else { return };
		let Some(Asking { wanted, outcomes }) = file.end.asking.take() else { return };
		let written: Vec<Key> = ended(&outcomes).collect();
		match &offsets {
			Ok((offsets, stamp)) => {
				let answered = wanted.iter().zip(offsets.iter().copied());
				let (later, placed): (Vec<_>, Vec<_>) =
					answered.partition(|(_, offset)| *offset == NOWHERE);
				placed.into_iter().for_each(|(wanted, at)| self.place(wanted, handle, at));
				if !later.is_empty() {
					let later = later.into_iter().map(|(wanted, _)| (wanted.client, wanted.seq));
					self.place_later(handle, later.collect(), *stamp);
				}
			}
			Err(trouble) => {
				if file.end.waiting.is_empty() && file.end.outstanding == 0 {
					file.end.at = None; // nothing was handed out that counts on it
				}
				wanted.iter().for_each(|w| self.unplaced((w.client, w.seq), trouble));
				if (trouble.again && !wanted.is_empty()) || !outcomes.is_empty() {
					// those that are told that they failed have failed; that they have ended is said last
					let lost = |key: &Key| self.lost(*key, trouble.status());
					let lost: Vec<Gap> = written.iter().flat_map(lost).collect();
					let outcomes = lost.into_iter().chain(outcomes).collect();
					let request = OwnerRequest { wanted, outcomes, ..OwnerRequest::default() };
					self.give_up_at_owner(handle, request);
				}
				if !trouble.again {
					self.tell_given_up(); // it answers
				}
			}
		}
		for key in written {
			self.end_write(key, offsets.as_ref().err()); // what failed is kept before a commit can go on
			self.leave_queue_of(handle, key);
		}
		self.exchange_with_owner(handle);
		self.leave_end(handle);
		self.pump(handle);
	}

	/// These have no extent yet: the size they were asked for with may be wrong, or a truncation is under way.
	fn place_later(&mut self, handle: Handle, mut keys: Vec<Key>, stamp: u64) {
		keys.retain(|key| self.pending(*key).is_some());
		let Some(file) = self.files.get(&handle) else { return };
		file.end.waiting.splice(0..0, keys);
		if std::mem::replace(&mut file.end.stamp, stamp) == stamp {
			file.end.pauses = true;
			return self.pause(Pausing::Appends(handle));
		}
		file.end.at = None;
		self.probe_now(handle);
	}

	/// They are asked for again.
	pub fn place_again(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		file.end.pauses = false;
		if file.end.at.is_none() && !file.end.waiting.is_empty() {
			return self.probe_now(handle);
		}
		self.exchange_with_owner(handle);
		self.leave_end(handle);
	}

	/// An append as a gap.
	fn lost(&mut self, (client, seq): Key, errno: u32) -> Vec<Gap> {
		let Some(Doing::Writing(writing)) = self.pending((client, seq)).map(|p| &p.doing) else {
			return Vec::new();
		};
		let gap = |extent: &Extent| {
			let Extent { offset, length } = *extent;
			Gap { offset, length, client, seq, errno }
		};
		writing.extents.iter().map(gap).collect()
	}

	/// An append has its extent.
	fn place(&mut self, wanted: &Wanted, handle: Handle, offset: u64) {
		let key = (wanted.client, wanted.seq);
		let extent = Extent { offset, length: wanted.length };
		let mut early = None;
		let waits = self.pending(key).is_some_and(|pending| {
			let Doing::Writing(writing) = &mut pending.doing else { return false };
			(writing.extents, writing.offset) = (vec![extent], Some(offset));
			early = writing.early.take();
			true
		});
		let Some(file) = self.files.get(&handle) else { return };
		file.end.at = Some(file.end.at.unwrap_or(0).max(extent.end()));
		file.queue.place(key, vec![extent]);
		file.end.outstanding += 1;
		match early {
			Some(data) => self.feed(key, data),
			// given up meanwhile: nothing of it will be written
			None if !waits => self.end_append(key, handle, &[(extent, TIMED_OUT)]),
			None => {}
		}
	}

	fn unplaced(&mut self, key: Key, trouble: &Trouble) {
		self.leave_queue(key);
		let length = self.wanted(key).length;
		self.fail_with(key, trouble.status(), (0, length), &trouble.why);
	}

	/// An append is written, or has failed: it is answered once the owner knows.
	pub fn end_append(&mut self, key: Key, handle: Handle, failed: &[(Extent, u32)]) {
		let Some(file) = self.files.get(&handle) else { return };
		file.end.outstanding = file.end.outstanding.saturating_sub(1);
		let (client, seq) = key;
		for (extent, errno) in failed {
			let (offset, length) = (extent.offset, extent.length);
			file.end.outcomes.push(Gap { offset, length, client, seq, errno: *errno });
		}
		file.end.outcomes.push(Gap { client, seq, ..Gap::default() });
		self.exchange_with_owner(handle);
	}

	/// Nobody here holds a file that was appended to: its owner need not count on more.
	pub fn leave_end(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		let busy = file.end.asking.is_some() || !file.end.is_quiet();
		let is_known = file.end.at.is_some() || file.end.stamp != 0;
		if file.holds > 0 || !is_known || busy {
			return;
		}
		(file.end.at, file.end.stamp) = (None, 0);
		file.end.asking = Some(Default::default());
		let request = OwnerRequest { flags: reserve::LEFT, ..OwnerRequest::default() };
		self.ask_owner(handle, Asker::Local(handle), request);
	}
}
