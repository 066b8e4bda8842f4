//! Where the files of a node wait for being shipped: node-local memory, beside the rings of their processes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};

use crate::block::{Codec, Head, MOST_RAW, Piece, good_name, seal};
use crate::file::{IfThere, make_directories, replace};

/// What is given back to the system begins and ends at its pages.
const PAGE: u64 = 4096;
/// Room in a directory for a piece.
const MOST_PIECES: usize = 1 << 13;

/// A node's files, and how much of each is in blocks.
pub struct Spool {
	folder: PathBuf,
	node: String,
	source: u64,
	next: u64,
	taken: HashMap<String, u64>,
	/// Of each file, up to where all is in blocks that are safe, and those beyond.
	safe: HashMap<String, (u64, BTreeMap<u64, u64>)>,
	waiting: VecDeque<(String, u64, u64)>,
}

impl Spool {
	/// `folder`: the node's, as below `streams/` of a run. `source`: random.
	pub fn new(folder: &Path, source: u64) -> Spool {
		let node = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
		let (folder, taken, safe) = (folder.to_owned(), HashMap::new(), HashMap::new());
		Spool { folder, node, source, next: 0, taken, safe, waiting: VecDeque::new() }
	}

	/// Looks what is new; returns how many bytes wait.
	pub fn look(&mut self) -> io::Result<u64> {
		self.waiting.clear();
		for entry in fs::read_dir(&self.folder)? {
			let entry = entry?;
			let name = entry.file_name().to_string_lossy().into_owned();
			if !good_name(&name) || name.ends_with(".tmp") {
				continue;
			}
			let Some(facts) = entry.metadata().if_there()? else { continue };
			let size = facts.len();
			let from = self.begin(&name, size)?;
			if from < size {
				self.waiting.push_back((name, from, size));
			}
		}
		Ok(self.waiting.iter().map(|(_, from, to)| to - from).sum())
	}

	/// Where what is not in a block begins. Of a file that was met before this spool, what is a hole was shipped.
	fn begin(&mut self, name: &str, size: u64) -> io::Result<u64> {
		if let Some(from) = self.taken.get(name) {
			return Ok(*from);
		}
		let from = match seek(&File::open(self.folder.join(name))?, SeekFrom::Data(0)) {
			Err(rustix::io::Errno::NXIO) => size,
			from => from?,
		};
		self.taken.insert(name.to_owned(), from);
		self.safe.insert(name.to_owned(), (from, BTreeMap::new()));
		Ok(from)
	}

	/// The next block, with about `size` bytes of files; `None`: nothing waits, or, unless `all`, too little. After an error
	/// nothing is in a block that was not before; `look` begins anew.
	pub fn block(
		&mut self,
		size: usize,
		all: bool,
		codec: Codec,
	) -> io::Result<Option<(Head, Vec<u8>)>> {
		let size = size.clamp(1, MOST_RAW);
		let left: u64 = self.waiting.iter().map(|(_, from, to)| to - from).sum();
		if left == 0 || (!all && left < size as u64) {
			return Ok(None);
		}
		let mut pieces: Vec<Piece> = Vec::new();
		let mut raw = Vec::new();
		while let Some((file, from, to)) = self.waiting.pop_front() {
			let length = (to - from).min((size - raw.len()) as u64);
			let begin = raw.len();
			raw.resize(begin + length as usize, 0);
			File::open(self.folder.join(&file))?.read_exact_at(&mut raw[begin..], from)?;
			if from + length < to {
				self.waiting.push_front((file.clone(), from + length, to));
			}
			pieces.push(Piece { file, at: from, length: length as u32 });
			if raw.len() >= size || pieces.len() >= MOST_PIECES {
				break;
			}
		}
		for Piece { file, at, length } in &pieces {
			self.taken.insert(file.clone(), at + u64::from(*length));
		}
		let mut head = self.head(codec);
		head.pieces = pieces;
		Ok(Some(seal(head, &raw)))
	}

	/// The block that says that no more come.
	pub fn last(&mut self) -> (Head, Vec<u8>) {
		let mut head = self.head(Codec::Plain);
		head.last = true;
		seal(head, &[])
	}

	fn head(&mut self, codec: Codec) -> Head {
		self.next += 1;
		Head::new(self.source, self.next - 1, &self.node, codec)
	}

	/// The block is safe: its node's memory is given back as far as all before it is safe too, so that what a file still has
	/// is its end. The files keep their lengths.
	pub fn safe(&mut self, head: &Head) -> io::Result<()> {
		for piece in &head.pieces {
			let (end, beyond) = self.safe.entry(piece.file.clone()).or_default();
			let from = *end / PAGE * PAGE;
			beyond.insert(piece.at, u64::from(piece.length));
			while let Some(length) = beyond.remove(end) {
				*end += length;
			}
			let to = *end / PAGE * PAGE;
			if to > from {
				let file = File::options().write(true).open(self.folder.join(&piece.file))?;
				let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
				fallocate(&file, how, from, to - from)?;
			}
		}
		Ok(())
	}

	/// All of it is safe: removes it, and the folders above that were made for it.
	pub fn remove(self) -> io::Result<()> {
		fs::remove_dir_all(&self.folder)?;
		for above in self.folder.ancestors().skip(1).take(2) {
			let _ = fs::remove_dir(above); // another node's is there
		}
		Ok(())
	}
}

/// A number that nobody has: a source's, a stream's.
pub fn random() -> io::Result<u64> {
	let mut bytes = [0; 8];
	rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
	Ok(u64::from_le_bytes(bytes))
}

/// Ships a node's files, which nobody writes any more, into a shared file of their own, `RUN/sink/KIND-NUMBER.blocks`.
pub fn bring_in(folder: &Path, run: &Path, kind: &str) -> io::Result<u64> {
	let source = random()?;
	let sink = run.join("sink");
	make_directories(&sink)?;
	let mut spool = Spool::new(folder, source);
	let bytes = spool.look()?;
	replace(&sink.join(format!("{kind}-{source:016x}.blocks")), |file| {
		while let Some((_, block)) = spool.block(1 << 20, true, Codec::Zstd)? {
			file.write_all(&block)?;
		}
		file.write_all(&spool.last().1)
	})?;
	spool.remove()?;
	Ok(bytes)
}
