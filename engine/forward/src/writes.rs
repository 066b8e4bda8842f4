//! Writes: accepts them, writes them by worker or at once, and reports what failed.

use std::sync::Arc;
use std::time::Instant;

use fathom_record::Caller;
use fathom_wire::number::{flag, level, limit};
use fathom_wire::{Extent, Failed, Handle, Reply};
use rustix::io::Errno;

use crate::client::{Doing, Early, Pending, Writing};
use crate::clock;
use crate::done::Done;
use crate::limits::INLINE;
use crate::portions::Stretch;
use crate::pulls::is_pulled;
use crate::queue::{Access, Key, Part, Piece, Run, runs};
use crate::server::Server;
use crate::sieving;
use crate::store::{Object, Store};
use crate::trouble::Trouble;
use crate::trouble::errno_text;

impl Server {
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

	/// Data in the request is as long as it says, and short; or it is to be pulled.
	pub fn check_data(
		&mut self,
		key: Key,
		total: u64,
		data: &(Vec<u8>, usize),
	) -> Result<(), Errno> {
		let pulled = self.pending(key).is_some_and(|p| is_pulled(p));
		match (data.0.len() - data.1) as u64 {
			0 if pulled => Ok(()),
			length if !pulled && length == total && length <= INLINE as u64 => Ok(()),
			_ => Err(Errno::MSGSIZE),
		}
	}

	/// What may be written now of a file, by a worker.
	pub fn write_next(&mut self, handle: Handle) {
		let Some(file) = self.files.get(&handle) else { return };
		let (pieces, object) = (file.queue.next_writes(file.object.unit()), file.object.clone());
		self.write_by_worker(handle, object, pieces);
	}

	fn write_by_worker(&mut self, handle: Handle, object: Arc<Object>, pieces: Vec<Piece>) {
		let Some(first) = pieces.first() else { return };
		let purpose = self.purpose(first.key, 0);
		let appended = self.files.get(&handle).is_some_and(|file| file.is_appended());
		let through = appended || self.is_awaited(&pieces);
		let how = WriteMode { through, granted: appended };
		let work = move |store: &Store| write(store, handle, &object, pieces, how);
		self.workers_of(&handle).give(purpose, Box::new(work));
	}

	/// Some client waits to hear that these are written.
	fn is_awaited(&mut self, pieces: &[Piece]) -> bool {
		let accepted = |pending: &mut Pending| pending.answered() == Some(Early::Accepted);
		pieces.iter().any(|piece| !self.pending(piece.key).is_some_and(accepted))
	}

	/// What came in this round and may be written now, by this thread if it is little and need not wait.
	pub fn write_ready(&mut self) {
		while let Some(handle) = self.ready_to_write.pop_first() {
			let Some(file) = self.files.get(&handle) else { continue };
			let (pieces, object) = (file.queue.next_writes(1), file.object.clone());
			match self.write_inline(&object, &pieces) {
				Some((began, accesses)) => {
					let done = pieces.into_iter().map(|piece| (piece, Vec::new())).collect();
					self.done_inline.push_back((began, Done::Written(handle, done, accesses)));
				}
				None => self.write_by_worker(handle, object, pieces),
			}
			self.finish_inline();
		}
	}

	/// When it was begun, and accesses to the store. None: a worker has to write these.
	fn write_inline(&mut self, object: &Object, pieces: &[Piece]) -> Option<(Instant, Accesses)> {
		let (first, bytes) = (pieces.first()?, pieces.iter().map(Piece::length).sum::<usize>());
		if bytes > self.piece && !self.store.does_nothing() {
			return None;
		}
		let began = clock::now();
		fathom_record::works_for(self.purpose(first.key, 0));
		let runs = runs(pieces);
		let mut write = |run: &Run<'_>| {
			let parts: Vec<&[u8]> = run.parts.iter().map(|part| part.bytes).collect();
			fathom_record::puts_together(|| callers(pieces, &run.parts));
			self.store.write_now(object, &parts, run.offset)
		};
		let accesses = Accesses { writes: runs.len() as u64, reads: 0 };
		runs.iter().all(&mut write).then_some((began, accesses))
	}

	/// A write of which all is done leaves its file's order; an append once its owner knows, so that a commit waits for that.
	pub fn check_written(&mut self, key: Key) {
		let Some(pending) = self.pending(key) else { return };
		let handle = pending.handle;
		let Doing::Writing(writing) = &mut pending.doing else { return };
		if writing.done < writing.total || writing.ended {
			return;
		}
		writing.ended = true;
		let (failed, append) = (writing.failed.clone(), writing.offset.is_some());
		if pending.answered() == Some(Early::Accepted) && !append {
			self.keep_failed(key, handle, &failed); // before a commit that waits is answered
		}
		self.count.writes += 1;
		if append {
			return self.end_append(key, handle, &failed);
		}
		self.leave_queue(key);
		self.end_write(key, None);
	}

	/// It gets its answer; what failed of an accepted one is kept for commit.
	pub fn end_write(&mut self, key: Key, trouble: Option<&Trouble>) {
		let Some(pending) = self.pending(key) else { return };
		let (handle, answered) = (pending.handle, pending.answered());
		let sync = pending.header.flags & flag::SYNC != 0 && answered.is_none();
		let Doing::Writing(writing) = &mut pending.doing else { return };
		let failed = std::mem::take(&mut writing.failed);
		let why = writing.why.take();
		let is_append = writing.offset.is_some();
		let reply = written_reply(writing, level::WRITTEN);
		let unreported = trouble.map(|trouble| (writing.extents.clone(), trouble));
		if let Some((extents, trouble)) = unreported {
			let all: Vec<_> =
				extents.into_iter().map(|extent| (extent, trouble.status())).collect();
			if answered == Some(Early::Accepted) {
				self.keep_failed(key, handle, &all);
			}
			let range = all.first().map_or((0, 0), |(extent, _)| (extent.offset, extent.length));
			return self.fail_with(key, trouble.status(), range, &trouble.why);
		}
		if is_append && answered == Some(Early::Accepted) {
			self.keep_failed(key, handle, &failed); // a commit waits for what the owner says
		}
		match failed.first() {
			Some((extent, errno)) => {
				let why =
					why.unwrap_or_else(|| errno_text(Errno::from_raw_os_error(*errno as i32)));
				self.fail_with(key, *errno, (extent.offset, extent.length), &why);
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
			Ok(object) => self.give(key, move |store| store.sync(&object).map(|()| reply)),
			Err(errno) => self.fail(key, errno, (0, 0)),
		}
	}

	fn keep_failed(&mut self, key: Key, handle: Handle, failed: &[(Extent, u32)]) {
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		for (extent, errno) in failed {
			let (offset, length) = (extent.offset, extent.length);
			client.failed(Failed { handle, seq: key.1, offset, length, errno: *errno });
		}
	}
}

pub fn written_reply(writing: &Writing, level: u8) -> Reply {
	match writing.offset {
		Some(offset) => Reply::Append { offset, level },
		None => Reply::Write { bytes: writing.total, level },
	}
}

/// Accesses to the store.
#[derive(Default)]
pub struct Accesses {
	pub writes: u64,
	pub reads: u64,
}

/// Of each piece what failed.
type Failures = Vec<Vec<(Extent, Trouble)>>;

/// What holds for all pieces of a write.
pub struct WriteMode {
	/// A reply or an append's journal says that they are written: they must outlive this process.
	through: bool,
	/// What is beyond the file's end was handed out by its owner.
	granted: bool,
}

/// Write pieces with as few accesses as they allow. What fails together is tried apart, so that exact ranges are named.
pub fn write(
	store: &Store,
	handle: Handle,
	object: &Object,
	pieces: Vec<Piece>,
	how: WriteMode,
) -> Done {
	let mut failed = vec![Vec::new(); pieces.len()];
	let runs = runs(&pieces);
	let stretches = match object {
		Object::Striped(_) | Object::Upstream(_) => {
			runs.iter().map(|run| stretch(&pieces, run)).collect()
		}
		_ => Vec::new(),
	};
	let mut accesses = Accesses { writes: runs.len() as u64, reads: 0 };
	if let Some(lost) = store.write_list(object, &stretches, how.granted) {
		let none = |trouble| {
			runs.iter().map(|run| vec![(run.extent(), Trouble::clone(&trouble))]).collect()
		};
		let lost: Vec<_> = lost.unwrap_or_else(none);
		runs.iter().zip(&lost).for_each(|(run, lost)| blame(run, lost, &mut failed));
	} else {
		accesses = write_runs(store, object, (&pieces, &runs), &mut failed);
	}
	drop(runs);
	if how.through {
		flush(store, object, &pieces, &mut failed);
	}
	Done::Written(handle, pieces.into_iter().zip(failed).collect(), accesses)
}

/// Those that are near each other together, where that is allowed and goes well; the others one by one.
fn write_runs(
	store: &Store,
	object: &Object,
	(pieces, runs): (&[Piece], &[Run<'_>]),
	failed: &mut Failures,
) -> Accesses {
	let mut accesses = Accesses::default();
	let purpose = fathom_record::works_for_what();
	for group in sieving::groups(runs, store.fills_gaps(object)) {
		if group.len() > 1 {
			let all = || group.iter().flat_map(|run| callers(pieces, &run.parts)).collect();
			let begins = || fathom_record::puts_together(all);
			accesses.reads += 1;
			accesses.writes += 1;
			if sieving::write(store, object, (group, purpose.clone()), begins).is_ok() {
				continue;
			}
		}
		let one = |run| write_run(store, object, (pieces, run), failed);
		accesses.writes += group.iter().map(one).sum::<u64>();
	}
	accesses
}

/// One access, or one for each part if it fails; how many.
fn write_run(
	store: &Store,
	object: &Object,
	(pieces, run): (&[Piece], &Run<'_>),
	failed: &mut Failures,
) -> u64 {
	let parts: Vec<&[u8]> = run.parts.iter().map(|part| part.bytes).collect();
	fathom_record::puts_together(|| callers(pieces, &run.parts));
	let Err(trouble) = store.write(object, &parts, run.offset) else { return 1 };
	if run.parts.len() == 1 {
		blame(run, &[(run.extent(), trouble)], failed);
		return 1;
	}
	let mut offset = run.offset;
	for part in &run.parts {
		fathom_record::puts_together(|| callers(pieces, &[*part]));
		let length = part.bytes.len() as u64;
		let lost = store.write(object, &[part.bytes], offset).err();
		failed[part.piece].extend(lost.map(|trouble| (Extent { offset, length }, trouble)));
		offset += length;
	}
	1 + run.parts.len() as u64
}

/// These are not lost with this process any more; which bytes a store did not take that it kept, it does not say.
fn flush(store: &Store, object: &Object, pieces: &[Piece], failed: &mut [Vec<(Extent, Trouble)>]) {
	fathom_record::serves(pieces.iter().flat_map(|piece| piece.callers.clone()).collect());
	let Err(trouble) = store.flush(object) else { return };
	for (piece, failed) in pieces.iter().zip(failed) {
		*failed = piece.extents.iter().map(|extent| (*extent, trouble.clone())).collect();
	}
}

fn stretch<'a>(pieces: &[Piece], run: &Run<'a>) -> Stretch<'a> {
	let parts = run.parts.iter().map(|part| part.bytes).collect();
	Stretch { offset: run.offset, parts, callers: callers(pieces, &run.parts) }
}

/// Whose bytes the ranges are that failed.
fn blame(run: &Run<'_>, lost: &[(Extent, Trouble)], failed: &mut [Vec<(Extent, Trouble)>]) {
	let mut at = run.offset;
	for Part { piece, bytes, .. } in &run.parts {
		let end = at + bytes.len() as u64;
		for (range, trouble) in lost {
			let (from, to) = (range.offset.max(at), range.end().min(end));
			if from < to {
				let range = Extent { offset: from, length: to - from };
				failed[*piece].push((range, trouble.clone()));
			}
		}
		at = end;
	}
}

/// The calls whose bytes these are, in their order.
fn callers(pieces: &[Piece], parts: &[Part<'_>]) -> Vec<Caller> {
	let of = |part: &Part<'_>| {
		let range = part.at..part.at + part.bytes.len() as u64;
		fathom_record::cut(&pieces[part.piece].callers, range)
	};
	parts.iter().flat_map(of).collect()
}
