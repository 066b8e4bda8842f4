//! A process image's rows as streams: one for each thread, all in one file.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use fathom_stream::{
	Call, ChunkWriter, Clock, HEADER, Header, Inside, NO_SEQ, OpRecord, ProcessRecord, chunk_flag,
};

/// A chunk is sealed when it has as much.
const FULL: usize = 56 << 10;
/// Times are nanoseconds, as the monotonic clock's.
const NANOSECONDS: u8 = 1;

pub fn random() -> u64 {
	RandomState::new().build_hasher().finish() | 1
}

/// Where rows come from.
pub struct Node {
	pub host: String,
	pub boot_id: String,
	pub run: String,
	/// Tick 0, in nanoseconds since 1970: a double has no room for those of half a century.
	pub epoch: u64,
}

impl Node {
	fn clock(&self, ticks: u64) -> Clock {
		Clock { ticks, monotonic: ticks, realtime: self.epoch.saturating_add(ticks) }
	}
}

#[derive(Default)]
pub struct Image {
	pub pid: u32,
	pub parent: u32,
	pub executable: Vec<u8>,
	/// With a zero byte after each word.
	pub command: Vec<u8>,
	pub directory: Vec<u8>,
	/// Its rank and how many there are; `None`: no rank is known.
	pub rank: Option<(u32, u32)>,
	/// It lasted at least to this tick.
	pub lasted: u64,
	/// Chunks that are sealed.
	pub bytes: Vec<u8>,
	instance: u64,
	streams: BTreeMap<u32, Stream>,
	introduced: bool,
	ended: bool,
}

struct Stream {
	id: u64,
	chunks: u64,
	next_seq: u64,
	ended: u64,
	/// Some call lay in one that is only counted.
	inside: bool,
	chunk: Option<Chunk>,
}

struct Chunk {
	writer: ChunkWriter,
	/// By op.
	named: Vec<bool>,
	/// What its calls lie in, where that was recorded: an op + 1, or 0.
	inside: Option<u32>,
}

/// Where a thread's rows and records go, one outermost call at a time.
pub struct Rows<'s> {
	stream: &'s mut Stream,
	chunk: &'s mut Chunk,
}

impl Rows<'_> {
	pub fn writer(&mut self) -> &mut ChunkWriter {
		&mut self.chunk.writer
	}

	/// The thread's, for links to its calls.
	pub fn stream(&self) -> u64 {
		self.stream.id
	}

	/// Of the call that begins next.
	pub fn seq(&self) -> u64 {
		self.stream.next_seq
	}

	/// When the row before ended: none may end earlier.
	pub fn ended(&self) -> u64 {
		self.stream.ended
	}

	/// Must come before a row or a counter of the op.
	pub fn op(&mut self, op: &OpRecord<'_>) {
		let at = op.op as usize;
		if self.chunk.named.len() <= at {
			self.chunk.named.resize(at + 1, false);
		}
		if !std::mem::replace(&mut self.chunk.named[at], true) {
			self.chunk.writer.plain(op);
		}
	}

	/// The outermost call that comes next lies in calls of this op, which are only counted; 0: in none, else the op + 1.
	/// `holds`: there are calls in it, which come before it.
	pub fn inside(&mut self, op: u32, holds: bool) {
		self.stream.inside |= op > 0;
		let seq = self.stream.next_seq;
		if self.stream.inside && self.chunk.inside != Some(op) {
			self.chunk.inside = Some(op);
			self.chunk.writer.plain(&Inside { seq, op });
		}
		if op > 0 && holds {
			self.chunk.inside = Some(0);
			self.chunk.writer.plain(&Inside { seq: seq + 1, op: 0 });
		}
	}

	pub fn call(&mut self, call: &Call<'_>) {
		self.chunk.writer.call(call, self.stream.ended);
		self.stream.ended = call.ended;
		self.stream.next_seq += 1;
	}

	/// A call that has a record of its own instead of a row.
	pub fn took_seq(&mut self) {
		self.stream.next_seq += 1;
	}
}

impl Image {
	pub fn new(pid: u32, parent: u32) -> Image {
		Image { pid, parent, instance: random(), ..Image::default() }
	}

	/// The file's name.
	pub fn name(&self) -> String {
		format!("{}.{:016x}.fts", self.pid, self.instance)
	}

	/// Rows of the thread from tick `at` on; between two of these a chunk may end, so calls must be whole.
	pub fn write<T>(
		&mut self,
		node: &Node,
		tid: u32,
		at: u64,
		rows: impl FnOnce(&mut Rows<'_>) -> T,
	) -> T {
		let mut stream = self.streams.remove(&tid).unwrap_or_else(|| Stream {
			id: random(),
			chunks: 0,
			next_seq: 0,
			ended: at,
			inside: false,
			chunk: None,
		});
		let mut chunk = match stream.chunk.take() {
			Some(chunk) => chunk,
			None => self.chunk(node, tid, &stream, at),
		};
		let out = rows(&mut Rows { stream: &mut stream, chunk: &mut chunk });
		match chunk.writer.committed() >= FULL {
			true => stream.seal(node, chunk, 0, 0, &mut self.bytes),
			false => stream.chunk = Some(chunk),
		}
		self.streams.insert(tid, stream);
		out
	}

	fn chunk(&mut self, node: &Node, tid: u32, stream: &Stream, at: u64) -> Chunk {
		let begin = at.max(stream.ended);
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
			let (rank, ranks) = self.rank.map_or((0, 0), |(rank, ranks)| (rank + 1, ranks));
			writer.plain(&ProcessRecord {
				parent_pid: self.parent,
				host: node.host.as_bytes(),
				boot_id: node.boot_id.as_bytes(),
				executable: &self.executable,
				command: &self.command,
				cwd: &self.directory,
				run: node.run.as_bytes(),
				ticks_per_second: 1_000_000_000,
				start: begin,
				rank,
				ranks,
				allowed: b"",
				quota: 0,
			});
		}
		Chunk { writer, named: Vec::new(), inside: None }
	}

	/// Can something be added to its rows?
	pub fn goes_on(&self) -> bool {
		!self.ended && !self.streams.is_empty()
	}

	/// What the run's log has to say; by the image's first stream.
	pub fn mark(&mut self, node: &Node, kind: &str, detail: &str, value: u64) {
		let Some((&tid, stream)) = self.streams.first_key_value() else { return };
		let at = stream.ended;
		self.write(node, tid, at, |rows| {
			rows.writer().mark(at, kind.as_bytes(), detail.as_bytes(), value);
		});
	}

	/// The image ends, or another takes its place.
	pub fn end(&mut self, node: &Node, replaced: bool) {
		self.ended = true;
		let flag = if replaced { chunk_flag::BEFORE_EXEC } else { chunk_flag::LAST };
		for stream in self.streams.values_mut() {
			if let Some(chunk) = stream.chunk.take() {
				stream.seal(node, chunk, flag, self.lasted, &mut self.bytes);
			}
		}
	}
}

impl Stream {
	fn seal(&mut self, node: &Node, mut chunk: Chunk, flag: u32, lasted: u64, out: &mut Vec<u8>) {
		chunk.writer.ends(&node.clock(self.ended.max(lasted)));
		out.extend(chunk.writer.seal(flag));
		self.chunks += 1;
	}
}
