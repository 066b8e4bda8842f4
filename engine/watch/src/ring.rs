//! The ring of a process that runs: read while it is written, without a lock and without a trace.
//!
//! A chunk's memory is used again for another chunk: its magic goes first and comes back last, so what was
//! copied is that chunk's if its header is still there, and the same, after the copy. A thread's page has no
//! such mark: two equal copies in a row are one moment's.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fathom_stream::{
	BLOCK, CounterTable, HEADER, Header, PAGE, RING_HEADER_BYTES, RingHeader, Slot, ThreadPage,
	counter_table, ring_header, thread_page,
};

pub struct Ring {
	pub path: PathBuf,
	pub header: RingHeader,
	/// What lies from the beginning on, once it was seen in use: memory stays of the size it was taken with.
	known: Vec<(u64, usize)>,
}

/// What a ring has at the moment.
#[derive(Default)]
pub struct Content {
	pub chunks: Vec<(u64, Header)>,
	pub pages: Vec<u64>,
	pub tables: Vec<u64>,
}

/// An open ring file.
pub struct Reader<'r> {
	file: File,
	ring: &'r mut Ring,
}

impl Ring {
	/// `None`: it is gone, or not made yet.
	pub fn open(path: &Path) -> io::Result<Option<Ring>> {
		let file = match File::open(path) {
			Ok(file) => file,
			Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
			Err(error) => return Err(error),
		};
		let mut page = [0; RING_HEADER_BYTES];
		if !read(&file, 0, &mut page) {
			return Ok(None);
		}
		let header = ring_header(&page).ok();
		Ok(header.map(|header| Ring { path: path.to_owned(), header, known: Vec::new() }))
	}

	/// `None`: it is gone.
	pub fn reader(&mut self) -> Option<Reader<'_>> {
		let file = File::open(&self.path).ok()?;
		Some(Reader { file, ring: self })
	}
}

fn read(file: &File, at: u64, into: &mut [u8]) -> bool {
	file.read_exact_at(into, at).is_ok()
}

impl Reader<'_> {
	pub fn content(&mut self) -> Content {
		let length = self.file.metadata().map_or(0, |facts| facts.len());
		let mut content = Content::default();
		let mut at = PAGE as u64;
		let mut index = 0;
		while at + PAGE as u64 <= length {
			let mut start = [0; HEADER];
			if !read(&self.file, at, &mut start) {
				break;
			}
			let slot = Slot::of(&start);
			let size = match slot {
				Slot::Chunk | Slot::Counters => BLOCK,
				Slot::Thread | Slot::Free => PAGE,
			};
			content.note(slot, at, &start, self.ring.header.instance);
			let known = self.ring.known.get(index).map(|(_, size)| *size);
			let in_order = index == self.ring.known.len()
				&& self.ring.known.last().map_or(PAGE as u64, |(at, size)| at + *size as u64) == at;
			if in_order && slot != Slot::Free {
				self.ring.known.push((at, size));
			}
			index += 1;
			at += known.unwrap_or(size) as u64;
		}
		content
	}

	/// The header of the chunk at `at`.
	fn header(&self, at: u64) -> Option<Header> {
		let mut start = [0; HEADER];
		read(&self.file, at, &mut start).then(|| Header::read(&start).ok()).flatten()
	}

	/// The committed rows, from byte `from` on, of the chunk at `at` that `expected` is a header of; `None`: it is
	/// there no more.
	pub fn rows(&self, at: u64, expected: &Header, from: usize) -> Option<(Header, Vec<u8>)> {
		let header = self.header(at).filter(|header| header.same_chunk(expected))?;
		let committed = header.committed as usize;
		let room = BLOCK - usize::from(header.length);
		if committed < from || committed > room {
			return None;
		}
		let mut rows = vec![0; committed - from];
		let begin = at + u64::from(header.length) + from as u64;
		if !read(&self.file, begin, &mut rows) {
			return None;
		}
		let after = self.header(at).filter(|after| after.same_chunk(&header))?;
		(after.committed >= header.committed).then_some((header, rows))
	}

	/// The open calls of a thread; `None`: they change too fast, or the page was given back.
	pub fn page(&self, at: u64) -> Option<ThreadPage> {
		let mut copies = [[0; PAGE]; 2];
		for _ in 0..3 {
			if !copies.iter_mut().all(|copy| read(&self.file, at, copy)) {
				return None;
			}
			if copies[0] == copies[1] {
				return (Slot::of(&copies[0]) == Slot::Thread).then(|| thread_page(&copies[0]));
			}
		}
		None
	}

	pub fn table(&self, at: u64) -> Option<CounterTable> {
		let mut table = vec![0; BLOCK];
		read(&self.file, at, &mut table[..64]).then_some(())?;
		read(&self.file, at + 64, &mut table[64..]).then_some(())?;
		(Slot::of(&table) == Slot::Counters).then(|| counter_table(&table))
	}
}

impl Content {
	fn note(&mut self, slot: Slot, at: u64, start: &[u8], instance: u64) {
		match slot {
			Slot::Chunk => {
				let header = Header::read(start).ok().filter(|header| header.instance == instance);
				self.chunks.extend(header.map(|header| (at, header)));
			}
			Slot::Thread => self.pages.push(at),
			Slot::Counters => self.tables.push(at),
			Slot::Free => {}
		}
	}
}
