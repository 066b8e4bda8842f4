//! Rows of process images, as streams: a file each, a stream per thread.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};

use fathom_stream::{
	Call, ChunkWriter, Clock, FLAG_BEFORE_EXEC, FLAG_LAST, HEADER, Header, NO_SEQ, Object,
	OpRecord, ProcessRecord, Text, UNKNOWN_OFFSET, Unfinished,
};

use crate::calls::{CALLS, Field};

/// A chunk is sealed when it has as much.
const FULL: usize = 56 << 10;
/// Times are nanoseconds, as the monotonic clock's.
const NANOSECONDS: u8 = 1;

pub fn random() -> u64 {
	RandomState::new().build_hasher().finish() | 1
}

/// What a row is about, once per image.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
	/// Of an open file description, by a descriptor.
	Descriptor(u64, i64),
	Path(Vec<u8>),
	/// By its address and that of its row.
	Mapping(u64, u64),
}

#[derive(Debug, Clone)]
pub struct Thing {
	pub key: Key,
	pub class: u32,
	pub parent: Option<Box<Thing>>,
	pub name: Vec<u8>,
	pub numbers: Vec<u64>,
	/// The row that is about it makes it.
	pub made: bool,
}

pub struct Row {
	/// In `CALLS`.
	pub shape: usize,
	pub about: Option<Thing>,
	pub began: u64,
	pub ended: u64,
	pub error: u64,
	pub fields: Vec<i64>,
	/// The second path.
	pub to: Option<Vec<u8>>,
	/// It never returned.
	pub open: bool,
}

/// Where the log comes from.
pub struct Node {
	pub host: String,
	pub boot_id: String,
	pub run: String,
	/// Tick 0, in nanoseconds since 1970: a double has no room for those of half a century.
	pub epoch: u64,
}

pub struct Image {
	pub pid: u32,
	pub parent: u32,
	pub instance: u64,
	pub executable: Vec<u8>,
	pub command: Vec<u8>,
	pub directory: Vec<u8>,
	/// Chunks that are sealed.
	pub bytes: Vec<u8>,
	objects: HashMap<Key, u32>,
	streams: BTreeMap<u32, Stream>,
	introduced: bool,
	ended: bool,
}

struct Stream {
	id: u64,
	chunks: u64,
	next_seq: u64,
	ended: u64,
	chunk: Option<Chunk>,
}

struct Chunk {
	writer: ChunkWriter,
	named: [bool; CALLS.len()],
}

impl Node {
	fn clock(&self, ticks: u64) -> Clock {
		Clock { ticks, monotonic: ticks, realtime: self.epoch.saturating_add(ticks) }
	}
}

impl Image {
	pub fn new(pid: u32, parent: u32) -> Image {
		Image {
			pid,
			parent,
			instance: random(),
			executable: Vec::new(),
			command: Vec::new(),
			directory: Vec::new(),
			bytes: Vec::new(),
			objects: HashMap::new(),
			streams: BTreeMap::new(),
			introduced: false,
			ended: false,
		}
	}

	/// Times of the row are nanoseconds since 1970.
	pub fn row(&mut self, node: &Node, tid: u32, row: &Row) {
		let began = row.began.saturating_sub(node.epoch);
		let mut stream = self.streams.remove(&tid).unwrap_or_else(|| Stream {
			id: random(),
			chunks: 0,
			next_seq: 0,
			ended: began,
			chunk: None,
		});
		let mut chunk = match stream.chunk.take() {
			Some(chunk) => chunk,
			None => self.chunk(node, tid, &stream, began),
		};
		self.write(node, &mut chunk, &mut stream, row);
		match chunk.writer.committed() >= FULL {
			true => stream.seal(node, chunk, 0, &mut self.bytes),
			false => stream.chunk = Some(chunk),
		}
		self.streams.insert(tid, stream);
	}

	fn chunk(&mut self, node: &Node, tid: u32, stream: &Stream, began: u64) -> Chunk {
		let begin = began.max(stream.ended);
		let mut writer = ChunkWriter::new(&Header {
			stream: stream.id,
			number: stream.chunks,
			instance: self.instance,
			pid: self.pid,
			tid,
			next_seq: stream.next_seq,
			begin: node.clock(begin),
			base_seq: NO_SEQ,
			first_tick: stream.ended,
			clock: NANOSECONDS,
			length: HEADER as u16,
			..Header::default()
		});
		if !std::mem::replace(&mut self.introduced, true) {
			writer.process(&ProcessRecord {
				parent_pid: self.parent,
				host: node.host.as_bytes(),
				boot_id: node.boot_id.as_bytes(),
				executable: &self.executable,
				command: &self.command,
				cwd: &self.directory,
				run: node.run.as_bytes(),
				ticks_per_second: 1_000_000_000,
				start: begin,
				rank: 0,
				ranks: 0,
			});
		}
		Chunk { writer, named: [false; CALLS.len()] }
	}

	fn write(&mut self, node: &Node, chunk: &mut Chunk, stream: &mut Stream, row: &Row) {
		let shape = &CALLS[row.shape];
		let op = row.shape as u32;
		if !std::mem::replace(&mut chunk.named[row.shape], true) {
			chunk.writer.op(&OpRecord {
				op,
				layer: b"posix",
				name: shape.op.as_bytes(),
				kind: shape.kind.as_bytes(),
				fields: shape.field_names().as_bytes(),
				flags: shape.flags(),
			});
		}
		let seq = stream.next_seq;
		let object = row.about.as_ref().map_or(0, |about| self.object(chunk, about, seq));
		if let Some(to) = &row.to {
			chunk.writer.text(&Text { seq, name: b"to", value: to });
		}
		// Times of calls are rounded each for itself.
		let tick = |time: u64| time.saturating_sub(node.epoch);
		let ended = tick(row.ended).max(stream.ended);
		let began = tick(row.began).clamp(stream.ended, ended);
		if row.open {
			let of = |name| shape.fields.iter().position(|(field, _)| *field == name);
			let field = |name, none| of(name).map_or(none, |at: usize| row.fields[at]);
			chunk.writer.unfinished(&Unfinished {
				reason: Unfinished::OPEN_AT_END,
				seq,
				op: op + 1,
				depth: 0,
				object,
				site: 0,
				began,
				ended,
				size: field("size", 0),
				offset: field("offset", UNKNOWN_OFFSET),
			});
		} else {
			let call = Call {
				op,
				object,
				site: 0,
				depth: 0,
				seq,
				parent: None,
				began,
				ended,
				error: row.error,
				fields: &row.fields,
			};
			chunk.writer.call(&call, stream.ended);
			stream.ended = ended;
		}
		stream.next_seq += 1;
	}

	fn object(&mut self, chunk: &mut Chunk, about: &Thing, seq: u64) -> u32 {
		if let (false, Some(&known)) = (about.made, self.objects.get(&about.key)) {
			return known;
		}
		let parent = about.parent.as_ref().map_or(0, |parent| self.object(chunk, parent, seq));
		let object = self.objects.len() as u32 + 1;
		chunk.writer.object(&Object {
			object,
			class: about.class,
			parent,
			created_by: if about.made { seq } else { NO_SEQ },
			name: &about.name,
			numbers: about.numbers.clone(),
		});
		self.objects.insert(about.key.clone(), object);
		object
	}

	/// Can something be added to its rows?
	pub fn goes_on(&self) -> bool {
		!self.ended && !self.streams.is_empty()
	}

	/// What the run's log has to say; by the image's first stream.
	pub fn mark(&mut self, node: &Node, kind: &str, detail: &str, value: u64) {
		let Some((tid, mut stream)) = self.streams.pop_first() else { return };
		let ended = stream.ended;
		let mut chunk = match stream.chunk.take() {
			Some(chunk) => chunk,
			None => self.chunk(node, tid, &stream, ended),
		};
		chunk.writer.mark(ended, kind.as_bytes(), detail.as_bytes(), value);
		stream.chunk = Some(chunk);
		self.streams.insert(tid, stream);
	}

	/// The image ends, or another takes its place.
	pub fn end(&mut self, node: &Node, replaced: bool) {
		self.ended = true;
		let flag = if replaced { FLAG_BEFORE_EXEC } else { FLAG_LAST };
		for stream in self.streams.values_mut() {
			if let Some(chunk) = stream.chunk.take() {
				stream.seal(node, chunk, flag, &mut self.bytes);
			}
		}
	}
}

impl Stream {
	fn seal(&mut self, node: &Node, mut chunk: Chunk, flag: u32, out: &mut Vec<u8>) {
		chunk.writer.ends(&node.clock(self.ended));
		out.extend(chunk.writer.seal(flag));
		self.chunks += 1;
	}
}

/// The value of a field that nobody knows.
pub fn unknown(field: Field) -> i64 {
	match field {
		Field::Position | Field::Pointed(_) | Field::GivenOrPosition(_) => UNKNOWN_OFFSET,
		_ => 0,
	}
}
