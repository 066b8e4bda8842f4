//! A process image's streams anew, without its calls: what they define, and the sums of all calls, so that packing gives
//! the same sums as before.

use std::collections::{HashMap, HashSet};

use fathom_stream::{
	Chunk, ChunkWriter, Counter, CounterData, Cursor, Decoder, FileData, HEADER, Heat, HeatBin,
	Inside, Item, Record, SomeCounts, Tally, Unfinished, chunk_flag, put_text, put_varint,
	record_type,
};

use crate::clock::Line;
use crate::common_values::Top;
use crate::counters::{EVERY_COUNT, Key, LaneKey, NO_OBJECT, NO_OP, Sum};
use crate::define::{REMOVED, RENAMED, USED_BY};
use crate::heat::{Bin, HeatKey};
use crate::image::{Content, StreamChunks};
use crate::merged::{ImageState, Merged};
use crate::survey_image::ordered;

/// Chunks that a stream keeps as such, at most: each has a reading of the clock.
const CHUNKS: usize = 64;
/// Bytes of records from which on a chunk is full.
const FULL: usize = 1 << 18;

/// What the calls of an image come to.
#[derive(Debug, Default)]
pub struct Sums {
	pub rows: Vec<(Key, Sum)>,
	/// Of each row, calls that it is of.
	pub homes: Vec<LaneKey>,
	pub tops: Vec<Top>,
	pub heat: Vec<(HeatKey, i64, Bin)>,
	/// Calls that never ended, with their stream in the survey and the op around each. They stay.
	pub open: Vec<(u32, u16, Unfinished)>,
}

/// A mark that the new streams begin to have.
pub struct Note<'n> {
	pub kind: &'n str,
	pub detail: &'n str,
	pub value: u64,
}

/// The new streams of an image; `None`: some calls are of nothing that has a name.
pub fn thinned(
	merged: &Merged,
	state: &ImageState,
	line: &Line,
	heat_width: i64,
	content: &Content<'_>,
	sums: &Sums,
	note: &Note<'_>,
) -> Option<Vec<u8>> {
	let streams = ordered(&content.streams);
	let mut ops = HashMap::new();
	for (number, op) in &state.survey.definitions.ops {
		ops.insert(*merged.op_numbers.get(op)?, *number);
	}
	let named = |op: u16| op == NO_OP || ops.contains_key(&op);
	let known = |(key, _): &(Key, Sum)| named(key.op) && named(key.enclosing);
	if !sums.rows.iter().all(known) || !sums.open.iter().all(|(_, around, _)| named(*around)) {
		return None;
	}
	let repeated = repeated(state, sums);
	let sites = !sums.open.is_empty();
	let op_records = HashMap::new();
	let (datatypes, out) = (HashSet::new(), Vec::new());
	let mut image = Image { state, line, ops, op_records, repeated, datatypes, sites, out };
	let last = streams.len() - 1;
	for (local, stream) in streams.into_iter().enumerate() {
		let mut writer = image.definitions(stream);
		if local == last {
			image.facts(&mut writer, note);
		}
		image.sums(&mut writer, local as u32, sums);
		let process = state.processes[local];
		if state.processes.iter().position(|&of| of == process) == Some(local) {
			image.heat(&mut writer, process, merged, heat_width, &sums.heat);
		}
		image.open(&mut writer, local as u32, &sums.open);
		image.out.extend(writer.current.chunk.seal(writer.last));
	}
	Some(image.out)
}

struct Image<'i> {
	state: &'i ImageState,
	line: &'i Line,
	/// From the run's numbers to the image's.
	ops: HashMap<u16, u32>,
	/// As they stand in the stream.
	op_records: HashMap<u32, Vec<u8>>,
	/// Objects that are left out.
	repeated: HashSet<u32>,
	/// Those that have a name in the new streams.
	datatypes: HashSet<u32>,
	/// Are there calls left that have sites?
	sites: bool,
	out: Vec<u8>,
}

/// Objects like the one of their name before, of which nothing is left that needs them: of a file that is opened often.
fn repeated(state: &ImageState, sums: &Sums) -> HashSet<u32> {
	let definitions = &state.survey.definitions;
	let number = |object: u32| state.objects[(object - state.first_object) as usize].0;
	let homes = sums.homes.iter().map(|home| home.object).filter(|&object| object != NO_OBJECT);
	let needed: HashSet<u32> = homes
		.map(number)
		.chain(sums.open.iter().map(|(.., row)| row.object))
		.chain(definitions.objects.values().map(|object| object.parent))
		.chain(definitions.groups.keys().copied())
		.chain(definitions.hints.iter().map(|hint| hint.object))
		.chain(state.survey.renamed.iter().map(|renamed| renamed.object))
		.collect();
	let mut latest = HashMap::new();
	let mut repeated = HashSet::new();
	for (number, _) in &state.objects {
		let object = &definitions.objects[number];
		let alike = object.numbers.get(1..); // the first of a descriptor is its number
		let before = latest.insert((object.class, object.parent, &object.name), alike);
		if before == Some(alike) && !needed.contains(number) {
			repeated.insert(*number);
		}
	}
	repeated
}

/// A chunk that is being written, and the ops that it names.
struct Current {
	chunk: ChunkWriter,
	named: HashSet<u32>,
}

/// One stream on its way.
struct Stream {
	header: fathom_stream::Header,
	current: Current,
	/// Flags of its last chunk.
	last: u32,
}

impl Stream {
	/// Goes on in another chunk where this one is full.
	fn make_room(&mut self, out: &mut Vec<u8>) {
		if self.current.chunk.committed() < FULL {
			return;
		}
		self.header.number += 1;
		let next = Current { chunk: ChunkWriter::new(&self.header), named: HashSet::new() };
		out.extend(std::mem::replace(&mut self.current, next).chunk.seal(0));
	}
}

/// What is to be done with a record.
enum Fate {
	Drop,
	Copy,
	Op(u32),
	Object(u32),
	Datatype(u32),
}

fn fate(record: &Record<'_>, sites: bool) -> Fate {
	match record {
		Record::Op(op) => Fate::Op(op.op),
		Record::Datatype(datatype) => Fate::Datatype(datatype.datatype),
		Record::Object(object) => Fate::Object(object.object),
		Record::Site(_) if sites => Fate::Copy,
		Record::Site(_)
		| Record::Selection(_)
		| Record::Link(_)
		| Record::Text(_)
		| Record::Open(_)
		| Record::Unfinished(_)
		| Record::Inside(_)
		| Record::Counter(_)
		| Record::Tally(_)
		| Record::Heat(_) => Fate::Drop,
		_ => Fate::Copy,
	}
}

impl Image<'_> {
	/// Chunks with what the stream defines; the last one is still open.
	fn definitions(&mut self, stream: &StreamChunks<'_>) -> Stream {
		let chunks = &stream.chunks;
		let step = chunks.len().div_ceil(CHUNKS);
		let mut decoder = Decoder::new();
		let mut number = 0;
		let mut first = &chunks[0];
		let mut body = Vec::new();
		for (i, chunk) in chunks.iter().enumerate() {
			self.records(&mut decoder, chunk, &mut body);
			let full = (i + 1) % step == 0 || body.len() >= FULL;
			let Some(next) = chunks.get(i + 1) else { break };
			if full {
				let header = header(first, chunk, number);
				let mut writer = ChunkWriter::new(&header);
				writer.records(&std::mem::take(&mut body));
				self.out.extend(writer.seal(0));
				(number, first) = (number + 1, next);
			}
		}
		let end = &chunks[chunks.len() - 1];
		let header = header(first, end, number);
		let mut chunk = ChunkWriter::new(&header);
		chunk.records(&body);
		let last = end.header.flags & (chunk_flag::LAST | chunk_flag::BEFORE_EXEC);
		Stream { header, current: Current { chunk, named: HashSet::new() }, last }
	}

	fn records(&mut self, decoder: &mut Decoder, chunk: &Chunk<'_>, body: &mut Vec<u8>) {
		let mut rows = decoder.rows(chunk);
		loop {
			let from = rows.place().bytes;
			let fate = match rows.next() {
				Some(Ok(Item::Record(record))) => fate(&record, self.sites),
				Some(Ok(_)) => Fate::Drop,
				Some(Err(_)) | None => return, // of damaged images nothing is made anew
			};
			let bytes = &chunk.rows[from..rows.place().bytes];
			match fate {
				Fate::Drop => {}
				Fate::Datatype(number) if !self.datatypes.insert(number) => {}
				Fate::Datatype(_) | Fate::Copy => body.extend_from_slice(bytes),
				Fate::Object(object) if self.repeated.contains(&object) => {}
				Fate::Object(_) => body.extend(without_maker(bytes)),
				Fate::Op(op) => {
					self.op_records.entry(op).or_insert_with(|| {
						body.extend_from_slice(bytes);
						bytes.to_vec()
					});
				}
			}
		}
	}

	/// Facts that only calls told, and what became of these.
	fn facts(&self, stream: &mut Stream, note: &Note<'_>) {
		let survey = &self.state.survey;
		let objects = &survey.definitions.objects;
		let ticks = survey.streams.iter().map(|stream| stream.last_tick).max().unwrap_or(0);
		let chunk = &mut stream.current.chunk;
		for renamed in &survey.renamed {
			let names = format!("{}\0{}", renamed.from, renamed.to);
			chunk.mark(ticks, RENAMED.as_bytes(), names.as_bytes(), renamed.object.into());
		}
		let gone = |number: &u32| survey.removed.contains(&objects[number].name);
		for number in self.state.objects.iter().map(|(number, _)| *number).filter(gone) {
			chunk.mark(ticks, REMOVED.as_bytes(), b"", number.into());
		}
		for (object, module) in survey.users() {
			chunk.mark(ticks, USED_BY.as_bytes(), module.as_bytes(), object.into());
		}
		chunk.mark(ticks, note.kind.as_bytes(), note.detail.as_bytes(), note.value);
	}

	/// The image's number of an op, which the chunk names.
	fn name(&self, stream: &mut Stream, op: u16) -> u32 {
		let number = self.ops.get(&op).copied().unwrap_or(0);
		if stream.current.named.insert(number)
			&& let Some(record) = self.op_records.get(&number)
		{
			stream.current.chunk.records(record);
		}
		number
	}

	fn enclosing(&self, stream: &mut Stream, op: u16) -> u32 {
		if op == NO_OP { 0 } else { self.name(stream, op) + 1 }
	}

	fn sums(&mut self, stream: &mut Stream, local: u32, sums: &Sums) {
		let mut of_row: HashMap<u32, Vec<&Top>> = HashMap::new();
		for top in &sums.tops {
			of_row.entry(top.row).or_default().push(top);
		}
		for (row, ((key, sum), home)) in sums.rows.iter().zip(&sums.homes).enumerate() {
			if home.stream != local {
				continue;
			}
			stream.make_room(&mut self.out);
			let object = match home.object {
				NO_OBJECT => 0,
				object => self.state.objects[(object - self.state.first_object) as usize].0,
			};
			let (op, enclosing) =
				(self.name(stream, key.op), self.enclosing(stream, key.enclosing));
			let counter = Counter { op, object, enclosing, ..in_ticks(self.line, sum) };
			if sum.calls > 0 {
				stream.current.chunk.counter(&counter);
			}
			for top in of_row.remove(&(row as u32)).unwrap_or_default() {
				let Top { what, value, calls, bound, .. } = *top;
				let what = what as u32;
				let tally = Tally { op, object, enclosing, what, value, calls, bound };
				stream.current.chunk.plain(&tally);
			}
		}
	}

	/// Each bin as one that lies inside it.
	fn heat(
		&mut self,
		stream: &mut Stream,
		process: u32,
		merged: &Merged,
		width: i64,
		rows: &[(HeatKey, i64, Bin)],
	) {
		let layers: Vec<&str> = merged.layers().collect();
		for (key, at, bin) in rows.iter().filter(|(key, ..)| key.process == process) {
			let like = |op: &&u16| {
				let op = &merged.ops[usize::from(**op)];
				let writes = op.direction.map(|d| d == crate::counters::Direction::Write);
				layers.get(usize::from(key.layer)) == Some(&op.layer.as_str())
					&& writes == Some(key.writes)
			};
			let Some(&op) = self.ops.keys().filter(like).min() else { continue };
			stream.make_room(&mut self.out);
			let op = self.name(stream, op);
			let (shift, first) = place(self.line, at * width, width);
			let start = self.line.ns(first << shift);
			let lasts = (self.line.ns((first + 1) << shift) - start).max(1);
			let rate = lasts as f64 / (1u64 << shift) as f64;
			let ticks = (bin.time as f64 / rate).round() as u64;
			let bins = vec![HeatBin { calls: bin.calls, bytes: bin.bytes as u64, ticks }];
			stream.current.chunk.heat(&Heat { op, shift, first, bins });
		}
	}

	/// Calls that never ended, in the order of their starts.
	fn open(&self, stream: &mut Stream, local: u32, open: &[(u32, u16, Unfinished)]) {
		let mut rows: Vec<_> = open.iter().filter(|(of, ..)| *of == local).collect();
		rows.sort_by_key(|(.., row)| row.seq);
		for (_, around, row) in rows {
			let op = self.enclosing(stream, *around);
			if let Some(record) = row.op.checked_sub(1).and_then(|op| self.op_records.get(&op)) {
				stream.current.chunk.records(record);
			}
			stream.current.chunk.plain(&Inside { seq: row.seq, op });
			stream.current.chunk.plain(row);
		}
	}
}

/// Of a new chunk that stands for those from `first` to `last`.
fn header(first: &Chunk<'_>, last: &Chunk<'_>, number: u64) -> fathom_stream::Header {
	let kept = chunk_flag::SIDE | chunk_flag::RING_COPY;
	fathom_stream::Header {
		flags: last.header.flags & kept | chunk_flag::SUMS,
		number,
		next_seq: 0,
		depth: 0,
		seal: last.header.seal,
		use_seal: last.header.use_seal,
		length: HEADER as u16,
		..first.header.clone()
	}
}

/// The record of an object, without the call that made it.
fn without_maker(record: &[u8]) -> Vec<u8> {
	let parts = || {
		let mut at = Cursor::new(record.get(1..)?);
		let payload = at.text().ok()?;
		let mut at = Cursor::new(payload);
		let mut numbers = Vec::new();
		for _ in 0..3 {
			put_varint(&mut numbers, at.varint().ok()?);
		}
		at.varint().ok()?;
		numbers.push(0);
		numbers.extend_from_slice(&payload[at.position()..]);
		Some(numbers)
	};
	let Some(payload) = parts() else { return record.to_vec() };
	let mut out = vec![0x80 | record_type::OBJECT];
	put_text(&mut out, &payload);
	out
}

/// What a reader makes these nanoseconds of again.
fn in_ticks(line: &Line, sum: &Sum) -> Counter {
	let (first, last) = (tick_at(line, sum.first_start), tick_at(line, sum.last_stop));
	let span = last.saturating_sub(first).max(1);
	let rate = (line.ns(first.saturating_add(span)) - line.ns(first)) as f64 / span as f64;
	let ticks = |ns: i64| if rate > 0.0 { (ns as f64 / rate).round() as u64 } else { 0 };
	Counter {
		calls: sum.calls,
		errors: sum.errors,
		bytes: sum.bytes as u64,
		ticks: ticks(sum.time),
		min: ticks(sum.shortest),
		max: ticks(sum.longest),
		first,
		last,
		data: data(sum).map(Box::new),
		..Counter::default()
	}
}

/// The first tick that is no earlier.
fn tick_at(line: &Line, ns: i64) -> u64 {
	let (mut from, mut until) = (0, 1u64 << 62);
	while from < until {
		let middle = from + (until - from) / 2;
		if line.ns(middle) < ns {
			from = middle + 1;
		} else {
			until = middle;
		}
	}
	from
}

/// A bin of ticks that lies in the one from `start` on: its shift and number.
fn place(line: &Line, start: i64, width: i64) -> (u32, u64) {
	let middle = tick_at(line, start + width / 2);
	let quarter = middle.saturating_sub(tick_at(line, start + width / 4));
	let shift = quarter.max(1).ilog2();
	(shift, middle >> shift)
}

fn data(sum: &Sum) -> Option<CounterData> {
	let of = sum.data.as_deref()?;
	if !of.no_files && !of.no_sizes {
		let file = FileData { extents: of.extents, counts: of.counts, ..FileData::default() };
		return Some(CounterData { sizes: of.sizes, file: Some(file), some: None });
	}
	let some = SomeCounts {
		sizes_known: !of.no_sizes,
		known: EVERY_COUNT & !of.unknown,
		counts: of.counts,
	};
	Some(CounterData { sizes: of.sizes, file: None, some: Some(some) })
}
