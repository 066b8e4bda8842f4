//! Second pass over a stream: its calls as rows of `calls`, in the order of their starts.
//!
//! Calls come out of a stream as they end. Those below one outermost call are kept until it ends too, then
//! sorted by seq, which is the order of starts.

use std::collections::HashMap;

use fathom_stream::{Counter, Record, Selection, Tally, UNKNOWN_OFFSET};

use crate::clock::Reader;
use crate::columns::{ArgColumns, CallColumns, CallRow, LinkColumns, StreamFacts, has};
use crate::counters::{
	Access, Counted, Counters, Direction, Key, LaneKey, Moves, NO_FILE, NO_OBJECT, NO_OP, Sum,
};
use crate::define::{MAX_TARGETS, Op, Target};
use crate::heat::{Bin, Heat, HeatKey, Moved};
use crate::own::{Nature, Tree};
use crate::runtime::Runtime;
use crate::server_links::{FileAccesses, Watched};
use crate::shape::shape;
use crate::survey::Interrupted;
use crate::walk::{Row, State, Visitor};

/// Numbers of a process image to numbers of the run: mostly small and dense.
#[derive(Debug, Default)]
pub struct Map<V> {
	dense: Vec<Option<V>>,
	sparse: HashMap<u32, V>,
}

impl<V: Copy> Map<V> {
	const DENSE: u32 = 1 << 20;

	pub fn insert(&mut self, key: u32, value: V) {
		if key >= Self::DENSE {
			self.sparse.insert(key, value);
			return;
		}
		let index = key as usize;
		if self.dense.len() <= index {
			self.dense.resize(index + 1, None);
		}
		self.dense[index] = Some(value);
	}

	#[inline]
	pub fn get(&self, key: u32) -> Option<V> {
		match self.dense.get(key as usize) {
			Some(value) => *value,
			None => self.sparse.get(&key).copied(),
		}
	}
}

/// An op's fields: where each goes.
#[derive(Debug, Clone)]
pub struct FieldPlan {
	pub targets: [Target; MAX_TARGETS],
	/// Number of each field's name in `args`.
	pub names: [u16; MAX_TARGETS],
	pub tracked: bool,
	pub has_offset: bool,
	pub has_size: bool,
	pub moves: Option<Moves>,
	nature: Nature,
	beside: bool,
	/// The field that says how many pieces of memory a call moves.
	pieces: Option<usize>,
}

impl FieldPlan {
	/// `layer`: number of the op's layer.
	pub fn new(op: &Op, layer: u8, arg_name: impl Fn(&str) -> u16) -> FieldPlan {
		let mut names = [0; MAX_TARGETS];
		for (number, field) in names.iter_mut().zip(&op.fields) {
			*number = arg_name(field);
		}
		FieldPlan {
			targets: op.targets,
			names,
			tracked: op.tracked,
			has_offset: op.field(Target::Offset).is_some(),
			has_size: op.field(Target::Size).is_some(),
			moves: op.direction.map(|direction| Moves { direction, layer }),
			nature: Nature::new(op, layer),
			beside: op.beside,
			pieces: op.pieces,
		}
	}
}

/// What a process image's numbers mean in the run.
pub struct ImageMaps<'r> {
	pub ops: Map<u16>,
	pub unknown_op: u16,
	pub plans: &'r [FieldPlan],
	/// Object and its file.
	pub objects: Map<(u32, Option<u32>)>,
	pub sites: Map<u32>,
	pub selections: Map<u32>,
	/// In the order of their numbers in the run, from this one on.
	pub first_selection: u32,
	pub shapes: Vec<&'r Selection>,
	/// By stream (of the survey) and seq.
	pub collectives: HashMap<(u32, u64), u32>,
	pub arg_names: &'r HashMap<String, u16>,
	/// Streams of the whole run: random id to index.
	pub streams: &'r HashMap<u64, u32>,
	pub watched: &'r Watched,
	pub runtime: &'r Runtime,
}

/// The tables that are being written.
#[derive(Debug, Default)]
pub struct Out {
	pub calls: CallColumns,
	pub args: ArgColumns,
	pub links: LinkColumns,
	pub counters: Counters,
	pub heat: Heat,
	pub file_accesses: FileAccesses,
	/// Calls whose state is not `done`.
	pub unfinished: u64,
	/// Calls of the stream that no sum has, by seq, with the op around each.
	pub apart: HashMap<u64, u16>,
}

/// One stream on its way into the tables.
pub struct StreamRows<'r> {
	pub facts: StreamFacts,
	/// Index in the survey.
	pub local: u32,
	pub other_thread: bool,
	pub maps: &'r ImageMaps<'r>,
	/// Ordinals of the outermost calls; `None`: they count up from 0.
	pub ordinals: Option<&'r [u32]>,
	/// Of a side stream's calls: where they were made, by seq; with that call's ordinal in the process.
	pub interrupted: HashMap<u64, (u64, Interrupted, u32)>,
	/// When its process was killed, where that is known.
	pub end: Option<i64>,
	/// Time that signal handlers' calls took inside calls of this stream, by seq.
	pub side_time: HashMap<u64, i64>,
	/// From which seq on calls are directly inside a counted call of an op.
	pub inside: Inside,
	pub pending: Pending,
	pub roots_done: usize,
}

/// What belongs to an outermost call that has not ended yet.
#[derive(Debug, Default)]
pub struct Pending {
	calls: Vec<CallRow>,
	/// In the order in which they came: as the calls ended.
	arrivals: Vec<Arrival>,
}

#[derive(Debug)]
enum Arrival {
	/// Seq of a call.
	Call(u64),
	Counter(Counter),
}

/// Which counted call is directly around a recorded one, where one is.
#[derive(Debug, Default)]
pub struct Inside {
	/// First seq and op of each change, in order.
	changes: Vec<(u64, Option<u16>)>,
}

impl Inside {
	/// Changes kept at most, unless one call has more inside it.
	const MOST_CHANGES: usize = 1024;

	fn push(&mut self, seq: u64, op: Option<u16>) {
		self.changes.push((seq, op));
	}

	#[inline]
	fn of(&self, seq: u64) -> Option<u16> {
		if self.changes.is_empty() {
			return None;
		}
		let after = self.changes.partition_point(|change| change.0 <= seq);
		self.changes.get(after.checked_sub(1)?).and_then(|change| change.1)
	}

	/// No call before this seq comes any more.
	fn forget(&mut self, seq: u64) {
		if self.changes.len() > Self::MOST_CHANGES {
			let after = self.changes.partition_point(|change| change.0 <= seq);
			self.changes.drain(..after.saturating_sub(1));
		}
	}
}

/// A stream with a clock and tables to write to: what walks over a chunk.
pub struct Writing<'w, 'r, 'l> {
	pub rows: &'w mut StreamRows<'r>,
	pub clock: &'w mut Reader<'l>,
	pub out: &'w mut Out,
	/// Takes the rows away when there are enough.
	pub full: &'w mut dyn FnMut(&mut Out),
}

/// Rows that become columns at once: few enough that they are still in the processor's cache.
const BATCH_ROWS: usize = 2048;
const NO_TIME: i64 = i64::MIN;

impl Visitor for Writing<'_, '_, '_> {
	#[inline]
	fn row(&mut self, row: &Row<'_>) {
		let mut call = self.convert(row);
		self.out.unfinished += u64::from(row.state != State::Done);
		self.rows.maps.watched.note(
			&call,
			row.fields,
			&self.rows.facts,
			&mut self.out.file_accesses,
		);
		if row.depth > 0 {
			self.rows.pending.push(call);
		} else if self.rows.pending.calls.is_empty() && self.rows.interrupted.is_empty() {
			self.alone(&mut call);
		} else {
			self.rows.pending.push(call);
			self.flush();
		}
	}

	fn record(&mut self, record: &Record<'_>) {
		let stream = u64::from(self.rows.facts.stream) << 40;
		match record {
			Record::Text(text) => {
				let name = String::from_utf8_lossy(text.name);
				if let Some(&name) = self.rows.maps.arg_names.get(name.as_ref()) {
					let value = String::from_utf8_lossy(text.value).into_owned();
					self.out.args.text(stream | text.seq, name, value);
				}
			}
			Record::Link(link) => {
				let to = self.rows.maps.streams.get(&link.to_stream);
				let to = to.map(|&stream| u64::from(stream) << 40 | link.to_seq);
				self.out.links.push(stream | link.seq, to, link);
			}
			Record::Counter(counter) if !self.rows.pending.calls.is_empty() => {
				self.rows.pending.arrivals.push(Arrival::Counter(counter.clone()));
			}
			Record::Counter(counter) => self.counter(counter),
			Record::Tally(tally) => self.tally(tally),
			Record::Heat(heat) => self.heat(heat),
			Record::Inside(inside) => {
				let maps = self.rows.maps;
				let named = |op| maps.ops.get(op).unwrap_or(maps.unknown_op);
				self.rows.inside.push(inside.seq, inside.op.checked_sub(1).map(named));
			}
			_ => {}
		}
	}
}

impl Writing<'_, '_, '_> {
	/// An outermost call without children: by far the most frequent.
	#[inline]
	fn alone(&mut self, call: &mut CallRow) {
		let rows = &mut *self.rows;
		call.call = match rows.ordinals {
			None => rows.roots_done as u32,
			Some(list) => list.get(rows.roots_done).copied().unwrap_or(0),
		};
		let enclosing = rows.inside.of(call.seq).unwrap_or(NO_OP);
		call.depth = rows.depth_in(enclosing);
		let outermost = rows.maps.nature(call.op).outermost();
		call.valid |= has::CALL | if call.depth > 0 { has::TOPMOST } else { outermost };
		rows.roots_done += 1;
		if call.start == NO_TIME {
			call.start = call.duration;
			call.duration = 0;
		}
		if !rows.side_time.is_empty() {
			let side = rows.side_time.get(&call.seq).copied().unwrap_or(0);
			call.nested = side.min(call.duration);
		}
		rows.inside.forget(call.seq);
		call.runtime = rows.is_runtime(call, enclosing);
		self.count(call, enclosing);
		self.out.calls.push(call);
		self.hand_over();
	}

	/// A call's share of `counters`, `tops` and `heat`.
	#[inline]
	fn count(&mut self, call: &CallRow, enclosing: u16) {
		if !self.out.apart.is_empty()
			&& let Some(around) = self.out.apart.get_mut(&call.seq)
		{
			*around = enclosing;
			return;
		}
		let rows = &*self.rows;
		let lane = LaneKey {
			stream: rows.local,
			object: call.if_has(has::OBJECT, call.object).unwrap_or(NO_OBJECT),
			op: call.op,
			enclosing,
		};
		let key = || rows.key(call.if_has(has::FILE, call.file), call.op, enclosing);
		let CallRow { bytes, start, duration, .. } = *call;
		let counted = Counted { error: call.error != 0, bytes, start, duration };
		let at = self.out.counters.call(&lane, key, &counted);
		let plan = rows.maps.plans.get(usize::from(call.op));
		let Some(moves) = plan.and_then(|plan| plan.moves) else { return };
		// What stands beside was asked for by another row.
		let asks = call.error == 0 && call.state == 0 && !plan.is_some_and(|plan| plan.beside);
		let access = asks.then(|| rows.maps.access(call));
		self.out.counters.access(at, access.as_ref(), moves);
		if !call.runtime {
			let bin = Bin { calls: 1, bytes, time: duration };
			self.out.heat.add(rows.heat_key(moves), &Moved { start, duration, bin });
		}
	}

	#[inline]
	fn hand_over(&mut self) {
		if self.out.calls.len() >= BATCH_ROWS {
			(self.full)(self.out);
		}
	}

	/// Times, numbers and fields of the run. Parent's ordinal and nested time come when the tree is whole.
	/// A start that is not known is `NO_TIME`, and the end stands in for the duration.
	#[inline]
	fn convert(&mut self, row: &Row<'_>) -> CallRow {
		let maps = self.rows.maps;
		let mut ended = self.clock.ns(row.ended);
		if row.state == State::Open {
			ended = ended.max(self.rows.end.unwrap_or(ended));
		}
		let began = row.began.map(|tick| self.clock.ns(tick));
		let op = row.op.and_then(|op| maps.ops.get(op)).unwrap_or(maps.unknown_op);
		let mut call = CallRow {
			seq: row.seq,
			op,
			start: began.unwrap_or(NO_TIME),
			duration: began.map_or(ended, |began| (ended - began).max(0)),
			error: row.error as u32 as i32,
			depth: row.depth as u8,
			state: match row.state {
				State::Done => 0,
				State::Unfinished | State::Open => 1,
				State::Lost => 2,
			},
			..CallRow::default()
		};
		if let Some(parent) = row.parent {
			call.parent = u64::from(self.rows.facts.stream) << 40 | parent;
			call.valid |= has::PARENT;
		}
		if let Some((object, file)) = maps.objects.get(row.object) {
			call.object = object;
			call.file = file.unwrap_or(0);
			call.valid |= has::OBJECT | if file.is_some() { has::FILE } else { 0 };
		}
		if row.site != 0
			&& let Some(site) = maps.sites.get(row.site)
		{
			call.site = site;
			call.valid |= has::SITE;
		}
		let Some(plan) = maps.plans.get(usize::from(op)) else { return call };
		self.fields(row, plan, &mut call);
		if !maps.collectives.is_empty()
			&& let Some(&collective) = maps.collectives.get(&(self.rows.local, row.seq))
		{
			call.collective = collective;
			call.valid |= has::COLLECTIVE;
		}
		call
	}

	#[inline]
	fn fields(&mut self, row: &Row<'_>, plan: &FieldPlan, call: &mut CallRow) {
		if let Some((size, offset)) = row.requested {
			if plan.has_size {
				call.size = size;
				call.valid |= has::SIZE;
			}
			if plan.has_offset {
				set_offset(call, offset, plan.tracked);
			}
		}
		for (i, &value) in row.fields.iter().enumerate().take(MAX_TARGETS) {
			match plan.targets[i] {
				Target::Size => {
					call.size = value;
					call.valid |= has::SIZE;
				}
				Target::Offset => set_offset(call, value, plan.tracked),
				Target::Bytes => {
					call.bytes = value.max(0); // below: it moved none
					call.valid |= has::BYTES;
				}
				Target::Result => {
					call.result = value;
					call.valid |= has::RESULT;
				}
				Target::Selection => {
					if let Some(selection) =
						u32::try_from(value).ok().and_then(|n| self.rows.maps.selections.get(n))
					{
						call.selection = selection;
						call.valid |= has::SELECTION;
					}
				}
				Target::Collective | Target::Other => {
					call.pieces |= plan.pieces == Some(i) && value > 1;
					let id = u64::from(self.rows.facts.stream) << 40 | row.seq;
					self.out.args.value(id, plan.names[i], value);
				}
			}
		}
	}

	/// Writes the calls of one outermost call, or of several when one was lost.
	fn flush(&mut self) {
		let mut batch = std::mem::take(&mut self.rows.pending);
		let pending = &mut batch.calls;
		pending.sort_unstable_by_key(|call| call.seq);
		guess_starts(pending);
		let mut open: Vec<usize> = Vec::new();
		let mut around: Vec<u16> = Vec::with_capacity(pending.len());
		let mut tree = Tree::default();
		let stream = u64::from(self.rows.facts.stream) << 40;
		let mut ordinal = 0;
		for i in 0..pending.len() {
			let call = pending[i];
			let parent = call.parent & ((1 << 40) - 1);
			while call.valid & has::PARENT != 0
				&& open.last().is_some_and(|&above| pending[above].seq != parent)
			{
				open.pop();
			}
			let maker = open.last().copied().filter(|_| self.rows.is_beside(&call));
			let mut above = open.last().copied();
			let mut enclosing = NO_OP;
			let counted = self.rows.inside.of(call.seq);
			if let Some(maker) = maker {
				stand_beside(pending, i, maker);
				(above, enclosing) = (open.iter().rev().nth(1).copied(), around[maker]);
			} else if call.valid & has::PARENT == 0 {
				open.clear();
				above = None;
				(ordinal, enclosing) = self.root(&mut pending[i]);
				let depth = self.rows.depth_in(counted.unwrap_or(NO_OP));
				pending[i].depth = pending[i].depth.max(depth);
			}
			pending[i].call = ordinal;
			pending[i].valid |= has::CALL;
			if let Some(above) = above {
				pending[above].nested += call.duration;
				enclosing = pending[above].op;
				if let Some(base_depth) = pending[above].depth.checked_add(1) {
					pending[i].depth = pending[i].depth.max(base_depth);
				}
			} else if call.valid & has::PARENT != 0 && maker.is_none() {
				pending[i].valid &= !has::PARENT; // its row is nowhere: an unbroken tree matters more
			}
			let nature = self.rows.maps.nature(call.op);
			tree.add(pending, i, above, stream, nature);
			enclosing = counted.unwrap_or(enclosing);
			around.push(enclosing);
			pending[i].runtime = self.rows.is_runtime(&call, enclosing);
			open.push(i);
		}
		for arrival in batch.arrivals.drain(..) {
			match arrival {
				Arrival::Call(seq) => {
					let at = place_of(pending, seq);
					self.count(&pending[at], around[at]);
				}
				Arrival::Counter(counter) => self.counter(&counter),
			}
		}
		self.rows.inside.forget(pending.first().map_or(0, |first| first.seq));
		for mut call in pending.drain(..) {
			if !self.rows.side_time.is_empty() {
				call.nested += self.rows.side_time.get(&call.seq).copied().unwrap_or(0);
			}
			call.nested = call.nested.min(call.duration);
			self.out.calls.push(&call);
		}
		self.rows.pending = batch;
		self.hand_over();
	}

	/// Ordinal in the process of an outermost call, and the op around it: a signal handler's call has those of
	/// the call that it interrupted.
	fn root(&mut self, call: &mut CallRow) -> (u32, u16) {
		let rows = &mut *self.rows;
		let position = rows.roots_done;
		rows.roots_done += 1;
		if let Some((parent, inside, ordinal)) = rows.interrupted.get(&call.seq) {
			call.parent = *parent;
			call.valid |= has::PARENT;
			call.depth = call.depth.saturating_add(inside.depth as u8 + 1);
			let named = |op| rows.maps.ops.get(op).unwrap_or(rows.maps.unknown_op);
			return (*ordinal, inside.op.map_or(rows.maps.unknown_op, named));
		}
		let ordinal = match rows.ordinals {
			None => position as u32,
			Some(list) => list.get(position).copied().unwrap_or(0),
		};
		(ordinal, NO_OP)
	}

	/// What is left when the stream ends.
	pub fn finish(&mut self) {
		if !self.rows.pending.calls.is_empty() {
			self.flush();
		}
	}

	fn lane(&self, op: u32, object: u32, enclosing: u32) -> (LaneKey, Key) {
		let maps = self.rows.maps;
		let named = |op: u32| maps.ops.get(op).unwrap_or(maps.unknown_op);
		let (op, enclosing) = (named(op), enclosing.checked_sub(1).map_or(NO_OP, named));
		let (object, file) = maps.objects.get(object).unwrap_or((NO_OBJECT, None));
		let lane = LaneKey { stream: self.rows.local, object, op, enclosing };
		(lane, self.rows.key(file, op, enclosing))
	}

	fn counter(&mut self, counter: &Counter) {
		let (lane, key) = self.lane(counter.op, counter.object, counter.enclosing);
		let first = self.clock.ns(counter.first);
		// Ticks of a sum are worth what a tick was worth when they were summed.
		let span = counter.last.saturating_sub(counter.first).max(1);
		let rate = (self.clock.ns(counter.first.saturating_add(span)) - first) as f64 / span as f64;
		let ns = |ticks: u64| (ticks as f64 * rate).round() as i64;
		let sum = Sum {
			calls: counter.calls,
			recorded: 0,
			errors: counter.errors,
			bytes: i64::try_from(counter.bytes).unwrap_or(i64::MAX),
			time: ns(counter.ticks),
			shortest: ns(counter.min),
			longest: ns(counter.max),
			first_start: first,
			last_stop: self.clock.ns(counter.last),
			data: None,
		};
		let at = self.out.counters.add(&lane, &key, &sum);
		let plan = self.rows.maps.plans.get(usize::from(key.op));
		if let Some(moves) = plan.and_then(|plan| plan.moves) {
			self.out.counters.add_data(at, counter.data.as_deref(), moves);
		}
	}

	fn tally(&mut self, tally: &Tally) {
		let (lane, key) = self.lane(tally.op, tally.object, tally.enclosing);
		self.out.counters.tally(&lane, &key, tally);
	}

	fn heat(&mut self, heat: &fathom_stream::Heat) {
		let op = self.rows.maps.ops.get(heat.op).unwrap_or(self.rows.maps.unknown_op);
		let plan = self.rows.maps.plans.get(usize::from(op));
		let Some(moves) = plan.and_then(|plan| plan.moves) else { return };
		let key = self.rows.heat_key(moves);
		for (i, bin) in heat
			.bins
			.iter()
			.enumerate()
			.filter(|(_, bin)| bin.calls > 0 || bin.bytes > 0 || bin.ticks > 0)
		{
			let tick = |n: u64| heat.first.saturating_add(n).saturating_mul(1 << heat.shift);
			let start = self.clock.ns(tick(i as u64));
			let duration = (self.clock.ns(tick(i as u64 + 1)) - start).max(1);
			let rate = duration as f64 / (1u64 << heat.shift) as f64;
			let bytes = i64::try_from(bin.bytes).unwrap_or(i64::MAX);
			let time = (bin.ticks as f64 * rate).round() as i64;
			let bin = Bin { calls: bin.calls, bytes, time };
			self.out.heat.add(key, &Moved { start, duration, bin });
		}
	}
}

impl StreamRows<'_> {
	fn key(&self, file: Option<u32>, op: u16, enclosing: u16) -> Key {
		Key {
			process: self.facts.process,
			other_thread: self.other_thread,
			file: file.unwrap_or(NO_FILE),
			op,
			enclosing,
		}
	}

	fn is_runtime(&self, call: &CallRow, enclosing: u16) -> bool {
		let key = self.key(call.if_has(has::FILE, call.file), call.op, enclosing);
		self.maps.runtime.has(&key)
	}

	/// Calls around one that no recorded call is around: 1 where it lies in one that is only counted, and no region.
	fn depth_in(&self, counted: u16) -> u8 {
		u8::from(counted != NO_OP && !self.maps.nature(counted).is_region())
	}

	/// Is it in the row of the call that it stands beside? Where that has none, the runtime says what is around.
	fn is_beside(&self, call: &CallRow) -> bool {
		let plan = self.maps.plans.get(usize::from(call.op));
		plan.is_some_and(|plan| plan.beside) && self.inside.of(call.seq).is_none()
	}

	fn heat_key(&self, moves: Moves) -> HeatKey {
		HeatKey {
			process: self.facts.process,
			layer: moves.layer,
			writes: moves.direction == Direction::Write,
		}
	}
}

impl ImageMaps<'_> {
	#[inline]
	fn nature(&self, op: u16) -> Nature {
		self.plans.get(usize::from(op)).map_or(Nature::UNKNOWN, |plan| plan.nature)
	}

	#[inline]
	fn access(&self, call: &CallRow) -> Access {
		let known = |bit, value: i64| (call.valid & bit != 0 && value >= 0).then_some(value);
		let (requested, moved) = (known(has::SIZE, call.size), known(has::BYTES, call.bytes));
		let offset = known(has::OFFSET, call.offset);
		let amount = moved.or(requested);
		let selection = call
			.if_has(has::SELECTION, call.selection)
			.and_then(|n| self.shapes.get(n.checked_sub(self.first_selection)? as usize).copied());
		Access {
			size: requested.or(moved),
			amount,
			offset,
			shape: shape(selection, offset, amount.unwrap_or(0)),
			pieces: call.pieces,
		}
	}
}

impl Pending {
	fn push(&mut self, call: CallRow) {
		self.arrivals.push(Arrival::Call(call.seq));
		self.calls.push(call);
	}
}

/// Where the call of this seq is: mostly they count up without a gap.
#[inline]
fn place_of(sorted: &[CallRow], seq: u64) -> usize {
	let guess = (seq - sorted[0].seq) as usize;
	if sorted.get(guess).is_some_and(|call| call.seq == seq) {
		return guess;
	}
	sorted.partition_point(|call| call.seq < seq)
}

/// A completion, or the other side of a copy, belongs to whoever made the call that it is recorded in.
fn stand_beside(calls: &mut [CallRow], i: usize, maker: usize) {
	let CallRow { parent, depth, site, valid, .. } = calls[maker];
	let inherited = has::PARENT | has::SITE;
	calls[i] = CallRow {
		parent,
		depth,
		site,
		valid: calls[i].valid & !inherited | valid & inherited,
		..calls[i]
	};
}

#[inline]
fn set_offset(call: &mut CallRow, value: i64, tracked: bool) {
	call.valid |= has::OFFSET_FROM;
	if value == UNKNOWN_OFFSET {
		call.offset_from = 2;
	} else {
		call.offset = value;
		call.offset_from = u8::from(tracked);
		call.valid |= has::OFFSET;
	}
}

/// A call whose start nobody knows began no later than the first call inside it.
fn guess_starts(pending: &mut [CallRow]) {
	for i in (0..pending.len()).rev() {
		if pending[i].start != NO_TIME {
			continue;
		}
		let ended = pending[i].duration;
		let next = pending.get(i + 1).filter(|next| next.depth > pending[i].depth);
		let start = next.map_or(ended, |next| next.start).min(ended);
		pending[i].start = start;
		pending[i].duration = ended - start;
	}
}
