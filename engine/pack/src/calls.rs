//! Second pass over a stream: its calls as rows of `calls`, in the order of their starts.
//!
//! Calls come out of a stream as they end. Those below one outermost call are kept until it ends too, then
//! sorted by seq, which is the order of starts.

use std::collections::HashMap;

use fathom_stream::{Record, UNKNOWN_OFFSET};

use crate::clock::Reader;
use crate::columns::{ArgColumns, CallColumns, CallRow, LinkColumns, StreamFacts, has};
use crate::counters::{Counters, NO_OP};
use crate::define::{MAX_TARGETS, Target};
use crate::heat::Heat;
use crate::image_maps::{FieldPlan, ImageMaps};
use crate::outermost::{Inside, Pending};
use crate::server_links::FileAccesses;
use crate::survey::Interrupted;
use crate::walk::{Row, State, Visitor};

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
pub const NO_TIME: i64 = i64::MIN;

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
		} else if self.rows.pending.is_empty() && self.rows.interrupted.is_empty() {
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
			Record::Counter(counter) if !self.rows.pending.is_empty() => {
				self.rows.pending.count(counter.clone());
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

	#[inline]
	pub fn hand_over(&mut self) {
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

	/// What is left when the stream ends.
	pub fn finish(&mut self) {
		if !self.rows.pending.is_empty() {
			self.flush();
		}
	}
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
