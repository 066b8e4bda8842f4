//! Servers that know nothing of Fathom do not know whose calls they served: file, bytes and time say it. Links from
//! their rows to the lowest calls on the same file, each with how sure it is. Two kinds are known: those that were asked
//! (OSDs) have rows of their own in layer `server`; bricks were recorded, and what they do to their copy of a file counts.
//!
//! A file's life is followed in the order of time. What a call writes is dirty from its begin until a server's write
//! takes it; what a server read is there from its begin on, until a call reads it.

use std::collections::{BTreeSet, HashMap, HashSet};

use fathom_stream::Link;
use serde::{Deserialize, Serialize};

use crate::bricks::Bricks;
use crate::clock::Line;
use crate::columns::{CallRow, LinkColumns, StreamFacts, has};
use crate::define::Op;
use crate::extents::{Bytes, Extents, Taken};
use crate::merge::Merged;
use crate::tables::MarkRow;

const SERVES: u32 = 1;
const CARRIES: u32 = 2;
const MATCHED: u32 = 4;

/// Percent, to be shared by all calls that it may have been. File, bytes and time agree; it waited for bytes of its own process that others' could have been among;
/// bytes agree, time does not; the place in the file is not known.
const IN_TIME: u32 = 90;
const WAITED: u32 = 80;
const OUT_OF_TIME: u32 = 60;
const NO_PLACE: u32 = 50;

/// Calls of a run that are looked at, at most: 300 MiB.
const MOST: usize = 4 << 20;

/// What an op is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
	Nothing,
	Read,
	Write,
	/// May wait until what others wrote is stored: sync, close.
	Waits,
	/// Of a server.
	ToldRead,
	ToldWrite,
}

/// Where the args `unit` and `stride` are of a server that was asked.
type Striped = Option<(usize, usize)>;

impl Part {
	fn of(op: &Op) -> (Part, Striped) {
		let field = |name: &str| op.fields.iter().position(|field| field == name);
		let part = match (op.layer.as_str(), op.kind.as_str()) {
			("server", kind @ ("read" | "write")) => {
				let told = if kind == "read" { Part::ToldRead } else { Part::ToldWrite };
				return match (field("unit"), field("stride")) {
					(Some(unit), Some(stride)) => (told, Some((unit, stride))),
					_ => (Part::Nothing, None),
				};
			}
			("posix" | "stdio" | "aio" | "disk", "read") => Part::Read,
			("posix" | "stdio" | "aio" | "disk", "write") => Part::Write,
			("posix" | "stdio" | "aio" | "disk", "sync" | "close") => Part::Waits,
			_ => Part::Nothing,
		};
		(part, None)
	}

	fn told(self) -> bool {
		matches!(self, Part::ToldRead | Part::ToldWrite)
	}

	/// What a brick's access is.
	fn of_brick(self) -> Part {
		match self {
			Part::Read => Part::ToldRead,
			Part::Write => Part::ToldWrite,
			_ => Part::Nothing,
		}
	}
}

/// A call or a server's operation on a file that both have.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Met {
	file: u32,
	stream: u32,
	process: u32,
	part: Part,
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
	parts: Vec<(Part, Striped)>,
	/// By file: the one that it counts as.
	files: Vec<Option<u32>>,
	/// Processes that are servers that were asked.
	asked: HashSet<u32>,
	/// Processes that are bricks, and since when they were looked at.
	bricks: HashMap<u32, i64>,
	/// Their own files.
	kept: HashSet<u32>,
}

impl Watched {
	pub fn new(merged: &Merged, lines: &[Line]) -> Watched {
		let parts: Vec<_> = merged.ops.iter().map(Part::of).collect();
		let told =
			|op: &Op| merged.op_numbers.get(op).is_some_and(|&op| parts[usize::from(op)].0.told());
		let mut asked = HashSet::new();
		let mut files = vec![None; merged.files.rows.len()];
		for image in merged.images.iter().filter(|i| i.survey.definitions.ops.values().any(told)) {
			asked.extend(&image.processes);
			for file in image.objects.iter().filter_map(|object| object.1) {
				files[file as usize] = Some(file);
			}
		}
		let bricks = Bricks::find(merged);
		for (&file, &same) in bricks.files.iter().chain(&bricks.clients) {
			files[file as usize] = Some(same);
		}
		let kept = bricks.files.into_keys().collect();
		let since = |(clock, tick): (usize, u64)| lines[clock].ns(tick);
		let bricks = bricks.processes.iter().map(|(&process, &at)| (process, since(at))).collect();
		Watched { parts, files, asked, bricks, kept }
	}

	#[inline]
	pub fn note(&self, call: &CallRow, fields: &[i64], facts: &StreamFacts, met: &mut Meeting) {
		let file = call.if_has(has::FILE, call.file).unwrap_or(u32::MAX);
		if let Some(Some(same)) = self.files.get(file as usize) {
			self.note_of_file(*same, call, fields, facts, met);
		}
	}

	/// What it is, and the brick whose it is.
	fn part(&self, call: &CallRow, process: u32) -> (Part, Striped, Option<u32>) {
		let none = (Part::Nothing, None);
		let (part, striped) = self.parts.get(usize::from(call.op)).copied().unwrap_or(none);
		if self.bricks.contains_key(&process) {
			return (part.of_brick(), None, Some(process));
		}
		// A server's access to its store, or somebody else's.
		if part.told() != self.asked.contains(&process) || self.kept.contains(&call.file) {
			return (Part::Nothing, None, None);
		}
		(part, striped, None)
	}

	fn note_of_file(
		&self,
		same: u32,
		call: &CallRow,
		fields: &[i64],
		facts: &StreamFacts,
		met: &mut Meeting,
	) {
		let (part, striped, brick) = self.part(call, facts.process);
		if part == Part::Nothing || call.error != 0 || call.start == i64::MIN {
			return;
		}
		if met.all.len() >= MOST {
			met.left_out += 1;
			return;
		}
		let field = |at: usize| fields.get(at).copied().unwrap_or(0);
		let (unit, stride) = striped.map_or((0, 0), |at| (field(at.0), field(at.1)));
		let length = if call.valid & has::BYTES != 0 { call.bytes.max(0) } else { 0 };
		let placed = call.valid & has::OFFSET != 0 && call.offset >= 0;
		met.all.push(Met {
			file: same,
			stream: facts.stream,
			process: facts.process,
			part,
			seq: call.seq,
			start: call.start,
			stop: call.start.saturating_add(call.duration),
			length,
			bytes: placed.then_some(Bytes { offset: call.offset, length, unit, stride }),
			brick,
		});
	}
}

/// What was noted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Meeting {
	all: Vec<Met>,
	left_out: i64,
}

impl Meeting {
	pub fn add(&mut self, other: Meeting) {
		let room = MOST.saturating_sub(self.all.len());
		self.left_out += other.left_out + other.all.len().saturating_sub(room) as i64;
		self.all.extend(other.all.into_iter().take(room));
	}
}

/// The links, and how many calls were not looked at.
pub fn find(merged: &Merged, watched: &Watched, meeting: Meeting) -> (LinkColumns, i64) {
	let ids: HashMap<u32, u64> = merged.streams.iter().map(|(id, index)| (*index, *id)).collect();
	let Meeting { mut all, left_out } = meeting;
	all.sort_by_key(|met| (met.file, met.start, met.stream, met.seq));
	let mut links = LinkColumns::default();
	for of_file in all.chunk_by(|a, b| a.file == b.file) {
		let servers: BTreeSet<Option<u32>> =
			of_file.iter().filter(|met| met.part.told()).map(|met| met.brick).collect();
		for server in servers {
			let begin = server.and_then(|brick| watched.bricks.get(&brick)).copied();
			let seen = seen_by(server, begin.unwrap_or(i64::MIN), of_file);
			for Made { from, to, kind, bytes, percent } in of(&seen) {
				let id = |met: &Met| u64::from(met.stream) << 40 | met.seq;
				let to_stream = ids.get(&to.stream).copied().unwrap_or(0);
				let link = Link { seq: 0, to_stream, to_seq: to.seq, kind, bytes, percent };
				links.push(id(from), Some(id(to)), &link);
			}
		}
	}
	(links, left_out)
}

/// The calls that this brick may have served, or the OSDs, and what it did.
fn seen_by(brick: Option<u32>, begin: i64, all: &[Met]) -> Vec<Met> {
	let its = |met: &&Met| if met.part.told() { met.brick == brick } else { met.stop > begin };
	all.iter().filter(its).copied().collect()
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

struct Made<'m> {
	from: &'m Met,
	to: &'m Met,
	kind: u32,
	bytes: u64,
	percent: u32,
}

/// Of one file, calls and operations in the order of their starts.
fn of(all: &[Met]) -> Vec<Made<'_>> {
	let waits = Waits::new(all);
	// The cache in front of OSDs forgets what is written over; GlusterFS sends it all on, in its order.
	let each_stored = all.iter().any(|met| met.brick.is_some());
	let (mut dirty, mut fetched) = (Extents::default(), Extents::default());
	let mut made = Vec::new();
	for (at, met) in in_order(all) {
		match (met.part, met.bytes) {
			(Part::Write, Some(bytes)) => {
				dirty.put(bytes, at, |before| each_stored || all[before].stop > met.start);
			}
			(Part::ToldRead, Some(bytes)) => fetched.put(bytes, at, |_| each_stored),
			(Part::ToldWrite, bytes) => {
				let first = |owners: &mut Vec<usize>| first_of_each(all, owners);
				let owners = bytes.map(|bytes| dirty.take(bytes, first)).unwrap_or_default();
				written(all, met, &owners, &waits, &mut made);
			}
			(Part::Read, Some(bytes)) => {
				let there = |owners: &mut Vec<usize>| there_or_last(all, met, owners);
				for taken in fetched.take(bytes, there) {
					made.push(read(&all[taken.owner], met, taken));
				}
			}
			_ => {}
		}
	}
	made.extend(without_place(all));
	made
}

/// A call's write counts from its start, its read at its end: what a server did for it has begun by then.
fn in_order(all: &[Met]) -> Vec<(usize, &Met)> {
	let mut order: Vec<(usize, &Met)> = all.iter().enumerate().collect();
	order.sort_by_key(|(at, met)| (if met.part == Part::Read { met.stop } else { met.start }, *at));
	order
}

fn overlap(a: &Met, b: &Met) -> bool {
	a.start < b.stop && b.start < a.stop
}

/// Whose write can be the next to be stored: of each process those that began before its earliest one had ended.
fn first_of_each(all: &[Met], owners: &mut [usize]) -> Vec<usize> {
	let waits_for = |&one: &usize, &other: &usize| {
		all[one].process == all[other].process && all[one].stop <= all[other].start
	};
	let first = |other: &&usize| !owners.iter().any(|one| waits_for(one, other));
	owners.iter().filter(first).copied().collect()
}

/// What a call read is what was fetched while it was there, else what was fetched last; all before is out of date.
fn there_or_last(all: &[Met], call: &Met, owners: &mut Vec<usize>) -> Vec<usize> {
	let last = owners.last().copied();
	owners.retain(|&owner| overlap(&all[owner], call));
	if owners.is_empty() {
		owners.extend(last);
	}
	owners.clone()
}

/// A server's write of bytes that these calls wrote: it served those that were still at it, and what waited for it.
fn written<'m>(
	all: &'m [Met],
	told: &'m Met,
	owners: &[Taken],
	waits: &Waits<'m>,
	made: &mut Vec<Made<'m>>,
) {
	let link = |one: &Taken, kind, percent| {
		let percent = one.share(percent);
		Made { from: told, to: &all[one.owner], kind, bytes: one.bytes, percent }
	};
	let at_it = |one: &&Taken| overlap(&all[one.owner], told);
	made.extend(owners.iter().filter(at_it).map(|one| link(one, SERVES, IN_TIME)));
	let gone: Vec<&Taken> = owners.iter().filter(|one| !at_it(one)).collect();
	if gone.is_empty() {
		return;
	}
	let theirs = |wait: &&Met| gone.iter().any(|one| all[one.owner].process == wait.process);
	let waited: Vec<&Met> = waits.for_all_of(told).filter(theirs).collect();
	let kind = if waited.is_empty() { SERVES } else { CARRIES };
	made.extend(gone.iter().map(|one| link(one, kind, OUT_OF_TIME)));
	for to in waited {
		let own = gone.iter().filter(|one| all[one.owner].process == to.process);
		let percent = own.clone().map(|one| one.share(WAITED)).min().unwrap_or(WAITED);
		let bytes = own.map(|one| one.bytes).sum();
		made.push(Made { from: told, to, kind: SERVES, bytes, percent });
	}
}

/// A server's read of bytes that a call got: it served a call that was there, else the bytes were there before.
fn read<'m>(told: &'m Met, call: &'m Met, taken: Taken) -> Made<'m> {
	let (kind, percent) =
		if overlap(told, call) { (SERVES, IN_TIME) } else { (MATCHED, OUT_OF_TIME) };
	Made { from: told, to: call, kind, bytes: taken.bytes, percent: taken.share(percent) }
}

/// Where one side's place is not known: the one call that was at it meanwhile, in the same direction.
fn without_place(all: &[Met]) -> impl Iterator<Item = Made<'_>> {
	let told = all.iter().filter(|met| met.part.told() && met.length > 0);
	told.filter_map(|told| {
		let side = if matches!(told.part, Part::ToldRead) { Part::Read } else { Part::Write };
		let end = all.partition_point(|met| met.start < told.stop);
		let same = |met: &&Met| met.part == side && overlap(met, told);
		let mut there = all[end.saturating_sub(NEAR)..end].iter().filter(same);
		let to = there.next()?;
		let known = told.bytes.is_some() && to.bytes.is_some();
		let bytes = told.length.min(to.length).unsigned_abs();
		let link = Made { from: told, to, kind: SERVES, bytes, percent: NO_PLACE };
		(!known && there.next().is_none()).then_some(link)
	})
}

/// Calls before an operation's end that are looked at for one that has no place.
const NEAR: usize = 256;

/// Calls that may wait for bytes to be stored, by start, each with the latest end up to it.
struct Waits<'m> {
	all: Vec<(&'m Met, i64)>,
}

impl<'m> Waits<'m> {
	fn new(all: &'m [Met]) -> Waits<'m> {
		let mut latest = i64::MIN;
		let waits = all.iter().filter(|met| met.part == Part::Waits);
		let all = waits.map(|met| {
			latest = latest.max(met.stop);
			(met, latest)
		});
		Waits { all: all.collect() }
	}

	/// Those that were there while it went on, and ended no earlier.
	fn for_all_of(&self, told: &Met) -> impl Iterator<Item = &'m Met> {
		let end = self.all.partition_point(|(met, _)| met.start < told.stop);
		let before = self.all[..end].iter().rev().take_while(move |entry| entry.1 >= told.stop);
		let stop = told.stop;
		before.map(|(met, _)| *met).filter(move |met| met.stop >= stop)
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	fn met(part: Part, (start, stop): (i64, i64), (offset, length): (i64, i64)) -> Met {
		let bytes = Some(Bytes { offset, length, unit: 0, stride: 0 });
		Met {
			file: 0,
			stream: 0,
			process: 0,
			part,
			seq: start as u64,
			start,
			stop,
			length,
			bytes,
			brick: None,
		}
	}

	fn links(all: &[Met]) -> Vec<(u64, u64, u32, u64, u32)> {
		of(all).iter().map(|m| (m.from.seq, m.to.seq, m.kind, m.bytes, m.percent)).collect()
	}

	const TOLD: Part = Part::ToldWrite;

	#[test]
	fn a_write_that_waits_is_served() {
		let all = [met(Part::Write, (0, 100), (0, 10)), met(TOLD, (20, 90), (0, 10))];
		assert_eq!(links(&all), [(20, 0, SERVES, 10, 90)]);
	}

	#[test]
	fn who_waits_for_what_was_kept_is_served_and_the_bytes_are_the_writes() {
		let all = [
			met(Part::Write, (0, 5), (0, 10)),
			met(Part::Write, (6, 9), (10, 10)),
			met(Part::Waits, (20, 100), (0, 0)),
			met(TOLD, (25, 90), (0, 20)),
		];
		assert_eq!(
			links(&all),
			[(25, 0, CARRIES, 10, 60), (25, 6, CARRIES, 10, 60), (25, 20, SERVES, 20, 80)]
		);
	}

	#[test]
	fn where_nobody_waits_the_write_is_served_after_it_returned() {
		let all = [met(Part::Write, (0, 5), (0, 10)), met(TOLD, (25, 90), (0, 10))];
		assert_eq!(links(&all), [(25, 0, SERVES, 10, 60)]);
	}

	#[test]
	fn a_read_is_served_when_it_waits_and_matched_when_bytes_came_before() {
		let told = Part::ToldRead;
		let all = [
			met(Part::Read, (0, 100), (0, 10)),
			met(told, (20, 90), (0, 20)),
			met(Part::Read, (110, 120), (10, 10)),
		];
		assert_eq!(links(&all), [(20, 0, SERVES, 10, 90), (20, 110, MATCHED, 10, 60)]);
	}

	#[test]
	fn what_has_no_place_is_the_one_call_of_that_time() {
		let mut append = met(Part::Write, (0, 100), (0, 10));
		append.bytes = None;
		let told = met(TOLD, (20, 90), (70, 10));
		assert_eq!(links(&[append, told]), [(20, 0, SERVES, 10, 50)]);
		let other = Met { seq: 1, ..append };
		assert_eq!(links(&[append, other, told]), []);
	}

	fn of_brick(process: u32, all: &mut [Met]) {
		all.iter_mut().filter(|met| met.part.told()).for_each(|met| met.brick = Some(process));
	}

	#[test]
	fn two_that_write_the_same_at_once_share_the_confidence() {
		let first = met(Part::Write, (0, 100), (0, 10));
		let other = Met { process: 1, ..met(Part::Write, (1, 100), (0, 10)) };
		let all = [first, other, met(TOLD, (20, 30), (0, 10)), met(TOLD, (40, 50), (0, 10))];
		let each = |told| [(told, 0, SERVES, 10, 45), (told, 1, SERVES, 10, 45)];
		assert_eq!(links(&all), [each(20), each(40)].concat());
	}

	#[test]
	fn a_brick_stores_what_was_written_over_too_in_its_order() {
		let mut all = [
			met(Part::Write, (0, 5), (0, 10)),
			met(Part::Write, (6, 9), (0, 10)),
			met(TOLD, (25, 30), (0, 10)),
			met(TOLD, (35, 40), (0, 10)),
		];
		assert_eq!(links(&all), [(25, 6, SERVES, 10, 60)], "a cache forgot the first");
		of_brick(7, &mut all);
		assert_eq!(links(&all), [(25, 0, SERVES, 10, 60), (35, 6, SERVES, 10, 60)]);
	}

	#[test]
	fn each_brick_of_a_replica_has_it_from_when_it_was_looked_at() {
		let mut all = [
			met(Part::Write, (0, 5), (0, 10)),
			met(Part::Write, (10, 100), (0, 10)),
			met(TOLD, (20, 30), (0, 10)),
			met(TOLD, (40, 50), (0, 10)),
		];
		of_brick(7, &mut all[..3]);
		of_brick(8, &mut all[3..]);
		assert_eq!(links(&seen_by(Some(7), 6, &all)), [(20, 10, SERVES, 10, 90)]);
		assert_eq!(links(&seen_by(Some(8), 6, &all)), [(40, 10, SERVES, 10, 90)]);
	}
}
