//! Servers that were asked what they did do not know whose calls they served: file, bytes and time say it. Links from
//! their rows to the lowest calls on the same file, each with how sure it is.
//!
//! A file's life is followed in the order of time. What a call writes is dirty from its begin until a server's write
//! takes it; what a server read is there from its begin on, until a call reads it.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_stream::Link;

use crate::columns::{CallRow, LinkColumns, StreamFacts, has};
use crate::define::Op;
use crate::merge::Merged;
use crate::tables::MarkRow;

const SERVES: u32 = 1;
const CARRIES: u32 = 2;
const MATCHED: u32 = 4;

/// Percent. File, bytes and time agree; it waited for bytes of its own process that others' could have been among;
/// bytes agree, time does not; the place in the file is not known.
const IN_TIME: u32 = 90;
const WAITED: u32 = 80;
const OUT_OF_TIME: u32 = 60;
const NO_PLACE: u32 = 50;

/// Calls of a run that are looked at, at most: 300 MiB.
const MOST: usize = 4 << 20;

/// What an op is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
	Nothing,
	Read,
	Write,
	/// May wait until what others wrote is stored: sync, close.
	Waits,
	/// Of a server that was asked; where its args `unit` and `stride` are.
	ToldRead(usize, usize),
	ToldWrite(usize, usize),
}

impl Part {
	fn of(op: &Op) -> Part {
		let field = |name: &str| op.fields.iter().position(|field| field == name);
		match (op.layer.as_str(), op.kind.as_str()) {
			("server", kind) => match (kind, field("unit"), field("stride")) {
				("read", Some(unit), Some(stride)) => Part::ToldRead(unit, stride),
				("write", Some(unit), Some(stride)) => Part::ToldWrite(unit, stride),
				_ => Part::Nothing,
			},
			("posix" | "stdio" | "aio" | "disk", "read") => Part::Read,
			("posix" | "stdio" | "aio" | "disk", "write") => Part::Write,
			("posix" | "stdio" | "aio" | "disk", "sync" | "close") => Part::Waits,
			_ => Part::Nothing,
		}
	}

	fn told(self) -> bool {
		matches!(self, Part::ToldRead(..) | Part::ToldWrite(..))
	}
}

/// Bytes of a file: `length` from `offset` on, in pieces that end at multiples of `unit`, each `stride` behind the one before.
#[derive(Debug, Clone, Copy)]
struct Bytes {
	offset: i64,
	length: i64,
	unit: i64,
	stride: i64,
}

impl Bytes {
	fn pieces(self) -> impl Iterator<Item = (i64, i64)> {
		let mut at = self.offset;
		let end = self.offset.saturating_add(self.length);
		let mut left = self.length;
		std::iter::from_fn(move || {
			if left <= 0 {
				return None;
			}
			if self.unit <= 0 || self.stride < self.unit {
				left = 0;
				return Some((at, end));
			}
			let stop = (at / self.unit + 1).checked_mul(self.unit)?.min(at.checked_add(left)?);
			let piece = (at, stop);
			left -= stop - at;
			at = (at - at % self.unit).checked_add(self.stride)?;
			Some(piece)
		})
	}
}

/// A call or a server's operation on a file that both have.
#[derive(Debug, Clone, Copy)]
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
}

/// Which calls are to be looked at: those on files that an asked server has.
#[derive(Debug, Default)]
pub struct Watched {
	parts: Vec<Part>,
	files: Vec<bool>,
	/// Processes that are such servers.
	asked: HashSet<u32>,
}

impl Watched {
	pub fn new(merged: &Merged) -> Watched {
		let parts: Vec<Part> = merged.ops.iter().map(Part::of).collect();
		let told =
			|op: &Op| merged.op_numbers.get(op).is_some_and(|&op| parts[usize::from(op)].told());
		let (mut files, mut asked) = (Vec::new(), HashSet::new());
		for image in merged.images.iter().filter(|i| i.survey.definitions.ops.values().any(told)) {
			asked.extend(&image.processes);
			for file in image.objects.iter().filter_map(|object| object.1) {
				files.resize(files.len().max(file as usize + 1), false);
				files[file as usize] = true;
			}
		}
		Watched { parts, files, asked }
	}

	#[inline]
	pub fn note(&self, call: &CallRow, fields: &[i64], facts: &StreamFacts, met: &mut Meeting) {
		let file = call.if_has(has::FILE, call.file).unwrap_or(u32::MAX);
		if self.files.get(file as usize) == Some(&true) {
			self.note_of_file(call, fields, facts, met);
		}
	}

	fn note_of_file(&self, call: &CallRow, fields: &[i64], facts: &StreamFacts, met: &mut Meeting) {
		let part = self.parts.get(usize::from(call.op)).copied().unwrap_or(Part::Nothing);
		let own = part.told() != self.asked.contains(&facts.process); // a server's access to its store
		if part == Part::Nothing || call.error != 0 || call.start == i64::MIN || own {
			return;
		}
		if met.all.len() >= MOST {
			met.left_out += 1;
			return;
		}
		let field = |at: usize| fields.get(at).copied().unwrap_or(0);
		let (unit, stride) = match part {
			Part::ToldRead(unit, stride) | Part::ToldWrite(unit, stride) => {
				(field(unit), field(stride))
			}
			_ => (0, 0),
		};
		let length = if call.valid & has::BYTES != 0 { call.bytes.max(0) } else { 0 };
		let placed = call.valid & has::OFFSET != 0 && call.offset >= 0;
		met.all.push(Met {
			file: call.file,
			stream: facts.stream,
			process: facts.process,
			part,
			seq: call.seq,
			start: call.start,
			stop: call.start.saturating_add(call.duration),
			length,
			bytes: placed.then_some(Bytes { offset: call.offset, length, unit, stride }),
		});
	}
}

/// What was noted.
#[derive(Debug, Default)]
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
pub fn find(merged: &Merged, meeting: Meeting) -> (LinkColumns, i64) {
	let ids: HashMap<u32, u64> = merged.streams.iter().map(|(id, index)| (*index, *id)).collect();
	let Meeting { mut all, left_out } = meeting;
	all.sort_by_key(|met| (met.file, met.start, met.stream, met.seq));
	let mut links = LinkColumns::default();
	for of_file in all.chunk_by(|a, b| a.file == b.file) {
		for Made { from, to, kind, bytes, percent } in of(of_file) {
			let id = |met: &Met| u64::from(met.stream) << 40 | met.seq;
			let to_stream = ids.get(&to.stream).copied().unwrap_or(0);
			let link = Link { seq: 0, to_stream, to_seq: to.seq, kind, bytes, percent };
			links.push(id(from), Some(id(to)), &link);
		}
	}
	(links, left_out)
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
	let (mut dirty, mut fetched) = (Extents::default(), Extents::default());
	let mut made = Vec::new();
	for (at, met) in in_order(all) {
		match (met.part, met.bytes) {
			(Part::Write, Some(bytes)) => dirty.put(bytes, at),
			(Part::ToldRead(..), Some(bytes)) => fetched.put(bytes, at),
			(Part::ToldWrite(..), bytes) => {
				let owners = bytes.map(|bytes| dirty.take(bytes)).unwrap_or_default();
				written(all, met, &owners, &waits, &mut made);
			}
			(Part::Read, Some(bytes)) => {
				for (from, bytes) in fetched.take(bytes) {
					made.push(read(&all[from], met, bytes));
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

/// A server's write of bytes that these calls wrote: it served those that were still at it, and what waited for it.
fn written<'m>(
	all: &'m [Met],
	told: &'m Met,
	owners: &[(usize, u64)],
	waits: &Waits<'m>,
	made: &mut Vec<Made<'m>>,
) {
	let at_it = |owner: &&(usize, u64)| overlap(&all[owner.0], told);
	for &(owner, bytes) in owners.iter().filter(at_it) {
		made.push(Made { from: told, to: &all[owner], kind: SERVES, bytes, percent: IN_TIME });
	}
	let gone: Vec<&(usize, u64)> = owners.iter().filter(|owner| !at_it(owner)).collect();
	if gone.is_empty() {
		return;
	}
	let theirs = |wait: &&Met| gone.iter().any(|owner| all[owner.0].process == wait.process);
	let waited: Vec<&Met> = waits.for_all_of(told).filter(theirs).collect();
	for &&(owner, bytes) in &gone {
		let kind = if waited.is_empty() { SERVES } else { CARRIES };
		made.push(Made { from: told, to: &all[owner], kind, bytes, percent: OUT_OF_TIME });
	}
	let bytes = gone.iter().map(|owner| owner.1).sum();
	for to in waited {
		made.push(Made { from: told, to, kind: SERVES, bytes, percent: WAITED });
	}
}

/// A server's read of bytes that a call got: it served a call that was there, else the bytes were there before.
fn read<'m>(told: &'m Met, call: &'m Met, bytes: u64) -> Made<'m> {
	let (kind, percent) =
		if overlap(told, call) { (SERVES, IN_TIME) } else { (MATCHED, OUT_OF_TIME) };
	Made { from: told, to: call, kind, bytes, percent }
}

/// Where one side's place is not known: the one call that was at it meanwhile, in the same direction.
fn without_place(all: &[Met]) -> impl Iterator<Item = Made<'_>> {
	let told = all.iter().filter(|met| met.part.told() && met.length > 0);
	told.filter_map(|told| {
		let side = if matches!(told.part, Part::ToldRead(..)) { Part::Read } else { Part::Write };
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

/// Whose the bytes of a file are: start to end and owner, none overlapping.
#[derive(Debug, Default)]
struct Extents {
	all: BTreeMap<i64, (i64, usize)>,
}

impl Extents {
	fn put(&mut self, bytes: Bytes, owner: usize) {
		for (start, stop) in bytes.pieces() {
			self.cut(start, stop, |_, _| {});
			self.all.insert(start, (stop, owner));
		}
	}

	/// Takes them out: each owner once, with what it had, by owner.
	fn take(&mut self, bytes: Bytes) -> Vec<(usize, u64)> {
		let mut had: BTreeMap<usize, u64> = BTreeMap::new();
		for (start, stop) in bytes.pieces() {
			self.cut(start, stop, |owner, bytes| *had.entry(owner).or_default() += bytes);
		}
		had.into_iter().collect()
	}

	fn cut(&mut self, start: i64, stop: i64, mut had: impl FnMut(usize, u64)) {
		let before = self.all.range(..start).next_back().map(|(at, extent)| (*at, *extent));
		if let Some((at, (end, owner))) = before.filter(|(_, (end, _))| *end > start) {
			self.all.insert(at, (start, owner));
			self.all.insert(start, (end, owner));
		}
		while let Some((&at, &(end, owner))) = self.all.range(start..stop).next() {
			self.all.remove(&at);
			had(owner, (end.min(stop) - at).unsigned_abs());
			if end > stop {
				self.all.insert(stop, (end, owner));
			}
		}
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	fn met(part: Part, (start, stop): (i64, i64), (offset, length): (i64, i64)) -> Met {
		let bytes = Some(Bytes { offset, length, unit: 0, stride: 0 });
		Met { file: 0, stream: 0, process: 0, part, seq: start as u64, start, stop, length, bytes }
	}

	fn links(all: &[Met]) -> Vec<(u64, u64, u32, u64, u32)> {
		of(all).iter().map(|m| (m.from.seq, m.to.seq, m.kind, m.bytes, m.percent)).collect()
	}

	const TOLD: Part = Part::ToldWrite(4, 5);

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
		let told = Part::ToldRead(4, 5);
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

	proptest! {
		#[test]
		fn each_byte_has_the_owner_that_put_it_last(
			puts in prop::collection::vec((0i64..60, 1i64..40, 1i64..5, 0i64..3), 1..12), from in 0i64..80, length in 1i64..80,
		) {
			let (mut extents, mut bytes) = (Extents::default(), [None; 400]);
			for (owner, (offset, length, unit, more)) in puts.into_iter().enumerate() {
				let put = Bytes { offset, length: length.min(20), unit, stride: unit + more };
				extents.put(put, owner);
				put.pieces().flat_map(|(a, b)| a..b).for_each(|at| bytes[at as usize] = Some(owner));
			}
			let mut want: BTreeMap<usize, u64> = BTreeMap::new();
			for owner in bytes[from as usize..(from + length) as usize].iter().flatten() {
				*want.entry(*owner).or_default() += 1;
			}
			let whole = Bytes { offset: from, length, unit: 0, stride: 0 };
			prop_assert_eq!(extents.take(whole), want.into_iter().collect::<Vec<_>>());
			prop_assert_eq!(extents.take(whole), vec![]);
		}
	}
}
