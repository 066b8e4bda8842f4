//! One process image: its ring while it lives, its stream files as they grow, until nothing more can come.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use fathom_pack::{may_live, runs};
use fathom_stream::{Header, OpenCall, ThreadPage, chunk_flag, sealed_chunk};

use crate::clock::{Rate, Source as Clock};
use crate::growing::{FileChunk, Growing};
use crate::missed::Missed;
use crate::names::{Book, Names};
use crate::ring::{Content, Reader, Ring};
use crate::stream::Stream;
use crate::target::{Process, StreamTarget};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
	Running,
	Ended,
	/// It did not end in order.
	Killed,
}

/// What all images of a look share.
pub struct Shared<'s> {
	pub book: &'s mut Book,
	pub rate: &'s mut Rate,
	pub missed: &'s mut Missed,
}

/// The calls that a thread has open.
pub struct Open {
	/// Index in the image's processes.
	pub process: usize,
	pub tid: u32,
	/// Outermost first.
	pub calls: Vec<OpenCall>,
}

pub struct Image {
	pub pid: u32,
	pub instance: u64,
	pub state: State,
	pub clock: Clock,
	pub names: Names,
	pub processes: Vec<Process>,
	ring_path: PathBuf,
	ring: Option<Ring>,
	had_ring: bool,
	/// What the process wrote, the tail that was saved from its ring, and further files of one that may not make long
	/// ones; the last is not there yet.
	files: Vec<Growing>,
	/// Where they are, up to their names' ends.
	name: PathBuf,
	streams: HashMap<u64, Stream>,
	/// Chunks of the files, by index there, that their stream has not come to.
	waiting: Vec<(usize, FileChunk)>,
	/// Copies made before an exec: they count only once it was done.
	held: Vec<(usize, FileChunk)>,
	/// Streams that were taken to their end, which a file has.
	closed: Vec<u64>,
	/// The last look found every chunk that must be there.
	complete: bool,
}

impl Image {
	/// `rings`, `streams`: the folders that its ring and its stream file are in, or will be.
	pub fn new(pid: u32, instance: u64, rings: &Path, streams: &Path) -> Image {
		let name = format!("{pid}.{instance:016x}");
		Image {
			pid,
			instance,
			ring_path: rings.join(format!("{name}.ring")),
			state: State::Running,
			clock: Clock::default(),
			names: Names::default(),
			processes: Vec::new(),
			ring: None,
			had_ring: false,
			files: [".fts", ".tail.fts", ".1.fts"]
				.map(|end| Growing::new(streams.join(format!("{name}{end}"))))
				.into(),
			name: streams.join(name),
			streams: HashMap::new(),
			waiting: Vec::new(),
			held: Vec::new(),
			closed: Vec::new(),
			complete: false,
		}
	}

	/// Its process still runs, as far as a ring can tell.
	pub fn is_alive(&self) -> bool {
		let header = self.ring.as_ref().map(|ring| ring.header);
		header.is_some_and(|header| may_live(header.pid, header.pid_start))
	}

	/// Takes what is new; returns what is open. `last`: the run is over.
	pub fn look(&mut self, shared: &mut Shared<'_>, last: bool) -> io::Result<Vec<Open>> {
		if self.ring.is_none() {
			self.ring = Ring::open(&self.ring_path)?;
			self.had_ring |= self.ring.is_some();
		}
		let mut ring = self.ring.take();
		let seen = ring.as_mut().map(|ring| self.with_ring(ring, shared));
		self.ring = ring;
		match seen.transpose()?.flatten() {
			Some(open) => Ok(open),
			None => self.without_ring(shared, last).map(|()| Vec::new()),
		}
	}

	/// `None`: the ring is gone.
	fn with_ring(
		&mut self,
		ring: &mut Ring,
		shared: &mut Shared<'_>,
	) -> io::Result<Option<Vec<Open>>> {
		let alive = may_live(ring.header.pid, ring.header.pid_start); // before: then what is read is all
		let Some(mut reader) = ring.reader() else { return Ok(None) };
		let mut content = self.advance(Some(&mut reader), shared)?;
		if !content.tables.is_empty() {
			content = self.tables(&mut reader, &content, shared)?;
		}
		let pages: Vec<ThreadPage> =
			content.pages.iter().filter_map(|&at| reader.page(at)).collect();
		let open = self.pages(&pages, alive, shared);
		if !alive {
			self.finish(State::Killed, shared);
		}
		Ok(Some(open))
	}

	/// Counter tables change without a mark, so they are taken only where the stream shows that none was emptied
	/// meanwhile.
	fn tables(
		&mut self,
		reader: &mut Reader<'_>,
		content: &Content,
		shared: &mut Shared<'_>,
	) -> io::Result<Content> {
		let tables: Vec<_> = content
			.tables
			.iter()
			.filter_map(|&at| {
				let table = reader.table(at)?;
				let records = self.streams.get(&table.stream)?.records();
				Some((at, table, records))
			})
			.collect();
		let content = self.advance(Some(reader), shared)?;
		for (at, table, records) in tables {
			let Some(stream) = self.streams.get_mut(&table.stream) else { continue };
			if self.complete && stream.records() == records && !stream.ended {
				let mut target =
					target_of(&mut self.names, &mut self.processes, stream.process, shared);
				stream.table(at, &table.counters, &mut target);
			}
		}
		Ok(content)
	}

	fn pages(&mut self, pages: &[ThreadPage], alive: bool, shared: &mut Shared<'_>) -> Vec<Open> {
		let mut open = Vec::new();
		for page in pages {
			let Some(stream) = self.streams.get_mut(&page.stream) else { continue };
			if stream.ended {
				continue;
			}
			let target =
				&mut target_of(&mut self.names, &mut self.processes, stream.process, shared);
			if !alive {
				stream.killed(&page.open, target);
				continue;
			}
			stream.settle(&page.open, target);
			if !page.open.is_empty() {
				let calls = page.open.clone();
				open.push(Open { process: stream.process, tid: page.tid, calls });
			}
		}
		open
	}

	/// Its ring is gone, or was never seen: all that it has is, or will be, in its files.
	fn without_ring(&mut self, shared: &mut Shared<'_>, last: bool) -> io::Result<()> {
		let may_write = !last && self.may_write();
		self.advance(None, shared)?;
		if may_write {
			return Ok(());
		}
		self.scan_files(true, shared)?;
		self.count_torn(shared.missed);
		self.waiting.append(&mut self.held);
		self.waiting.sort_by_key(|(_, chunk)| u32::MAX - chunk.header.committed);
		self.take(&Content::default(), None, true, shared)?;
		let clean = self.streams.values().all(|stream| stream.ended);
		self.finish(if clean { State::Ended } else { State::Killed }, shared);
		Ok(())
	}

	/// A ring has a chunk until its file has all of it: what a kill tore off is lost only where no tail was saved.
	fn count_torn(&self, missed: &mut Missed) {
		let (file, tail) = (&self.files[0], &self.files[1]);
		if file.torn > 0 && tail.is_empty() {
			missed.bytes += file.torn;
			missed.note(format!("{}: its last chunk is torn", file.path.display()));
		}
	}

	/// May it still write into its files? One that never had a ring may be too early to have one, or have found
	/// no room for it.
	fn may_write(&self) -> bool {
		if !runs(self.pid).unwrap_or(true) {
			return false;
		}
		if self.had_ring { self.in_exec() } else { self.held.is_empty() }
	}

	/// Its ring was moved to `PID.NAMESPACE.exec` for an exec, and the next image is not there yet.
	fn in_exec(&self) -> bool {
		let begin = format!("{}.", self.pid);
		let is_of_exec = |name: &str| name.starts_with(&begin) && name.ends_with(".exec");
		let folder = self.ring_path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
		let program = std::fs::read_link(format!("/proc/{}/exe", self.pid));
		program.is_ok_and(|exe| exe == Path::new(self.names.executable()))
			&& folder.is_some_and(|entries| {
				entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_of_exec))
			})
	}

	fn finish(&mut self, state: State, shared: &mut Shared<'_>) {
		for stream in self.streams.values_mut() {
			let mut target =
				target_of(&mut self.names, &mut self.processes, stream.process, shared);
			stream.finish(&mut target);
		}
		self.streams.clear();
		self.state = state;
	}

	/// The ring first, then the files: what leaves the ring is in a file before. Chunks found with one before
	/// them missing are looked for again, since neither is read in one moment.
	fn advance(
		&mut self,
		mut reader: Option<&mut Reader<'_>>,
		shared: &mut Shared<'_>,
	) -> io::Result<Content> {
		const TRIES: u32 = 3;
		let mut content = Content::default();
		for tries in 1..=TRIES {
			content = reader.as_mut().map(|reader| reader.content()).unwrap_or_default();
			for (_, header) in &content.chunks {
				shared.rate.learn(header);
				self.clock.learn(header);
			}
			self.scan_files(false, shared)?;
			self.complete = self.take(&content, reader.as_deref(), tries == TRIES, shared)?;
			if self.complete {
				break;
			}
		}
		Ok(content)
	}

	fn scan_files(&mut self, whole: bool, shared: &mut Shared<'_>) -> io::Result<()> {
		for (index, file) in self.files.iter_mut().enumerate() {
			for chunk in file.more(whole, shared.missed)? {
				if chunk.header.instance != self.instance {
					shared.missed.bytes += chunk.header.chunk_bytes() as u64;
					shared.missed.note(format!("{}: another process's chunk", file.path.display()));
				} else if chunk.header.flags & chunk_flag::BEFORE_EXEC != 0 {
					self.held.push((index, chunk));
				} else {
					shared.rate.learn(&chunk.header);
					self.clock.learn(&chunk.header);
					self.waiting.push((index, chunk));
				}
			}
		}
		if self.files.last().is_some_and(|file| !file.is_empty()) {
			let number = self.files.len() - 1;
			self.files.push(Growing::new(format!("{}.{number}.fts", self.name.display()).into()));
		}
		Ok(())
	}

	/// Every stream as far as its chunks are there. False: one is missing. `skip`: then go on behind it.
	fn take(
		&mut self,
		content: &Content,
		reader: Option<&Reader<'_>>,
		skip: bool,
		shared: &mut Shared<'_>,
	) -> io::Result<bool> {
		let mut complete = true;
		let sources = sources(&self.waiting, content);
		forget(&mut self.closed, &mut self.streams, &sources);
		for (id, sources) in sources {
			let pid = sources[0].header.pid;
			let stream = self.streams.entry(id).or_insert_with(|| {
				Stream::new(sources[0].header, process_of(&mut self.processes, pid))
			});
			let target =
				&mut target_of(&mut self.names, &mut self.processes, stream.process, shared);
			let chunks =
				Chunks { sources: &sources, reader, files: &self.files, waiting: &self.waiting };
			complete &= chunks.give(stream, skip, target)?;
		}
		self.drop_taken();
		Ok(complete)
	}

	/// Chunks of files that were taken. A stream whose last one is in a file is closed.
	fn drop_taken(&mut self) {
		let (streams, closed) = (&self.streams, &mut self.closed);
		self.waiting.retain(|(_, chunk)| {
			let header = &chunk.header;
			let Some(stream) = streams.get(&header.stream) else { return false };
			if stream.ended && header.last() {
				closed.push(header.stream);
			}
			!stream.ended && header.number >= stream.number
		});
	}
}

/// `process`: index of the one that the stream belongs to.
fn target_of<'t>(
	names: &'t mut Names,
	processes: &'t mut [Process],
	process: usize,
	shared: &'t mut Shared<'_>,
) -> StreamTarget<'t> {
	let (book, missed) = (&mut *shared.book, &mut *shared.missed);
	StreamTarget { names, book, process: &mut processes[process], missed }
}

/// Closed streams that neither the ring nor a file shows any more.
fn forget(
	closed: &mut Vec<u64>,
	streams: &mut HashMap<u64, Stream>,
	sources: &HashMap<u64, Vec<Source<'_>>>,
) {
	closed.retain(|id| {
		let seen = sources.contains_key(id);
		if !seen {
			streams.remove(id);
		}
		seen
	});
}

/// A chunk that can be read, or could a moment ago.
struct Source<'s> {
	header: &'s Header,
	place: Place,
}

#[derive(Clone, Copy)]
enum Place {
	/// Index in [`Image::waiting`].
	File(usize),
	/// Byte of the ring.
	Ring(u64),
}

/// By stream, in order; a file's before the ring's, for it is the last word.
fn sources<'s>(
	waiting: &'s [(usize, FileChunk)],
	content: &'s Content,
) -> HashMap<u64, Vec<Source<'s>>> {
	let of_files = waiting
		.iter()
		.enumerate()
		.map(|(index, (_, chunk))| Source { header: &chunk.header, place: Place::File(index) });
	let of_ring =
		content.chunks.iter().map(|(at, header)| Source { header, place: Place::Ring(*at) });
	let mut sources: HashMap<u64, Vec<Source<'s>>> = HashMap::new();
	for source in of_files.chain(of_ring) {
		sources.entry(source.header.stream).or_default().push(source);
	}
	sources.values_mut().for_each(|chunks| chunks.sort_by_key(|chunk| chunk.header.number));
	sources
}

/// The chunks of one stream.
struct Chunks<'c> {
	sources: &'c [Source<'c>],
	reader: Option<&'c Reader<'c>>,
	files: &'c [Growing],
	waiting: &'c [(usize, FileChunk)],
}

impl Chunks<'_> {
	/// Gives them to their stream, as far as none is missing. False: one is.
	fn give(
		&self,
		stream: &mut Stream,
		skip: bool,
		target: &mut StreamTarget<'_>,
	) -> io::Result<bool> {
		for source in self.sources {
			let number = source.header.number;
			if stream.ended || number < stream.number {
				continue;
			}
			if number > stream.number {
				if !skip || self.sources.iter().any(|other| other.header.number == stream.number) {
					return Ok(false); // or it went from the ring to the file just now
				}
				stream.skip_to(number, target);
			}
			match (source.place, self.reader) {
				(Place::File(index), _) => {
					let (file, chunk) = &self.waiting[index];
					file_chunk(stream, &self.files[*file].chunk(chunk)?, target);
				}
				(Place::Ring(at), Some(reader)) => {
					ring_chunk(stream, reader, at, source.header, target);
				}
				(Place::Ring(_), None) => {}
			}
		}
		Ok(true)
	}
}

fn process_of(processes: &mut Vec<Process>, pid: u32) -> usize {
	if let Some(index) = processes.iter().position(|process| process.pid == pid) {
		return index;
	}
	processes.push(Process::new(pid));
	processes.len() - 1
}

fn file_chunk(stream: &mut Stream, data: &[u8], target: &mut StreamTarget<'_>) {
	let Ok(chunk) = sealed_chunk(data) else { return };
	if stream.continues(chunk.rows) {
		let more = &chunk.rows[stream.taken()..];
		stream.rows(&chunk.header, more, target);
	} else {
		stream.earlier_copy(&chunk.header, chunk.rows, target);
	}
	stream.end_chunk(chunk.header.last(), target);
}

fn ring_chunk(
	stream: &mut Stream,
	reader: &Reader<'_>,
	at: u64,
	header: &Header,
	target: &mut StreamTarget<'_>,
) {
	let Some((header, rows)) = reader.rows(at, header, stream.taken()) else { return };
	if !rows.is_empty() || stream.taken() == 0 {
		stream.rows(&header, &rows, target);
	}
	if header.sealed() {
		stream.end_chunk(header.last(), target);
	}
}
