//! What a server records of itself: a row for each request, once it is done, with the client's call that it serves.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fathom_record::{Purpose, Request as Row};
use fathom_wire::number::{hint, op, status};
use fathom_wire::{Extent, Handle, Request};

use crate::answers::request_path;
use crate::callers::{caller_of, callers_of};
use crate::client::{Doing, Pending};
use crate::clock;
use crate::done::Done;
use crate::files::Files;
use crate::queue::Key;
use crate::server::Server;
use crate::store::{Object, Store};
use crate::workers::Work;

/// What operations are called, in messages and in the trace.
const NAMES: [(u16, &CStr); 33] = [
	(op::PING, c"ping"),
	(op::STATUS, c"status"),
	(op::RECORD, c"record"),
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
	(op::LOCK, c"lock"),
	(op::UNLOCK, c"unlock"),
	(op::LOCKED, c"locked"),
	(op::CALL, c"call"),
	(op::SEEK, c"seek"),
	(op::ALLOCATE, c"allocate"),
	(op::GETXATTR, c"getxattr"),
	(op::SETXATTR, c"setxattr"),
	(op::LISTXATTR, c"listxattr"),
	(op::REMOVEXATTR, c"removexattr"),
];

/// Whether the protocol has an operation of that name.
pub fn is_operation(name: &str) -> bool {
	NAMES.iter().any(|(_, known)| known.to_bytes() == name.as_bytes())
}

pub fn name_of(op: u16) -> &'static str {
	let named = NAMES.iter().find(|(number, _)| *number == op);
	named.and_then(|(_, name)| name.to_str().ok()).unwrap_or("request")
}

/// Number in the trace of what is done by asking other servers. It is none of an operation here: theirs are rows too.
fn relayed(op: u16) -> Option<u32> {
	fathom_record::op(match op {
		op::READ => c"relay_read",
		op::WRITE | op::APPEND => c"relay_write",
		_ => c"relay",
	})
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

/// The path by which programs know the file that a request is about, where the store calls it otherwise: what another server
/// says, or, on striped files, its path below `mount`.
fn known_as(files: &mut Files, pending: &Pending, mount: Option<&Path>) -> Option<Arc<CStr>> {
	if !fathom_record::is_on() {
		return None;
	}
	let elsewhere = files.get(&pending.handle).is_some_and(|file| file.object.is_elsewhere());
	let below = |mount: &Path| mount.join(request_path(files, pending)).into_os_string().into_vec();
	let hinted = pending.hints.value(hint::KNOWN_AS).map(<[u8]>::to_vec);
	let path = hinted.or_else(|| mount.filter(|_| elsewhere).map(below))?;
	CString::new(path).ok().map(Arc::from)
}

/// A request is done, with this status.
pub fn record(files: &mut Files, pending: &Pending, status: u32, mount: Option<&Path>) {
	if !fathom_record::is_on() {
		return;
	}
	let file = files.get(&pending.resolved.unwrap_or(pending.handle));
	let (place, relays, elsewhere) = file.map_or((-1, false, false), |file| {
		let relays = matches!(*file.object, Object::Striped(_) | Object::Upstream(_));
		(i64::from(file.object.place().file), relays, file.object.is_elsewhere())
	});
	let op = match pending.header.op {
		op::PING | op::STATUS | op::RECORD => traced(pending.header.op),
		op if relays => relayed(op),
		op => traced(op),
	};
	let op = match &pending.doing {
		Doing::PluginCall(call) => call.plugin_op.traced,
		_ => op,
	};
	let Some(op) = op else { return };
	let (first, pulled) = match &pending.doing {
		Doing::Writing(writing) => writing.pulls.took(),
		_ => Default::default(),
	};
	let until = pending.begun.map_or(Duration::ZERO, |begun| begun - pending.arrived.at);
	let queued = until.saturating_sub(first).as_nanos() as i64;
	let (size, offset, moved) = extent_of(pending);
	let moved = if status == status::OK { moved } else { 0 };
	let callers = match pending.doing {
		Doing::Writing(_) => callers_of(&pending.header, &pending.hints, 0..moved),
		_ => vec![caller_of(&pending.header, moved)],
	};
	let known_as = known_as(files, pending, mount.filter(|_| elsewhere));
	fathom_record::request(&Row {
		op,
		error: status as i32,
		file: place,
		arrived: pending.arrived.traced,
		queued,
		pulled: pulled.as_nanos() as i64,
		size: size as i64,
		offset: offset as i64,
		bytes: moved as i64,
		known_as: known_as.as_deref(),
		callers: &fathom_record::sums(&callers),
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
	/// What is done for a request, which moves so many bytes: the call that it serves, and its file.
	pub fn purpose(&mut self, key: Key, bytes: u64) -> Purpose {
		if !fathom_record::is_on() {
			return Purpose::default();
		}
		let pending = self.clients.get(&key.0).and_then(|client| client.pending().get(&key.1));
		let Some(pending) = pending else { return Purpose::default() };
		let known_as = known_as(&mut self.files, pending, self.settings.mount.as_deref());
		Purpose::of(caller_of(&pending.header, bytes), known_as)
	}

	/// Something to do with the store for a request.
	pub fn do_for(&mut self, key: Key, work: Work<Done>) {
		let purpose = self.purpose(key, 0);
		let handle = self.pending(key).map_or(Handle::ROOT, |pending| pending.handle);
		let work = self.for_origin(key, work);
		self.workers_of(&handle).give(purpose, work);
	}

	/// Something that cannot block: this thread does it. What came of it is taken before the next request.
	pub fn do_inline(&mut self, key: Key, work: impl FnOnce(&Store) -> Done) {
		let began = clock::now();
		fathom_record::works_for(self.purpose(key, 0));
		self.done_inline.push_back((began, work(&self.store)));
	}

	/// The requests that something was done for have waited until then.
	pub fn begun(&mut self, done: &Done, began: Instant) {
		if !fathom_record::is_on() {
			return;
		}
		let keys: Vec<Key> = match done {
			Done::Simple(key, ..) | Done::Truncated(key, _) => vec![*key],
			Done::Partial(key, _) | Done::Size(_, key, _) => vec![*key],
			Done::Read(key, ..) | Done::Synced(key, ..) | Done::Relayed(key, ..) => vec![*key],
			Done::WithData(key, _) | Done::FoundAgain(key, ..) => vec![*key],
			Done::Written(_, pieces, _) => pieces.iter().map(|(piece, _)| piece.key).collect(),
			Done::Journal(..) | Done::Journaled(..) | Done::Asked(..) => return,
			Done::Resolved(question, _) => self.waiters(question),
			Done::Attr(keys, _) => keys.clone(),
			Done::Filled(handle, block, _) => self.cache.waiting(handle, *block),
			Done::Released | Done::Freed(_) | Done::Followed(..) | Done::CredentialChecked(..) => {
				return;
			}
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
