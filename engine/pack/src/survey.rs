//! First pass over a process image: what it names, how much there is, and what ties it to others.
//! Nothing of its calls is kept but the collective ones and, with several threads, when outermost ones began.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use fathom_stream::{
	Chunk, Clock, Counter, Decoder, Link, Mark, Record, ThreadUse, UNKNOWN_OFFSET, link_kind,
	object_class,
};
use serde::{Deserialize, Serialize};

use crate::counters::Direction;
use crate::define::{self, Definitions, REMOVED, RENAMED, Target, USED_BY};
use crate::descriptors::{Descriptors, is_nameless};
use crate::error::PackError;
use crate::image::{Loaded, StreamChunks};
use crate::run::Image;
use crate::walk::{Row, State, Visitor, Walker};

#[derive(Debug, Serialize, Deserialize)]
pub struct StreamSurvey {
	pub id: u64,
	pub pid: u32,
	pub tid: u32,
	pub side: bool,
	pub base_stream: u64,
	pub events: u64,
	pub chunks: u64,
	pub chunks_missing: u64,
	pub complete: bool,
	pub first_tick: u64,
	pub last_tick: u64,
	pub file: usize,
	/// When outermost calls began; only where other streams of the process have some too.
	pub roots: Vec<u64>,
	/// Of a side stream: their seqs.
	pub root_seqs: Vec<u64>,
	pub counted: u64,
	/// What the kernel gave its thread from the first to the last that is known of it.
	pub thread_use: Option<ThreadUse>,
}

/// A call that all ranks of a group make together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CollectiveCall {
	/// Index into [`Survey::streams`].
	pub stream: u32,
	pub seq: u64,
	pub op: u32,
	pub object: u32,
	/// The object that has the group.
	pub holder: u32,
	pub ordinal: u64,
	pub began: u64,
	pub ended: u64,
	pub bytes: Option<i64>,
	pub size: Option<i64>,
	pub failed: bool,
	/// Its process ended in it.
	pub open: bool,
	pub offset: Option<i64>,
	/// The offset that the program gave is its view's first byte.
	pub at_start: bool,
	/// The image's own number of the view in force; 0: every byte.
	pub selection: u32,
	/// Of an MPI-IO call that moves data.
	pub direction: Option<Direction>,
	/// Range of [`Survey::below`].
	pub below: Range<u32>,
	/// There were more than are kept.
	pub below_lost: bool,
	/// A post: it may end after the call does.
	pub posts: bool,
	/// The seq of the call of its thread that saw it completed.
	pub completed: Option<u64>,
}

/// A wait or test of MPI-IO in which data moved: what was posted before it went on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wait {
	/// Index into [`Survey::streams`].
	pub stream: u32,
	pub seq: u64,
	/// Range of [`Survey::below`].
	pub below: Range<u32>,
	/// There were more than are kept.
	pub below_lost: bool,
}

/// A read or write of POSIX inside a collective call of MPI-IO or a wait for one; or a request of asynchronous I/O.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Below {
	pub seq: u64,
	pub object: u32,
	pub direction: Direction,
	pub offset: Option<i64>,
	pub bytes: i64,
}

/// Which call of its thread a signal handler's outermost call was made in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Interrupted {
	/// Index into [`Survey::streams`].
	pub stream: u32,
	pub seq: u64,
	pub depth: u32,
	pub op: Option<u32>,
	/// Ordinal of the outermost call around it, in its stream.
	pub root: u64,
	pub began: u64,
	pub duration: u64,
}

/// A call that gave a file another name.
#[derive(Debug, Serialize, Deserialize)]
pub struct Renamed {
	/// The descriptor that this image last opened by the old name; 0: none.
	pub object: u32,
	pub from: String,
	pub to: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Damaged {
	pub file: String,
	pub byte: u64,
	pub bytes: u64,
	pub reason: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Survey {
	pub streams: Vec<StreamSurvey>,
	pub definitions: Definitions,
	pub clock: u8,
	pub samples: Vec<Clock>,
	pub collectives: Vec<CollectiveCall>,
	/// What the collective calls of MPI-IO and the waits are made of, each one's together.
	pub below: Vec<Below>,
	/// By stream and seq.
	pub waits: Vec<Wait>,
	/// Key: side stream's index and its call's seq.
	pub interrupted: HashMap<(u32, u64), Interrupted>,
	/// Names of textual arguments.
	pub text_names: BTreeSet<String>,
	pub damage: Vec<Damaged>,
	pub renamed: Vec<Renamed>,
	/// Paths that were removed.
	pub removed: HashSet<String>,
	/// Sockets, pipes and queues of events, each with the sites of its calls.
	pub nameless: BTreeSet<(u32, u32)>,
	/// The same of calls that are not there any more, each with the name of a module.
	pub used_by: BTreeSet<(u32, String)>,
	/// It keeps fragments of a dispersed volume of GlusterFS.
	pub dispersed: bool,
	pub chunks: u64,
	/// The image's ring was recovered: it did not end in order.
	pub killed: bool,
	/// Calls were open when its process ended.
	pub open: bool,
	pub alive: bool,
}

impl Survey {
	/// Sockets, pipes and queues of events, each with the name of a module that used it.
	pub fn users(&self) -> impl Iterator<Item = (u32, &str)> {
		let Definitions { sites, modules, .. } = &self.definitions;
		let module = |site| modules.get(&sites.get(site)?.module);
		let seen = self.nameless.iter().filter_map(move |(object, site)| {
			module(site).map(|module| (*object, define::last_name(&module.path)))
		});
		let seen: BTreeSet<(u32, &str)> = seen.collect();
		seen.into_iter().chain(self.used_by.iter().map(|(object, name)| (*object, name.as_str())))
	}

	pub fn events(&self) -> u64 {
		self.streams.iter().map(|stream| stream.events).sum()
	}

	/// The waits in which a posted call can have moved its bytes: those of its thread up to the one that saw it completed.
	pub fn waits_of(&self, call: &CollectiveCall) -> &[Wait] {
		let until = |seq| self.waits.partition_point(|w| (w.stream, w.seq) <= (call.stream, seq));
		call.completed.map_or(&[], |last| &self.waits[until(call.seq)..until(last.max(call.seq))])
	}
}

/// Surveys one image. `alive`: its process still runs. `most_below`: rows of [`Survey::below`] that are kept.
pub fn survey(image: &Image, alive: bool, most_below: usize) -> Result<Survey, PackError> {
	let loaded = Loaded::read(image)?;
	let content = loaded.content();
	let mut survey = Survey { chunks: content.chunks, alive, ..Survey::default() };
	let name = |file: usize| loaded.files[file].0.display().to_string();
	for (file, skip) in &content.skipped {
		survey.damage.push(Damaged {
			file: name(*file),
			byte: skip.offset,
			bytes: skip.bytes,
			reason: skip.reason.to_string(),
		});
	}
	if content.streams.is_empty() && content.skipped.is_empty() && !alive {
		survey.damage.push(Damaged {
			file: name(0),
			byte: 0,
			bytes: 0,
			reason: "empty: nothing of its process is left".into(),
		});
	}
	let mut decoder = Decoder::new();
	let mut side_calls: HashMap<u64, Vec<SideCall>> = HashMap::new();
	let mut descriptors = Descriptors::default();
	for (index, stream) in ordered(&content.streams).into_iter().enumerate() {
		let waiting = side_calls.remove(&stream.id);
		let mut pass = Pass::new(&mut survey, &mut descriptors, index as u32, stream, waiting);
		pass.most_below = most_below;
		pass.run(&mut decoder, stream, alive);
		let Pass { summary, walker, side_rows, .. } = pass;
		if is_side(stream) && summary.base_stream != 0 {
			side_calls.entry(summary.base_stream).or_default().extend(side_rows);
		}
		for damage in &walker.damage {
			let chunk = stream.chunks.iter().find(|chunk| chunk.header.number == damage.number);
			survey.damage.push(Damaged {
				file: name(stream.file),
				byte: chunk.map_or(0, |chunk| chunk.offset) + damage.byte as u64,
				bytes: chunk.map_or(0, |chunk| (chunk.bytes.len() - damage.byte) as u64),
				reason: damage.reason.to_string(),
			});
		}
		survey.streams.push(summary);
	}
	let objects = &survey.definitions.objects;
	let is_known =
		|object: &u32| objects.get(object).is_some_and(|one| is_nameless(one.name.as_bytes()));
	survey.nameless.retain(|(object, _)| is_known(object));
	number_collectives(&mut survey);
	forget_single_roots(&mut survey);
	Ok(survey)
}

/// The order in which [`survey`] numbers an image's streams: those of signal handlers before the ones that
/// they interrupted.
pub fn ordered<'c, 'a>(streams: &'c [StreamChunks<'a>]) -> Vec<&'c StreamChunks<'a>> {
	let mut order: Vec<_> = streams.iter().collect();
	order.sort_by_key(|stream| !is_side(stream));
	order
}

fn is_side(stream: &StreamChunks<'_>) -> bool {
	stream.chunks.first().is_some_and(|chunk| chunk.header.side())
}

fn thread_use(stream: &StreamChunks<'_>) -> Option<ThreadUse> {
	let of_chunk = |chunk: &Chunk<'_>| [chunk.header.use_begin, chunk.header.use_seal];
	let mut known = stream.chunks.iter().flat_map(of_chunk).flatten();
	let first = known.next()?;
	Some(known.last()?.since(first))
}

/// An outermost call of a side stream, waiting for the call that it was made in.
#[derive(Debug, Clone, Copy)]
struct SideCall {
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

/// Reads and writes of POSIX that have ended, on their way to the MPI-IO call around them.
#[derive(Debug, Default)]
struct Transfers {
	waiting: Vec<Below>,
	/// Calls up to this seq have lost some.
	lost: u64,
}

impl Transfers {
	/// Outside of MPI-IO they wait for nothing: a program's region may last.
	const WAITING: usize = 1 << 18;

	fn push(&mut self, below: Below) {
		if self.waiting.len() >= Self::WAITING {
			let half = Self::WAITING / 2;
			self.lost = self.waiting[half - 1].seq;
			self.waiting.drain(..half);
		}
		self.waiting.push(below);
	}

	/// Those inside the call of this seq, which ends now: all that began after it.
	fn inside(&mut self, seq: u64) -> std::vec::Drain<'_, Below> {
		let from = self.waiting.partition_point(|below| below.seq < seq);
		self.waiting.drain(from..)
	}
}

struct Pass<'s> {
	survey: &'s mut Survey,
	descriptors: &'s mut Descriptors,
	index: u32,
	summary: StreamSurvey,
	walker: Walker,
	/// Waiting calls of the side streams of this thread, by their begin.
	waiting: Vec<SideCall>,
	side_rows: Vec<SideCall>,
	roots_done: u64,
	/// By op: what may be noted of its calls.
	notable: Vec<Notable>,
	transfers: Transfers,
	most_below: usize,
	/// The last other name that a call gave, and that call's seq.
	other_name: Option<(u64, String)>,
}

impl<'s> Pass<'s> {
	fn new(
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

	fn run(&mut self, decoder: &mut Decoder, stream: &StreamChunks<'_>, alive: bool) {
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

	fn collective(&mut self, row: &Row<'_>, op: u32) {
		let Some(def) = self.survey.definitions.ops.get(&op) else { return };
		let flagged = def.field(Target::Collective).and_then(|i| row.fields.get(i));
		if !def.collective && flagged.is_none_or(|&value| value == 0) {
			return;
		}
		let field = |target| def.field(target).and_then(|i| row.fields.get(i)).copied();
		let bytes = field(Target::Bytes);
		let view_offset = def.fields.iter().position(|name| name == "view_offset");
		let below = self.survey.below.len() as u32;
		self.survey.collectives.push(CollectiveCall {
			stream: self.index,
			seq: row.seq,
			op,
			object: row.object,
			holder: 0,
			ordinal: 0,
			began: row.began.unwrap_or(row.ended),
			ended: row.ended,
			bytes,
			size: field(Target::Size),
			failed: row.error != 0,
			open: row.state == State::Open,
			offset: field(Target::Offset).filter(|&offset| offset != UNKNOWN_OFFSET),
			at_start: view_offset.and_then(|i| row.fields.get(i)) == Some(&0),
			selection: field(Target::Selection).and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
			direction: def.direction.filter(|_| def.layer == "mpiio"),
			below: below..below,
			below_lost: false,
			posts: def.kind == "post",
			completed: None,
		});
	}

	/// A wait of this thread says what it saw completed: one of the last posts, as a rule.
	fn completed(&mut self, link: &Link) {
		if link.kind != link_kind::COMPLETES || link.to_stream != self.summary.id {
			return;
		}
		let posts = self.survey.collectives.iter_mut().rev();
		let mut posts = posts.take_while(|call| call.stream == self.index);
		if let Some(post) = posts.find(|call| call.seq <= link.to_seq)
			&& post.seq == link.to_seq
		{
			post.completed = Some(link.seq);
		}
	}

	/// A read or write of POSIX inside another call.
	fn transfer(&mut self, row: &Row<'_>, op: u32, direction: Direction) {
		let Some(def) = self.survey.definitions.ops.get(&op) else { return };
		let field = |target| def.field(target).and_then(|i| row.fields.get(i)).copied();
		let moved = if def.kind == "post" { Target::Size } else { Target::Bytes };
		let bytes = field(moved).unwrap_or(0);
		if bytes > 0 && row.error == 0 {
			let offset = field(Target::Offset).filter(|&offset| offset != UNKNOWN_OFFSET);
			let (seq, object) = (row.seq, row.object);
			self.transfers.push(Below { seq, object, direction, offset, bytes });
		}
	}

	/// Stores the transfers below a call, or marks them lost where they are too many.
	fn keep_below(&mut self, row: &Row<'_>) -> (Range<u32>, bool) {
		let lost = self.transfers.lost > row.seq;
		let inside = self.transfers.inside(row.seq);
		let below = &mut self.survey.below;
		let from = below.len() as u32;
		let lost = lost || below.len() + inside.len() > self.most_below;
		if !lost {
			below.extend(inside);
		}
		(from..below.len() as u32, lost)
	}

	/// A read or write of MPI-IO takes the transfers below it; only collective calls store them.
	fn take_below(&mut self, row: &Row<'_>, before: usize) {
		if self.survey.collectives.len() == before {
			self.transfers.inside(row.seq);
			return;
		}
		let (below, lost) = self.keep_below(row);
		if let Some(call) = self.survey.collectives.last_mut() {
			(call.below, call.below_lost) = (below, lost);
		}
	}

	fn take_waited(&mut self, row: &Row<'_>) {
		let (below, below_lost) = self.keep_below(row);
		if below_lost || !below.is_empty() {
			self.survey.waits.push(Wait { stream: self.index, seq: row.seq, below, below_lost });
		}
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

/// The n-th collective call on a handle, by start, in the whole image; calls of groups of one are none.
fn number_collectives(survey: &mut Survey) {
	let definitions = &survey.definitions;
	survey.collectives.retain_mut(|call| match definitions.group_of(call.object) {
		Some((holder, group)) if group.size > 1 => {
			call.holder = holder;
			true
		}
		_ => false,
	});
	survey.collectives.sort_by_key(|call| (call.holder, call.began, call.stream, call.seq));
	let mut before = (0, 0);
	for call in &mut survey.collectives {
		before =
			if before.0 == call.holder { (call.holder, before.1 + 1) } else { (call.holder, 0) };
		call.ordinal = before.1;
	}
}

/// Ordinals of a process with one stream need no merging.
fn forget_single_roots(survey: &mut Survey) {
	let mut streams_of: HashMap<u32, u32> = HashMap::new();
	for stream in survey.streams.iter().filter(|stream| !stream.roots.is_empty()) {
		*streams_of.entry(stream.pid).or_default() += 1;
	}
	for stream in &mut survey.streams {
		if streams_of.get(&stream.pid).copied().unwrap_or(0) < 2 {
			stream.roots = Vec::new();
		}
	}
}

/// For each stream, the ordinals in its process of its outermost calls, in the stream's order. `None`: the
/// process has this one stream, and they count from 0.
pub fn ordinals(survey: &Survey) -> Vec<Option<Vec<u32>>> {
	let mut result: Vec<Option<Vec<u32>>> = survey.streams.iter().map(|_| None).collect();
	let mut by_pid: HashMap<u32, Vec<(u64, u32, u32)>> = HashMap::new();
	for (index, stream) in survey.streams.iter().enumerate() {
		if !stream.roots.is_empty() {
			result[index] = Some(vec![0; stream.roots.len()]);
		}
		for (n, &began) in stream.roots.iter().enumerate() {
			let seq = stream.root_seqs.get(n).copied();
			let inside =
				seq.is_some_and(|seq| survey.interrupted.contains_key(&(index as u32, seq)));
			if !inside {
				by_pid.entry(stream.pid).or_default().push((began, index as u32, n as u32));
			}
		}
	}
	for roots in by_pid.values_mut() {
		roots.sort_unstable();
		for (ordinal, &(_, stream, n)) in roots.iter().enumerate() {
			if let Some(list) = &mut result[stream as usize] {
				list[n as usize] = ordinal as u32;
			}
		}
	}
	result
}
