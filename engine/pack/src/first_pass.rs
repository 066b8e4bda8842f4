//! First pass over a stream: each call is seen once, and little is kept of it.

use fathom_stream::{Chunk, Counter, Decoder, Mark, Record, ThreadUse, object_class};

use crate::counters::Direction;
use crate::define::{self, REMOVED, RENAMED, Target, USED_BY};
use crate::descriptors::Descriptors;
use crate::image::StreamChunks;
use crate::noted_collectives::Transfers;
use crate::survey::{Interrupted, Renamed, StreamSurvey, Survey};
use crate::walk::{Row, State, Visitor, Walker};

/// An outermost call of a side stream, waiting for the call that it was made in.
#[derive(Debug, Clone, Copy)]
pub struct SideCall {
	stream: u32,
	seq: u64,
	began: u64,
	ended: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Notable {
	collective: bool,
	removes: bool,
	/// Moves data: a call of POSIX, a request of asynchronous I/O, or a call of MPI-IO.
	transfer: Option<Direction>,
	mpiio: bool,
	/// Waits for what MPI-IO posted.
	waits: bool,
}

pub struct Pass<'s> {
	pub survey: &'s mut Survey,
	descriptors: &'s mut Descriptors,
	pub index: u32,
	pub summary: StreamSurvey,
	pub walker: Walker,
	/// Waiting calls of the side streams of this thread, by their begin.
	waiting: Vec<SideCall>,
	pub side_rows: Vec<SideCall>,
	roots_done: u64,
	/// By op: what may be noted of its calls.
	notable: Vec<Notable>,
	pub transfers: Transfers,
	pub most_below: usize,
	/// The last other name that a call gave, and that call's seq.
	other_name: Option<(u64, String)>,
}

impl<'s> Pass<'s> {
	pub fn new(
		survey: &'s mut Survey,
		descriptors: &'s mut Descriptors,
		index: u32,
		stream: &StreamChunks<'_>,
		waiting: Option<Vec<SideCall>>,
	) -> Self {
		let header = &stream.chunks[0].header;
		let mut waiting = waiting.unwrap_or_default();
		waiting.sort_by_key(|call| call.began);
		let summary = StreamSurvey {
			id: stream.id,
			pid: header.pid,
			tid: header.tid,
			side: header.side(),
			base_stream: header.base_stream,
			events: 0,
			chunks: stream.chunks.len() as u64,
			chunks_missing: 0,
			complete: false,
			first_tick: header.begin.ticks,
			last_tick: header.begin.ticks,
			file: stream.file,
			roots: Vec::new(),
			root_seqs: Vec::new(),
			counted: 0,
			thread_use: thread_use(stream),
		};
		Pass {
			survey,
			descriptors,
			index,
			summary,
			walker: Walker::default(),
			waiting,
			side_rows: Vec::new(),
			roots_done: 0,
			notable: Vec::new(),
			transfers: Transfers::default(),
			most_below: 0,
			other_name: None,
		}
	}

	pub fn run(&mut self, decoder: &mut Decoder, stream: &StreamChunks<'_>, alive: bool) {
		let mut walker = Walker::default();
		for chunk in &stream.chunks {
			let header = &chunk.header;
			self.survey.clock = header.clock;
			self.survey.killed |= header.ring_copy();
			self.survey.samples.push(header.begin);
			if header.seal.ticks != 0 {
				self.survey.samples.push(header.seal);
				self.summary.last_tick = self.summary.last_tick.max(header.seal.ticks);
			}
			walker.chunk(decoder, chunk, self);
		}
		walker.finish(alive, self);
		let last = stream.chunks.last().is_some_and(|chunk| chunk.header.last());
		self.summary.chunks_missing = walker.chunks_missing;
		self.summary.complete = last && walker.chunks_missing == 0;
		self.summary.last_tick = self.summary.last_tick.max(walker.last_tick());
		self.walker = walker;
	}

	/// Rows come innermost first, so the first call that a side call lies in is the one that it was made in.
	fn catch_side_calls(&mut self, row: &Row<'_>) {
		let began = row.began.unwrap_or(row.ended);
		let from = self.waiting.partition_point(|call| call.began < began);
		while let Some(&call) = self.waiting.get(from).filter(|call| call.ended <= row.ended) {
			self.waiting.remove(from);
			self.survey.interrupted.insert(
				(call.stream, call.seq),
				Interrupted {
					stream: self.index,
					seq: row.seq,
					depth: row.depth,
					op: row.op,
					root: self.roots_done,
					began: call.began,
					duration: call.ended - call.began,
				},
			);
		}
	}

	fn note_op(&mut self, op: u32) {
		const MOST: usize = 1 << 20; // op numbers are small; a larger one is no op of ours
		const REMOVES: [&str; 3] = ["unlink", "unlinkat", "remove"];
		let index = op as usize;
		let Some(def) = self.survey.definitions.ops.get(&op) else { return };
		let notable = Notable {
			collective: def.collective || def.field(Target::Collective).is_some(),
			removes: def.layer == "posix" && REMOVES.contains(&def.name.as_str()),
			transfer: def
				.direction
				.filter(|_| def.layer == "posix" || def.layer == "aio" && def.kind == "post"),
			waits: def.layer == "mpiio" && def.kind == "wait",
			mpiio: def.layer == "mpiio" && def.direction.is_some(),
		};
		if index < MOST && notable != Notable::default() {
			self.notable.resize(self.notable.len().max(index + 1), Notable::default());
			self.notable[index] = notable;
		}
	}

	fn removed(&mut self, object: u32) {
		if let Some(object) = self.survey.definitions.objects.get(&object) {
			self.survey.removed.insert(object.name.clone());
		}
	}

	/// What a mark says in place of a call that is not there any more.
	fn told_of_calls(&mut self, mark: &Mark<'_>) {
		let object = mark.value as u32;
		if mark.kind == REMOVED.as_bytes() {
			self.removed(object);
		} else if mark.kind == USED_BY.as_bytes() {
			self.survey.used_by.insert((object, define::text(mark.detail)));
		} else if mark.kind == RENAMED.as_bytes()
			&& let Some((from, to)) = define::text(mark.detail).split_once('\0')
		{
			let (from, to) = (from.to_owned(), to.to_owned());
			self.survey.renamed.push(Renamed { object, from, to });
		}
	}

	fn counted(&mut self, counter: &Counter) {
		self.summary.counted += counter.calls;
		let removes = self.notable.get(counter.op as usize).is_some_and(|op| op.removes);
		if removes && counter.calls > counter.errors {
			self.removed(counter.object);
		}
	}

	/// A rename or hard link that succeeded. An exchange of two names is left: each file keeps one it had.
	fn renamed(&mut self, row: &Row<'_>, to: String) {
		const NAMES: [&str; 5] = ["rename", "renameat", "renameat2", "link", "linkat"];
		const EXCHANGE: i64 = 2;
		let definitions = &self.survey.definitions;
		let Some(op) = row.op.and_then(|op| definitions.ops.get(&op)) else { return };
		let flags = op.fields.iter().position(|field| field == "flags");
		let exchanges = op.name == "renameat2"
			&& flags.and_then(|i| row.fields.get(i)).is_some_and(|flags| flags & EXCHANGE != 0);
		if !NAMES.contains(&op.name.as_str()) || row.error != 0 || exchanges {
			return;
		}
		let Some(from) = definitions.objects.get(&row.object) else { return };
		let object = self.descriptors.opened.get(&from.name).copied().unwrap_or(0);
		if op.name.starts_with("rename") && object != 0 {
			self.descriptors.opened.remove(&from.name);
			self.descriptors.opened.insert(to.clone(), object);
		}
		self.survey.renamed.push(Renamed { object, from: from.name.clone(), to });
	}
}

impl Visitor for Pass<'_> {
	#[inline]
	fn row(&mut self, row: &Row<'_>) {
		self.summary.events += 1;
		self.survey.open |= row.state == State::Open;
		if !self.waiting.is_empty() {
			self.catch_side_calls(row);
		}
		if row.depth == 0 {
			self.roots_done += 1;
			self.summary.roots.push(row.began.unwrap_or(row.ended));
			if self.summary.side {
				let began = row.began.unwrap_or(row.ended);
				let (stream, seq, ended) = (self.index, row.seq, row.ended);
				self.summary.root_seqs.push(seq);
				self.side_rows.push(SideCall { stream, seq, began, ended });
			}
		}
		if row.site != 0 && self.descriptors.may_be_nameless(row.object) {
			self.survey.nameless.insert((row.object, row.site));
		}
		if let Some((_, to)) = self.other_name.take_if(|(seq, _)| *seq == row.seq) {
			self.renamed(row, to);
		}
		if let Some(op) = row.op
			&& let Some(notable) = self.notable.get(op as usize).copied()
		{
			if notable.waits {
				self.take_waited(row);
			}
			if row.object == 0 {
				return;
			}
			let before = self.survey.collectives.len();
			if notable.collective {
				self.collective(row, op);
			}
			if notable.mpiio {
				self.take_below(row, before);
			}
			if let Some(direction) = notable.transfer
				&& row.depth > 0
			{
				self.transfer(row, op, direction);
			}
			if notable.removes && row.error == 0 {
				self.removed(row.object);
			}
		}
	}

	fn record(&mut self, record: &Record<'_>) {
		match record {
			Record::Counter(counter) => self.counted(counter),
			Record::Link(link) => self.completed(link),
			Record::Mark(mark) => self.told_of_calls(mark),
			Record::Text(text) => {
				let name = String::from_utf8_lossy(text.name);
				if name == "to" {
					self.other_name = Some((text.seq, define::text(text.value)));
				}
				self.survey.dispersed |= name == "name" && text.value.starts_with(b"trusted.ec.");
				if !self.survey.text_names.contains(name.as_ref()) {
					self.survey.text_names.insert(name.into_owned());
				}
			}
			_ => {}
		}
		let (pid, stream) = (self.summary.pid, self.summary.id);
		self.survey.definitions.take(pid, stream, record);
		if let Record::Object(object) = record {
			self.descriptors.add(object);
		}
		match record {
			Record::Op(op) => self.note_op(op.op),
			Record::Object(object) if object.class == object_class::DESCRIPTOR => {
				// A file that is made without a name (O_TMPFILE, tmpfile) is removed from the start.
				if object.name.ends_with(b" (deleted)") && object.numbers.get(9) == Some(&0) {
					self.survey.removed.insert(define::text(object.name));
				}
				self.descriptors.opened.insert(define::text(object.name), object.object);
			}
			_ => {}
		}
	}
}

fn thread_use(stream: &StreamChunks<'_>) -> Option<ThreadUse> {
	let of_chunk = |chunk: &Chunk<'_>| [chunk.header.use_begin, chunk.header.use_seal];
	let mut known = stream.chunks.iter().flat_map(of_chunk).flatten();
	let first = known.next()?;
	Some(known.last()?.since(first))
}

pub fn is_side(stream: &StreamChunks<'_>) -> bool {
	stream.chunks.first().is_some_and(|chunk| chunk.header.side())
}
