//! Servers that know nothing of Fathom do not know whose calls they served: file, bytes and time say it. Links from
//! their rows to the lowest calls on the same file, each with how sure it is. Two kinds are known: those that were asked
//! (OSDs) have rows of their own in layer `server`; bricks were recorded, and what they do to their copy of a file counts.
//!
//! A file's life is followed in the order of time. What a call writes is dirty from its begin until a server's write
//! takes it; what a server read is there from its begin on, until a call reads it.

use std::collections::{BTreeSet, HashMap, HashSet};

use fathom_stream::{Link, link_kind};
use serde::{Deserialize, Serialize};

use crate::bricks::Bricks;
use crate::clock::Line;
use crate::columns::{CallRow, LinkColumns, StreamFacts, has};
use crate::define::Op;
use crate::extents::{Bytes, Extents, Taken};
use crate::marks::MarkRow;
use crate::merged::Merged;

/// Percent, to be shared by all calls that it may have been. File, bytes and time agree; it waited for bytes of its own process that others' could have been among;
/// bytes agree, time does not; the place in the file is not known.
const IN_TIME: u32 = 90;
const WAITED: u32 = 80;
const OUT_OF_TIME: u32 = 60;
const NO_PLACE: u32 = 50;

/// Calls of a run that are looked at, at most: 300 MiB.
const MOST: usize = 4 << 20;

/// What an op does to a file, and on which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum AccessKind {
	Nothing,
	Read,
	Write,
	/// May wait until what others wrote is stored: sync, close.
	Waits,
	/// An operation of a server.
	ServerRead,
	ServerWrite,
}

/// Where the args `unit` and `stride` are of a server that reports its operations itself.
type Striped = Option<(usize, usize)>;

impl AccessKind {
	fn of(op: &Op) -> (AccessKind, Striped) {
		let field = |name: &str| op.fields.iter().position(|field| field == name);
		let access_kind = match (op.layer.as_str(), op.kind.as_str()) {
			("server", kind @ ("read" | "write")) => {
				let by_server =
					if kind == "read" { AccessKind::ServerRead } else { AccessKind::ServerWrite };
				return match (field("unit"), field("stride")) {
					(Some(unit), Some(stride)) => (by_server, Some((unit, stride))),
					_ => (AccessKind::Nothing, None),
				};
			}
			("posix" | "stdio" | "aio" | "disk", "read") => AccessKind::Read,
			("posix" | "stdio" | "aio" | "disk", "write") => AccessKind::Write,
			("posix" | "stdio" | "aio" | "disk", "sync" | "close") => AccessKind::Waits,
			_ => AccessKind::Nothing,
		};
		(access_kind, None)
	}

	fn is_by_server(self) -> bool {
		matches!(self, AccessKind::ServerRead | AccessKind::ServerWrite)
	}

	/// What a brick's access is.
	fn of_brick(self) -> AccessKind {
		match self {
			AccessKind::Read => AccessKind::ServerRead,
			AccessKind::Write => AccessKind::ServerWrite,
			_ => AccessKind::Nothing,
		}
	}
}

/// A call or a server's operation on a file that both have.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct FileAccess {
	file: u32,
	stream: u32,
	process: u32,
	kind: AccessKind,
	seq: u64,
	start: i64,
	stop: i64,
	length: i64,
	bytes: Option<Bytes>,
	/// The process of the brick. A brick has files whole, and others may have the same; OSDs have parts of them.
	brick: Option<u32>,
}

/// Which calls are to be looked at: those on files that a server has.
#[derive(Debug, Default)]
pub struct Watched {
	op_kinds: Vec<(AccessKind, Striped)>,
	/// By file: the one that it counts as.
	files: Vec<Option<u32>>,
	/// Servers that report their operations themselves.
	server_processes: HashSet<u32>,
	/// Processes that are bricks, and since when they were looked at.
	bricks: HashMap<u32, i64>,
	/// Files that bricks store clients' files in.
	brick_files: HashSet<u32>,
}

impl Watched {
	pub fn new(merged: &Merged, lines: &[Line]) -> Watched {
		let op_kinds: Vec<_> = merged.ops.iter().map(AccessKind::of).collect();
		let has_server_op = |op: &Op| {
			merged.op_numbers.get(op).is_some_and(|&op| op_kinds[usize::from(op)].0.is_by_server())
		};
		let mut server_processes = HashSet::new();
		let mut files = vec![None; merged.files.rows.len()];
		for image in
			merged.images.iter().filter(|i| i.survey.definitions.ops.values().any(has_server_op))
		{
			server_processes.extend(&image.processes);
			for file in image.objects.iter().filter_map(|object| object.1) {
				files[file as usize] = Some(file);
			}
		}
		let bricks = Bricks::find(merged);
		for (&file, &same) in bricks.files.iter().chain(&bricks.clients) {
			files[file as usize] = Some(same);
		}
		let brick_files = bricks.files.into_keys().collect();
		let since = |(clock, tick): (usize, u64)| lines[clock].ns(tick);
		let bricks = bricks.processes.iter().map(|(&process, &at)| (process, since(at))).collect();
		Watched { op_kinds, files, server_processes, bricks, brick_files }
	}

	#[inline]
	pub fn note(
		&self,
		call: &CallRow,
		fields: &[i64],
		facts: &StreamFacts,
		accesses: &mut FileAccesses,
	) {
		let file = call.if_has(has::FILE, call.file).unwrap_or(u32::MAX);
		if let Some(Some(same)) = self.files.get(file as usize) {
			self.note_of_file(*same, call, fields, facts, accesses);
		}
	}

	/// What it is, and the brick whose it is.
	fn kind_of(&self, call: &CallRow, process: u32) -> (AccessKind, Striped, Option<u32>) {
		let none = (AccessKind::Nothing, None);
		let (kind, striped) = self.op_kinds.get(usize::from(call.op)).copied().unwrap_or(none);
		if self.bricks.contains_key(&process) {
			return (kind.of_brick(), None, Some(process));
		}
		// A server's access to its store, or somebody else's.
		if kind.is_by_server() != self.server_processes.contains(&process)
			|| self.brick_files.contains(&call.file)
		{
			return (AccessKind::Nothing, None, None);
		}
		(kind, striped, None)
	}

	fn note_of_file(
		&self,
		same: u32,
		call: &CallRow,
		fields: &[i64],
		facts: &StreamFacts,
		accesses: &mut FileAccesses,
	) {
		let (kind, striped, brick) = self.kind_of(call, facts.process);
		if kind == AccessKind::Nothing || call.error != 0 || call.start == i64::MIN {
			return;
		}
		if accesses.all.len() >= MOST {
			accesses.left_out += 1;
			return;
		}
		let field = |at: usize| fields.get(at).copied().unwrap_or(0);
		let (unit, stride) = striped.map_or((0, 0), |at| (field(at.0), field(at.1)));
		let length = if call.valid & has::BYTES != 0 { call.bytes.max(0) } else { 0 };
		let placed = call.valid & has::OFFSET != 0 && call.offset >= 0;
		accesses.all.push(FileAccess {
			file: same,
			stream: facts.stream,
			process: facts.process,
			kind,
			seq: call.seq,
			start: call.start,
			stop: call.start.saturating_add(call.duration),
			length,
			bytes: placed.then_some(Bytes { offset: call.offset, length, unit, stride }),
			brick,
		});
	}
}

/// The accesses noted so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FileAccesses {
	all: Vec<FileAccess>,
	left_out: i64,
}

impl FileAccesses {
	pub fn add(&mut self, other: FileAccesses) {
		let room = MOST.saturating_sub(self.all.len());
		self.left_out += other.left_out + other.all.len().saturating_sub(room) as i64;
		self.all.extend(other.all.into_iter().take(room));
	}
}

/// The links, and how many calls were not looked at.
pub fn find(merged: &Merged, watched: &Watched, accesses: FileAccesses) -> (LinkColumns, i64) {
	let ids: HashMap<u32, u64> = merged.streams.iter().map(|(id, index)| (*index, *id)).collect();
	let FileAccesses { mut all, left_out } = accesses;
	all.sort_by_key(|access| (access.file, access.start, access.stream, access.seq));
	let mut links = LinkColumns::default();
	for of_file in all.chunk_by(|a, b| a.file == b.file) {
		let servers: BTreeSet<Option<u32>> = of_file
			.iter()
			.filter(|access| access.kind.is_by_server())
			.map(|access| access.brick)
			.collect();
		for server in servers {
			let begin = server.and_then(|brick| watched.bricks.get(&brick)).copied();
			let seen = seen_by(server, begin.unwrap_or(i64::MIN), of_file);
			for ServerLink { from, to, kind, bytes, percent } in links_of_file(&seen) {
				let id = |access: &FileAccess| u64::from(access.stream) << 40 | access.seq;
				let to_stream = ids.get(&to.stream).copied().unwrap_or(0);
				let link = Link { seq: 0, to_stream, to_seq: to.seq, kind, bytes, percent };
				links.push(id(from), Some(id(to)), &link);
			}
		}
	}
	(links, left_out)
}

/// The calls that this brick may have served, or the OSDs, and what it did.
fn seen_by(brick: Option<u32>, begin: i64, all: &[FileAccess]) -> Vec<FileAccess> {
	let relevant = |access: &&FileAccess| {
		if access.kind.is_by_server() { access.brick == brick } else { access.stop > begin }
	};
	all.iter().filter(relevant).copied().collect()
}

/// For the run's log.
pub fn mark(left_out: i64) -> Option<MarkRow> {
	(left_out > 0).then(|| MarkRow {
		kind: "links".into(),
		detail: format!(
			"{left_out} calls and servers' operations more than are looked at: not linked"
		),
		value: left_out,
		..MarkRow::default()
	})
}

struct ServerLink<'m> {
	from: &'m FileAccess,
	to: &'m FileAccess,
	kind: u32,
	bytes: u64,
	percent: u32,
}

/// Of one file, calls and operations in the order of their starts.
fn links_of_file(all: &[FileAccess]) -> Vec<ServerLink<'_>> {
	let waits = Waits::new(all);
	// The cache in front of OSDs forgets what is written over; GlusterFS sends it all on, in its order.
	let each_stored = all.iter().any(|access| access.brick.is_some());
	let (mut dirty, mut fetched) = (Extents::default(), Extents::default());
	let mut links = Vec::new();
	for (at, access) in in_order(all) {
		match (access.kind, access.bytes) {
			(AccessKind::Write, Some(bytes)) => {
				dirty.put(bytes, at, |before| each_stored || all[before].stop > access.start);
			}
			(AccessKind::ServerRead, Some(bytes)) => fetched.put(bytes, at, |_| each_stored),
			(AccessKind::ServerWrite, bytes) => {
				let first = |owners: &mut Vec<usize>| first_of_each(all, owners);
				let owners = bytes.map(|bytes| dirty.take(bytes, first)).unwrap_or_default();
				link_write(all, access, &owners, &waits, &mut links);
			}
			(AccessKind::Read, Some(bytes)) => {
				let current = |owners: &mut Vec<usize>| current_or_last(all, access, owners);
				for taken in fetched.take(bytes, current) {
					links.push(link_read(&all[taken.owner], access, taken));
				}
			}
			_ => {}
		}
	}
	links.extend(without_place(all));
	links
}

/// A call's write counts from its start, its read at its end: what a server did for it has begun by then.
fn in_order(all: &[FileAccess]) -> Vec<(usize, &FileAccess)> {
	let mut order: Vec<(usize, &FileAccess)> = all.iter().enumerate().collect();
	order.sort_by_key(|(at, access)| {
		(if access.kind == AccessKind::Read { access.stop } else { access.start }, *at)
	});
	order
}

fn overlap(a: &FileAccess, b: &FileAccess) -> bool {
	a.start < b.stop && b.start < a.stop
}

/// Whose write can be the next to be stored: of each process those that began before its earliest one had ended.
fn first_of_each(all: &[FileAccess], owners: &mut [usize]) -> Vec<usize> {
	let waits_for = |&earlier: &usize, &later: &usize| {
		all[earlier].process == all[later].process && all[earlier].stop <= all[later].start
	};
	let first = |later: &&usize| !owners.iter().any(|earlier| waits_for(earlier, later));
	owners.iter().filter(first).copied().collect()
}

/// What a call read is what was fetched while it was there, else what was fetched last; all before is out of date.
fn current_or_last(all: &[FileAccess], call: &FileAccess, owners: &mut Vec<usize>) -> Vec<usize> {
	let last = owners.last().copied();
	owners.retain(|&owner| overlap(&all[owner], call));
	if owners.is_empty() {
		owners.extend(last);
	}
	owners.clone()
}

/// A server's write of bytes that these calls wrote: it served those that were still at it, and what waited for it.
fn link_write<'m>(
	all: &'m [FileAccess],
	operation: &'m FileAccess,
	owners: &[Taken],
	waits: &Waits<'m>,
	links: &mut Vec<ServerLink<'m>>,
) {
	let link = |taken: &Taken, kind, percent| {
		let percent = taken.share(percent);
		ServerLink { from: operation, to: &all[taken.owner], kind, bytes: taken.bytes, percent }
	};
	let in_progress = |taken: &&Taken| overlap(&all[taken.owner], operation);
	links.extend(
		owners.iter().filter(in_progress).map(|taken| link(taken, link_kind::SERVES, IN_TIME)),
	);
	let returned: Vec<&Taken> = owners.iter().filter(|taken| !in_progress(taken)).collect();
	if returned.is_empty() {
		return;
	}
	let of_these_processes =
		|wait: &&FileAccess| returned.iter().any(|taken| all[taken.owner].process == wait.process);
	let waited: Vec<&FileAccess> = waits.for_all_of(operation).filter(of_these_processes).collect();
	let kind = if waited.is_empty() { link_kind::SERVES } else { link_kind::CARRIES };
	links.extend(returned.iter().map(|taken| link(taken, kind, OUT_OF_TIME)));
	for to in waited {
		let of_process = returned.iter().filter(|taken| all[taken.owner].process == to.process);
		let percent = of_process.clone().map(|taken| taken.share(WAITED)).min().unwrap_or(WAITED);
		let bytes = of_process.map(|taken| taken.bytes).sum();
		links.push(ServerLink { from: operation, to, kind: link_kind::SERVES, bytes, percent });
	}
}

/// A server's read of bytes that a call got: it served a call that was there, else the bytes were there before.
fn link_read<'m>(operation: &'m FileAccess, call: &'m FileAccess, taken: Taken) -> ServerLink<'m> {
	let (kind, percent) = if overlap(operation, call) {
		(link_kind::SERVES, IN_TIME)
	} else {
		(link_kind::MATCHED, OUT_OF_TIME)
	};
	ServerLink {
		from: operation,
		to: call,
		kind,
		bytes: taken.bytes,
		percent: taken.share(percent),
	}
}

/// Where one side's place is not known: the one call that was at it meanwhile, in the same direction.
fn without_place(all: &[FileAccess]) -> impl Iterator<Item = ServerLink<'_>> {
	let operations = all.iter().filter(|access| access.kind.is_by_server() && access.length > 0);
	operations.filter_map(|operation| {
		let side = if matches!(operation.kind, AccessKind::ServerRead) {
			AccessKind::Read
		} else {
			AccessKind::Write
		};
		let end = all.partition_point(|access| access.start < operation.stop);
		let same = |access: &&FileAccess| access.kind == side && overlap(access, operation);
		let mut candidates = all[end.saturating_sub(MOST_CANDIDATES)..end].iter().filter(same);
		let to = candidates.next()?;
		let known = operation.bytes.is_some() && to.bytes.is_some();
		let bytes = operation.length.min(to.length).unsigned_abs();
		let link =
			ServerLink { from: operation, to, kind: link_kind::SERVES, bytes, percent: NO_PLACE };
		(!known && candidates.next().is_none()).then_some(link)
	})
}

/// Calls before an operation's end that are looked at for one that has no place.
const MOST_CANDIDATES: usize = 256;

/// Calls that may wait for bytes to be stored, by start, each with the latest end up to it.
struct Waits<'m> {
	all: Vec<(&'m FileAccess, i64)>,
}

impl<'m> Waits<'m> {
	fn new(all: &'m [FileAccess]) -> Waits<'m> {
		let mut latest = i64::MIN;
		let waits = all.iter().filter(|access| access.kind == AccessKind::Waits);
		let all = waits.map(|access| {
			latest = latest.max(access.stop);
			(access, latest)
		});
		Waits { all: all.collect() }
	}

	/// Those that were there while it went on, and ended no earlier.
	fn for_all_of(&self, operation: &FileAccess) -> impl Iterator<Item = &'m FileAccess> {
		let end = self.all.partition_point(|(access, _)| access.start < operation.stop);
		let before =
			self.all[..end].iter().rev().take_while(move |entry| entry.1 >= operation.stop);
		let stop = operation.stop;
		before.map(|(access, _)| *access).filter(move |access| access.stop >= stop)
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	fn access(
		kind: AccessKind,
		(start, stop): (i64, i64),
		(offset, length): (i64, i64),
	) -> FileAccess {
		let bytes = Some(Bytes { offset, length, unit: 0, stride: 0 });
		FileAccess {
			file: 0,
			stream: 0,
			process: 0,
			kind,
			seq: start as u64,
			start,
			stop,
			length,
			bytes,
			brick: None,
		}
	}

	fn links(all: &[FileAccess]) -> Vec<(u64, u64, u32, u64, u32)> {
		links_of_file(all)
			.iter()
			.map(|m| (m.from.seq, m.to.seq, m.kind, m.bytes, m.percent))
			.collect()
	}

	const SERVER_WRITE: AccessKind = AccessKind::ServerWrite;

	#[test]
	fn a_write_that_waits_is_served() {
		let all =
			[access(AccessKind::Write, (0, 100), (0, 10)), access(SERVER_WRITE, (20, 90), (0, 10))];
		assert_eq!(links(&all), [(20, 0, link_kind::SERVES, 10, 90)]);
	}

	#[test]
	fn who_waits_for_what_was_kept_is_served_and_the_bytes_are_the_writes() {
		let all = [
			access(AccessKind::Write, (0, 5), (0, 10)),
			access(AccessKind::Write, (6, 9), (10, 10)),
			access(AccessKind::Waits, (20, 100), (0, 0)),
			access(SERVER_WRITE, (25, 90), (0, 20)),
		];
		assert_eq!(
			links(&all),
			[
				(25, 0, link_kind::CARRIES, 10, 60),
				(25, 6, link_kind::CARRIES, 10, 60),
				(25, 20, link_kind::SERVES, 20, 80)
			]
		);
	}

	#[test]
	fn where_nobody_waits_the_write_is_served_after_it_returned() {
		let all =
			[access(AccessKind::Write, (0, 5), (0, 10)), access(SERVER_WRITE, (25, 90), (0, 10))];
		assert_eq!(links(&all), [(25, 0, link_kind::SERVES, 10, 60)]);
	}

	#[test]
	fn a_read_is_served_when_it_waits_and_matched_when_bytes_came_before() {
		let server_read = AccessKind::ServerRead;
		let all = [
			access(AccessKind::Read, (0, 100), (0, 10)),
			access(server_read, (20, 90), (0, 20)),
			access(AccessKind::Read, (110, 120), (10, 10)),
		];
		assert_eq!(
			links(&all),
			[(20, 0, link_kind::SERVES, 10, 90), (20, 110, link_kind::MATCHED, 10, 60)]
		);
	}

	#[test]
	fn what_has_no_place_is_the_one_call_of_that_time() {
		let mut append = access(AccessKind::Write, (0, 100), (0, 10));
		append.bytes = None;
		let operation = access(SERVER_WRITE, (20, 90), (70, 10));
		assert_eq!(links(&[append, operation]), [(20, 0, link_kind::SERVES, 10, 50)]);
		let other = FileAccess { seq: 1, ..append };
		assert_eq!(links(&[append, other, operation]), []);
	}

	fn of_brick(process: u32, all: &mut [FileAccess]) {
		all.iter_mut()
			.filter(|access| access.kind.is_by_server())
			.for_each(|access| access.brick = Some(process));
	}

	#[test]
	fn two_that_write_the_same_at_once_share_the_confidence() {
		let first = access(AccessKind::Write, (0, 100), (0, 10));
		let other = FileAccess { process: 1, ..access(AccessKind::Write, (1, 100), (0, 10)) };
		let all = [
			first,
			other,
			access(SERVER_WRITE, (20, 30), (0, 10)),
			access(SERVER_WRITE, (40, 50), (0, 10)),
		];
		let each = |seq| [(seq, 0, link_kind::SERVES, 10, 45), (seq, 1, link_kind::SERVES, 10, 45)];
		assert_eq!(links(&all), [each(20), each(40)].concat());
	}

	#[test]
	fn a_brick_stores_what_was_written_over_too_in_its_order() {
		let mut all = [
			access(AccessKind::Write, (0, 5), (0, 10)),
			access(AccessKind::Write, (6, 9), (0, 10)),
			access(SERVER_WRITE, (25, 30), (0, 10)),
			access(SERVER_WRITE, (35, 40), (0, 10)),
		];
		assert_eq!(links(&all), [(25, 6, link_kind::SERVES, 10, 60)], "a cache forgot the first");
		of_brick(7, &mut all);
		assert_eq!(
			links(&all),
			[(25, 0, link_kind::SERVES, 10, 60), (35, 6, link_kind::SERVES, 10, 60)]
		);
	}

	#[test]
	fn each_brick_of_a_replica_has_it_from_when_it_was_looked_at() {
		let mut all = [
			access(AccessKind::Write, (0, 5), (0, 10)),
			access(AccessKind::Write, (10, 100), (0, 10)),
			access(SERVER_WRITE, (20, 30), (0, 10)),
			access(SERVER_WRITE, (40, 50), (0, 10)),
		];
		of_brick(7, &mut all[..3]);
		of_brick(8, &mut all[3..]);
		assert_eq!(links(&seen_by(Some(7), 6, &all)), [(20, 10, link_kind::SERVES, 10, 90)]);
		assert_eq!(links(&seen_by(Some(8), 6, &all)), [(40, 10, link_kind::SERVES, 10, 90)]);
	}
}
