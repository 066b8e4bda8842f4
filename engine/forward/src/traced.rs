//! What a server records of itself: a row for each request, once it is done, with the client's call that it serves.

use std::ffi::CStr;
use std::sync::OnceLock;
use std::time::Instant;

use fathom_record::{Caller, Request as Row};
use fathom_wire::number::{op, status};
use fathom_wire::{Extent, Handle, Header, Request};

use crate::client::{Doing, Pending};
use crate::files::Files;
use crate::queue::Key;
use crate::server::{Done, Server};
use crate::store::Store;
use crate::workers::Work;

/// What operations are called, in messages and in the trace.
const NAMES: [(u16, &CStr); 22] = [
	(op::PING, c"ping"),
	(op::STATUS, c"status"),
	(op::LOOKUP, c"lookup"),
	(op::OPEN, c"open"),
	(op::RELEASE, c"release"),
	(op::GETATTR, c"getattr"),
	(op::SETATTR, c"setattr"),
	(op::RENAME, c"rename"),
	(op::LINK, c"link"),
	(op::UNLINK, c"unlink"),
	(op::MKDIR, c"mkdir"),
	(op::RMDIR, c"rmdir"),
	(op::READDIR, c"readdir"),
	(op::SYMLINK, c"symlink"),
	(op::READLINK, c"readlink"),
	(op::STATFS, c"statfs"),
	(op::MKNOD, c"mknod"),
	(op::READ, c"read"),
	(op::WRITE, c"write"),
	(op::APPEND, c"append"),
	(op::COMMIT, c"commit"),
	(op::GAPS, c"gaps"),
];

pub fn name_of(op: u16) -> &'static str {
	let named = NAMES.iter().find(|(number, _)| *number == op);
	named.and_then(|(_, name)| name.to_str().ok()).unwrap_or("request")
}

/// Number in the trace of each operation, by its number in the protocol.
fn traced(op: u16) -> Option<u32> {
	static NUMBERS: OnceLock<Vec<Option<u32>>> = OnceLock::new();
	let numbers = NUMBERS.get_or_init(|| {
		let last = NAMES.iter().map(|(number, _)| *number).max().unwrap_or(0);
		let mut numbers = vec![None; usize::from(last) + 1];
		for (number, name) in NAMES {
			numbers[usize::from(number)] = fathom_record::op(name);
		}
		numbers
	});
	numbers.get(usize::from(op)).copied().flatten()
}

/// The client's call behind a request.
pub fn caller_of(header: &Header, bytes: u64) -> Caller {
	Caller { stream: header.call_stream, seq: header.call_seq, bytes }
}

/// A request is done, with this status.
pub fn record(files: &mut Files, pending: &Pending, status: u32) {
	if !fathom_record::is_on() {
		return;
	}
	let Some(op) = traced(pending.header.op) else { return };
	let file = files.get(&pending.met.unwrap_or(pending.handle));
	let queued = pending.begun.map_or(0, |begun| (begun - pending.arrived.at).as_nanos() as i64);
	let (size, offset, moved) = extent_of(pending);
	let bytes = if status == status::OK { moved as i64 } else { 0 };
	fathom_record::request(&Row {
		op,
		error: status as i32,
		file: file.map_or(-1, |file| i64::from(file.object.place().file)),
		arrived: pending.arrived.traced,
		queued,
		size: size as i64,
		offset: offset as i64,
		bytes,
		caller: caller_of(&pending.header, 0),
	});
}

/// Bytes asked for, where they begin, bytes moved if all went well.
fn extent_of(pending: &Pending) -> (u64, u64, u64) {
	let first = |extents: &[Extent]| extents.first().map_or(0, |extent| extent.offset);
	match (&pending.request, &pending.doing) {
		(Request::Read { extents, .. }, Doing::Reading(reading)) => {
			let size = extents.iter().map(|extent| extent.length).sum();
			(size, first(extents), reading.lengths.iter().sum())
		}
		(_, Doing::Writing(writing)) => {
			let offset = writing.offset.unwrap_or_else(|| first(&writing.extents));
			(writing.total, offset, writing.total)
		}
		_ => (0, 0, 0),
	}
}

impl Server {
	/// The call that a request serves.
	pub fn caller(&mut self, key: Key) -> Caller {
		self.pending(key).map_or_else(Caller::default, |p| caller_of(&p.header, 0))
	}

	/// Something to do with the store for a request.
	pub fn do_for(&mut self, key: Key, work: Work<Done>) {
		let caller = self.caller(key);
		let handle = self.pending(key).map_or(Handle::ROOT, |pending| pending.handle);
		self.workers_of(&handle).give(caller, work);
	}

	/// Something that cannot block: this thread does it. What came of it is taken before the next request.
	pub fn do_here(&mut self, caller: Caller, work: impl FnOnce(&Store) -> Done) {
		let began = Instant::now();
		fathom_record::works_for(vec![caller], false);
		self.done_here.push_back((began, work(&self.store)));
	}

	/// The requests that something was done for have waited until then.
	pub fn begun(&mut self, done: &Done, began: Instant) {
		if !fathom_record::is_on() {
			return;
		}
		let keys: Vec<Key> = match done {
			Done::Simple(key, ..) | Done::Some(key, _) | Done::Size(_, key, _) => vec![*key],
			Done::Read(key, ..) | Done::Synced(key, ..) => vec![*key],
			Done::Written(_, pieces, _) => pieces.iter().map(|(piece, _)| piece.key).collect(),
			Done::Journal(..) | Done::Journaled(..) | Done::Asked(..) => return,
			Done::LetGo | Done::Freed(_) => return,
		};
		for key in keys {
			if let Some(pending) = self.pending(key) {
				pending.begun.get_or_insert(began);
			}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn every_operation_has_a_row_in_the_trace() {
		for (number, name) in NAMES {
			assert!(traced(number).is_some(), "{name:?}");
		}
		assert_eq!(name_of(op::APPEND), "append");
		assert_eq!(name_of(0), "request");
	}
}
