//! Table `counters`: every call once, whether it has a row or only a counter record; and with each key what its
//! accesses are like, how they follow each other, and which values they have most often.

use std::collections::HashMap;
use std::hash::Hash;

use fathom_stream::{BINS, FileData, Order, PatternCounts, Tally, size_bin};
use serde::{Deserialize, Serialize};

use crate::common_values::{CommonValues, Top, What};
use crate::order::{join, single};
use crate::shape::Shape;

pub const NO_FILE: u32 = u32::MAX;
pub const NO_OP: u16 = u16::MAX;
pub const NO_OBJECT: u32 = u32::MAX;

/// What an offset is a multiple of when it is aligned.
const FILE_BLOCK: i64 = 4096;

#[derive(
	Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct Key {
	pub process: u32,
	/// Not the process's first thread.
	pub other_thread: bool,
	pub file: u32,
	pub op: u16,
	pub enclosing: u16,
}

/// Calls that follow each other: of one thread, on one object, by one op inside one other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaneKey {
	/// Index in the survey.
	pub stream: u32,
	pub object: u32,
	pub op: u16,
	pub enclosing: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
	Read,
	Write,
}

/// A call that moved data.
#[derive(Debug, Clone, Copy)]
pub struct Access {
	/// Asked for.
	pub size: Option<i64>,
	/// Moved, as far as that is known.
	pub amount: Option<i64>,
	pub offset: Option<i64>,
	pub shape: Shape,
	/// To or from several pieces of memory.
	pub pieces: bool,
}

/// What an op's calls may be asked about.
#[derive(Debug, Clone, Copy)]
pub struct Moves {
	pub direction: Direction,
	/// Number of the layer's name.
	pub layer: u8,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sum {
	pub calls: u64,
	pub recorded: u64,
	pub errors: u64,
	pub bytes: i64,
	pub time: i64,
	pub shortest: i64,
	pub longest: i64,
	pub first_start: i64,
	pub last_stop: i64,
	/// Of an op that moves data.
	pub data: Option<Box<DataSum>>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DataSum {
	pub sizes: [u64; BINS],
	pub extents: [u64; BINS],
	pub counts: PatternCounts,
	/// Some calls were counted without a word about sizes, and some without one about files.
	pub no_sizes: bool,
	pub no_files: bool,
	/// A bit for each of [`PatternCounts::each`] that is not known of all calls.
	pub unknown: u16,
}

impl Sum {
	/// What is known of the sizes of all its calls.
	pub fn by_size(&self) -> Option<&DataSum> {
		self.data.as_deref().filter(|data| !data.no_sizes)
	}

	/// What is known of all its calls with regard to files.
	pub fn by_file(&self) -> Option<&DataSum> {
		self.data.as_deref().filter(|data| !data.no_files)
	}

	/// One of [`PatternCounts::each`], where it is known of all its calls.
	pub fn count(&self, at: usize) -> Option<u64> {
		let data = self.data.as_deref().filter(|data| data.unknown >> at & 1 == 0)?;
		Some(data.counts.each()[at].max(0) as u64)
	}

	/// `data` stays as it is.
	fn add(&mut self, other: &Sum) {
		if self.calls == 0 {
			let data = self.data.take();
			*self = other.clone();
			self.data = data;
			return;
		}
		self.calls += other.calls;
		self.recorded += other.recorded;
		self.errors += other.errors;
		self.bytes = self.bytes.saturating_add(other.bytes);
		self.time = self.time.saturating_add(other.time);
		self.shortest = self.shortest.min(other.shortest);
		self.longest = self.longest.max(other.longest);
		self.first_start = self.first_start.min(other.first_start);
		self.last_stop = self.last_stop.max(other.last_stop);
	}
}

/// What the next call of a lane is compared with.
#[derive(Debug, Default)]
struct Lane {
	row: u32,
	/// Index into [`Counters::turns`].
	turn: u32,
	order: Order,
	/// The last value and how many calls had it since another: not yet in histogram and tops.
	size_run: (i64, u64),
	extent_run: (i64, u64),
}

/// A bit for each of [`PatternCounts::each`].
pub const EVERY_COUNT: u16 = (1 << 10) - 1;
const NO_TURN: u32 = u32::MAX;
const RECENT: usize = 64;

/// Sums of one process image.
#[derive(Debug)]
pub struct Counters {
	index: HashMap<Key, u32>,
	rows: Vec<(Key, Sum)>,
	lane_index: HashMap<LaneKey, u32>,
	lanes: Vec<(LaneKey, Lane)>,
	/// Where lanes that were used lately are: most calls repeat.
	recent: [u32; RECENT],
	turn_index: HashMap<(u32, u32, u8), u32>,
	/// Of each thread, object and layer: which way data went last.
	turns: Vec<Option<Direction>>,
	pub tops: CommonValues,
}

/// A call as `counters` sees it.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
	pub error: bool,
	pub bytes: i64,
	pub start: i64,
	pub duration: i64,
}

impl Default for Counters {
	fn default() -> Self {
		Counters {
			index: HashMap::new(),
			rows: Vec::new(),
			lane_index: HashMap::new(),
			lanes: Vec::new(),
			recent: [u32::MAX; RECENT],
			turn_index: HashMap::new(),
			turns: Vec::new(),
			tops: CommonValues::default(),
		}
	}
}

impl Counters {
	/// A call that has a row of its own.
	#[inline]
	pub fn call(&mut self, lane: &LaneKey, key: impl Fn() -> Key, call: &Counted) -> usize {
		let at = self.lane(lane, key);
		let sum = &mut self.rows[self.lanes[at].1.row as usize].1;
		let first = sum.calls == 0;
		sum.calls += 1;
		sum.recorded += 1;
		sum.errors += u64::from(call.error);
		sum.bytes = sum.bytes.saturating_add(call.bytes);
		sum.time = sum.time.saturating_add(call.duration);
		sum.longest = sum.longest.max(call.duration);
		sum.last_stop = sum.last_stop.max(call.start + call.duration);
		if first || call.duration < sum.shortest {
			sum.shortest = call.duration;
		}
		if first || call.start < sum.first_start {
			sum.first_start = call.start;
		}
		at
	}

	/// What the call of lane `at` moved; `None`: it failed. Calls of a lane come as they end.
	#[inline]
	pub fn access(&mut self, at: usize, access: Option<&Access>, moves: Moves) {
		self.begin_turns(at, moves.layer);
		let (key, lane) = &mut self.lanes[at];
		let data = self.rows[lane.row as usize].1.data.get_or_insert_default();
		let Some(access) = access else { return };
		if let Some(turn) = self.turns.get_mut(lane.turn as usize) {
			data.counts.switches += i64::from(turn.is_some_and(|last| last != moves.direction));
			*turn = Some(moves.direction);
		}
		if let Some(size) = access.size {
			if size != lane.size_run.0 {
				end_size_run(lane, data, &mut self.tops);
				lane.size_run.0 = size;
			}
			lane.size_run.1 += 1;
		}
		let mut end = access.amount.unwrap_or(0);
		if let (Some(_), Shape::Known { extent, holes }) = (access.amount, access.shape) {
			end = extent;
			if extent != lane.extent_run.0 {
				end_extent_run(lane, data);
				lane.extent_run.0 = extent;
			}
			lane.extent_run.1 += 1;
			let counts = &mut data.counts;
			match (access.pieces, holes) {
				(false, false) => counts.contiguous += 1,
				(true, false) => counts.holes_memory += 1,
				(false, true) => counts.holes_file += 1,
				(true, true) => counts.holes_both += 1,
			}
			if holes {
				self.tops.add(lane.row, What::Extent, extent, 1);
			}
		}
		if let Some(offset) = access.offset.filter(|_| key.object != NO_OBJECT) {
			data.counts.unaligned_file += i64::from(offset % FILE_BLOCK != 0);
			let one = single(offset, offset.saturating_add(end));
			if let Some(stride) = join(&mut lane.order, &one, &mut data.counts) {
				self.tops.add(lane.row, What::Stride, stride, 1);
			}
		}
	}

	/// A counter record: calls that have no row.
	pub fn add(&mut self, lane: &LaneKey, key: &Key, sum: &Sum) -> usize {
		let at = self.lane(lane, || *key);
		if sum.calls > 0 {
			self.rows[self.lanes[at].1.row as usize].1.add(sum);
		}
		at
	}

	/// What such a record says of data; `None`: nothing, as those of earlier versions.
	pub fn add_data(&mut self, at: usize, data: Option<&fathom_stream::CounterData>, moves: Moves) {
		self.begin_turns(at, moves.layer);
		let row = self.lanes[at].1.row;
		let sum = self.rows[row as usize].1.data.get_or_insert_default();
		let Some(data) = data else {
			sum.no_sizes = true;
			sum.no_files = true;
			sum.unknown = EVERY_COUNT;
			return;
		};
		merge(&mut sum.sizes, &data.sizes);
		match (&data.some, &data.file) {
			(Some(some), _) => {
				sum.no_files = true;
				sum.no_sizes |= !some.sizes_known;
				sum.unknown |= EVERY_COUNT & !some.known;
				sum.counts = added(&sum.counts, &some.counts);
			}
			(None, Some(file)) => self.add_file_data(at, file, moves),
			(None, None) => {
				sum.no_files = true;
				sum.unknown = EVERY_COUNT;
			}
		}
	}

	fn add_file_data(&mut self, at: usize, file: &FileData, moves: Moves) {
		let lane = &mut self.lanes[at].1;
		let Some(sum) = &mut self.rows[lane.row as usize].1.data else { return };
		merge(&mut sum.extents, &file.extents);
		sum.counts = added(&sum.counts, &file.counts);
		if let Some(turn) = self.turns.get_mut(lane.turn as usize).filter(|_| file.turn > 0) {
			sum.counts.switches += i64::from(turn.is_some_and(|last| last != moves.direction));
			*turn = Some(if file.turn == 1 { Direction::Read } else { Direction::Write });
		}
		let stride = join(&mut lane.order, &file.order, &mut sum.counts);
		self.tops.add(lane.row, What::Stride, stride.unwrap_or(0), u64::from(stride.is_some()));
		self.tops.add(lane.row, What::Stride, file.stride_run.0, file.stride_run.1);
		self.tops.add(lane.row, What::Size, file.size_run.0, file.size_run.1);
	}

	pub fn tally(&mut self, lane: &LaneKey, key: &Key, tally: &Tally) {
		match What::of(tally.what) {
			Some(what) => {
				let at = self.lane(lane, || *key);
				self.tops.tally(lane.stream, self.lanes[at].1.row, what, tally);
			}
			None => self.tops.dropped(lane.stream, tally.bound),
		}
	}

	#[inline]
	fn lane(&mut self, lane: &LaneKey, key: impl Fn() -> Key) -> usize {
		let hash =
			lane.object.wrapping_mul(31) ^ u32::from(lane.op) << 1 ^ u32::from(lane.enclosing);
		let slot = (hash ^ lane.stream) as usize % RECENT;
		let recent = self.recent[slot] as usize;
		if self.lanes.get(recent).is_some_and(|(known, _)| known == lane) {
			return recent;
		}
		let rows = &mut self.rows;
		let lanes = &mut self.lanes;
		let at = number(&mut self.lane_index, *lane, lanes.len(), || {
			let key = key();
			let row = number(&mut self.index, key, rows.len(), || rows.push((key, Sum::default())));
			lanes.push((*lane, Lane { row, turn: NO_TURN, ..Lane::default() }));
		});
		self.recent[slot] = at;
		at as usize
	}

	/// Threads take turns on an object in each layer for itself.
	#[inline]
	fn begin_turns(&mut self, at: usize, layer: u8) {
		let (key, lane) = &mut self.lanes[at];
		if lane.turn == NO_TURN && key.object != NO_OBJECT {
			let turns = &mut self.turns;
			let place = (key.stream, key.object, layer);
			lane.turn = number(&mut self.turn_index, place, turns.len(), || turns.push(None));
		}
	}

	/// Of each row, in their order, the first lane.
	pub fn homes(&self) -> Vec<LaneKey> {
		let mut homes: Vec<Option<LaneKey>> = vec![None; self.rows.len()];
		for (key, lane) in &self.lanes {
			homes[lane.row as usize].get_or_insert(*key);
		}
		homes.into_iter().flatten().collect() // a row is made with its first lane
	}

	pub fn into_rows(mut self) -> (Vec<(Key, Sum)>, Vec<Top>) {
		for (_, lane) in &mut self.lanes {
			if let Some(data) = &mut self.rows[lane.row as usize].1.data {
				end_size_run(lane, data, &mut self.tops);
				end_extent_run(lane, data);
			}
		}
		(self.rows, self.tops.into_rows())
	}
}

fn end_size_run(lane: &mut Lane, data: &mut DataSum, tops: &mut CommonValues) {
	let (size, calls) = lane.size_run;
	data.sizes[size_bin(size)] += calls;
	tops.add(lane.row, What::Size, size, calls);
	lane.size_run.1 = 0;
}

fn end_extent_run(lane: &mut Lane, data: &mut DataSum) {
	data.extents[size_bin(lane.extent_run.0)] += lane.extent_run.1;
	lane.extent_run.1 = 0;
}

fn added(counts: &PatternCounts, more: &PatternCounts) -> PatternCounts {
	let (mut counts, more) = (counts.each(), more.each());
	counts.iter_mut().zip(more).for_each(|(count, more)| *count = count.wrapping_add(more));
	PatternCounts::of(counts)
}

fn merge(bins: &mut [u64; BINS], more: &[u64; BINS]) {
	bins.iter_mut().zip(more).for_each(|(bin, more)| *bin = bin.saturating_add(*more));
}

/// The number of `key`; `make` makes what gets the number `next`, when it has none.
#[inline]
fn number<K: Eq + Hash>(
	index: &mut HashMap<K, u32>,
	key: K,
	next: usize,
	make: impl FnOnce(),
) -> u32 {
	*index.entry(key).or_insert_with(|| {
		make();
		next as u32
	})
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use std::collections::BTreeMap;

	use fathom_stream::{CounterData, tallied};
	use proptest::prelude::*;

	use super::*;

	#[derive(Debug, Clone, Copy)]
	struct Step {
		object: u32,
		op: u16,
		offset: i64,
		size: i64,
		/// It has a row; else it is counted.
		recorded: bool,
		/// What was counted is written out after it.
		cut: bool,
	}

	fn step() -> impl Strategy<Value = Step> {
		let numbers = (0u32..3, 0u16..4, 0i64..10, 0i64..4);
		(numbers, any::<bool>(), prop::bool::weighted(0.2)).prop_map(
			|((object, op, offset, size), recorded, cut)| Step {
				object,
				op,
				offset: offset * 2048,
				size: size * 2048,
				recorded,
				cut,
			},
		)
	}

	fn moves(op: u16) -> Moves {
		let direction = if op.is_multiple_of(2) { Direction::Read } else { Direction::Write };
		Moves { direction, layer: 0 }
	}

	fn key(op: u16) -> Key {
		Key { op, ..Key::default() }
	}

	fn lane(step: &Step) -> LaneKey {
		LaneKey { stream: 0, object: step.object, op: step.op, enclosing: NO_OP }
	}

	fn event(counters: &mut Counters, step: &Step) {
		let call = Counted { error: false, bytes: step.size, start: 0, duration: 1 };
		let at = counters.call(&lane(step), || key(step.op), &call);
		let access = Access {
			size: Some(step.size),
			amount: Some(step.size),
			offset: Some(step.offset),
			shape: Shape::Known { extent: step.size, holes: false },
			pieces: false,
		};
		counters.access(at, Some(&access), moves(step.op));
	}

	/// What the runtime keeps of calls that it counts.
	#[derive(Default)]
	struct Table {
		entries: Vec<(LaneKey, u64, CounterData)>,
		/// By object: the entry that made the first access.
		homes: BTreeMap<u32, usize>,
	}

	impl Table {
		fn add(&mut self, counters: &mut Counters, step: &Step) {
			let lane = lane(step);
			let at = self.entries.iter().position(|entry| entry.0 == lane).unwrap_or_else(|| {
				let file = Some(FileData::default());
				self.entries.push((lane, 0, CounterData { file, ..CounterData::default() }));
				self.entries.len() - 1
			});
			let home = *self.homes.entry(step.object).or_insert(at);
			let turn = 1 + u32::from(step.op % 2);
			let last = &mut self.entries[home].2.file.as_mut().unwrap().turn;
			let switches = *last != 0 && *last != turn;
			*last = turn;
			let (_, calls, data) = &mut self.entries[at];
			*calls += 1;
			data.sizes[size_bin(step.size)] += 1;
			let file = data.file.as_mut().unwrap();
			file.extents[size_bin(step.size)] += 1;
			file.counts.contiguous += 1;
			file.counts.switches += i64::from(switches);
			file.counts.unaligned_file += i64::from(step.offset % FILE_BLOCK != 0);
			run(counters, &lane, tallied::SIZE, &mut file.size_run, step.size);
			let one = single(step.offset, step.offset + step.size);
			if let Some(stride) = join(&mut file.order, &one, &mut file.counts) {
				run(counters, &lane, tallied::STRIDE, &mut file.stride_run, stride);
			}
		}

		fn write(&mut self, counters: &mut Counters) {
			for (lane, calls, data) in std::mem::take(self).entries {
				let sum = Sum { calls, ..Sum::default() };
				let at = counters.add(&lane, &key(lane.op), &sum);
				counters.add_data(at, Some(&data), moves(lane.op));
			}
		}
	}

	fn run(counters: &mut Counters, lane: &LaneKey, what: u32, run: &mut (i64, u64), value: i64) {
		if run.0 != value && run.1 > 0 {
			let tally = Tally { what, value: run.0, calls: run.1, ..Tally::default() };
			counters.tally(lane, &key(lane.op), &tally);
			run.1 = 0;
		}
		*run = (value, run.1 + 1);
	}

	type Row = (Key, u64, [u64; BINS], [u64; BINS], PatternCounts);
	type Value = (Key, What, i64, u64, u64);

	fn sorted_rows(counters: Counters) -> (Vec<Row>, Vec<Value>) {
		let (rows, tops) = counters.into_rows();
		let top = |top: &Top| (rows[top.row as usize].0, top.what, top.value, top.calls, top.bound);
		let mut tops: Vec<_> = tops.iter().map(top).collect();
		tops.sort_unstable();
		let row = |(key, sum): &(Key, Sum)| {
			let data = sum.data.as_deref().unwrap();
			(*key, sum.calls, data.sizes, data.extents, data.counts)
		};
		let mut rows: Vec<_> = rows.iter().map(row).collect();
		rows.sort_unstable_by_key(|row| row.0);
		(rows, tops)
	}

	proptest! {
		#![proptest_config(ProptestConfig::with_cases(1000))]
		#[test]
		fn rows_and_counters_cut_anywhere_say_the_same(
			steps in prop::collection::vec(step(), 0..60),
		) {
			let (mut rows, mut mixed) = (Counters::default(), Counters::default());
			let mut table = Table::default();
			for step in &steps {
				event(&mut rows, step);
				if step.recorded {
					table.write(&mut mixed);
					event(&mut mixed, step);
				} else {
					table.add(&mut mixed, step);
				}
				if step.cut {
					table.write(&mut mixed);
				}
			}
			table.write(&mut mixed);
			prop_assert_eq!(sorted_rows(mixed), sorted_rows(rows));
		}
	}
}
