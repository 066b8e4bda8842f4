//! The shared files of a run, as the files of each node that they hold.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::block::{Codec, Head, good_name};
use crate::file::{IfThere, entries, open_file, read_file, replace_bytes};
use crate::index::{Entry, index, read_index};
use crate::scan::{Bytes, scan};

/// Name of the index.
pub const INDEX: &str = "index";
const SUFFIX: &str = "blocks";
/// Most bytes of blocks that are kept for the next reader of one of their streams.
const CACHE: usize = 128 << 20;

/// What is not there, for the run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
	pub what: String,
	/// Bytes, or blocks.
	pub count: u64,
}

/// How the shared files are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
	/// Bytes of the index that are no record.
	pub index_torn: u64,
	/// Blocks that the index did not have.
	pub scanned: u64,
	/// Bytes between blocks.
	pub skipped: u64,
}

/// Names of a node's files, and how long each is.
pub type Files = BTreeMap<String, u64>;

/// A piece of a file: `at..at + length`, which lie in a block from `inside` on.
#[derive(Debug, Clone, Copy)]
struct Place {
	at: u64,
	length: u32,
	block: usize,
	inside: usize,
}

type CachedBlock = (usize, Arc<Vec<u8>>);

pub struct Sink {
	folder: PathBuf,
	files: BTreeMap<String, File>,
	blocks: Vec<Entry>,
	/// By node and name, in order.
	places: BTreeMap<String, BTreeMap<String, Vec<Place>>>,
	pub report: Report,
	missing: Vec<Lost>,
	cache: Mutex<VecDeque<CachedBlock>>,
	/// Blocks whose data is damaged, as far as they were asked for.
	damaged: Mutex<BTreeSet<usize>>,
}

impl fmt::Debug for Sink {
	fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
		write!(out, "Sink({}, {} blocks)", self.folder.display(), self.blocks.len())
	}
}

impl Sink {
	/// The shared files in this folder; `None`: there are none.
	pub fn open(folder: &Path) -> io::Result<Option<Sink>> {
		let files = shared_files(folder)?;
		if files.is_empty() {
			return Ok(None);
		}
		let data = read_file(&folder.join(INDEX)).if_there()?.unwrap_or_default();
		let (entries, torn) = read_index(&data);
		let mut sink = Sink {
			folder: folder.to_owned(),
			files,
			blocks: Vec::new(),
			places: BTreeMap::new(),
			report: Report { index_torn: torn, ..Report::default() },
			missing: Vec::new(),
			cache: Mutex::default(),
			damaged: Mutex::default(),
		};
		sink.find_blocks(entries)?;
		sink.place();
		sink.missing = missing(&sink.blocks);
		Ok(Some(sink))
	}

	/// What the index has, and what a scan finds where it has nothing.
	fn find_blocks(&mut self, entries: Vec<Entry>) -> io::Result<()> {
		let mut listed: HashMap<&str, BTreeMap<u64, &Head>> = HashMap::new();
		for entry in &entries {
			listed.entry(&entry.file).or_default().insert(entry.offset, &entry.head);
		}
		for (name, file) in &self.files {
			let size = file.metadata()?.len();
			let mut at = 0;
			let known = listed.remove(name.as_str()).unwrap_or_default();
			for block in known.into_iter().map(Some).chain([None]) {
				let begin = block.map_or(size, |(offset, _)| offset);
				if begin < at && block.is_some() {
					continue; // over another one: only one of them can be there
				}
				if begin > at {
					let scanned = scan(file, at..begin.min(size))?;
					let skipped = scanned.skipped.iter().map(|gap| gap.end - gap.start);
					self.report.skipped += skipped.sum::<u64>();
					self.report.scanned += scanned.blocks.len() as u64;
					for (offset, head) in scanned.blocks {
						self.blocks.push(Entry { file: name.clone(), offset, head });
					}
				}
				if let Some((offset, head)) = block {
					at = offset.saturating_add(head.bytes().len() as u64 + u64::from(head.stored));
					self.blocks.push(Entry { file: name.clone(), offset, head: head.clone() });
				}
			}
		}
		Ok(())
	}

	fn place(&mut self) {
		for (block, entry) in self.blocks.iter().enumerate() {
			let mut inside = 0;
			for piece in &entry.head.pieces {
				let place = Place { at: piece.at, length: piece.length, block, inside };
				inside += piece.length as usize;
				let files = self.places.entry(entry.head.node.clone()).or_default();
				files.entry(piece.file.clone()).or_default().push(place);
			}
		}
		for places in self.places.values_mut().flat_map(BTreeMap::values_mut) {
			places.sort_by_key(|place| place.at);
		}
	}

	/// Nodes' folders, and the files that each would have.
	pub fn nodes(&self) -> impl Iterator<Item = (&str, Files)> {
		let length = |places: &Vec<Place>| {
			places.iter().map(|place| place.at + u64::from(place.length)).max().unwrap_or(0)
		};
		self.places.iter().map(move |(node, files)| {
			let files = files.iter().map(|(name, places)| (name.clone(), length(places)));
			(node.as_str(), files.collect())
		})
	}

	/// A file as its process wrote it. What no block has is zeros, which readers of streams skip and count.
	pub fn read(&self, node: &str, name: &str) -> io::Result<Vec<u8>> {
		let none = Vec::new();
		let places = self.places.get(node).and_then(|files| files.get(name)).unwrap_or(&none);
		let mut out: Vec<u8> = Vec::new();
		for place in places {
			let Some(raw) = self.block(place.block)? else { continue };
			let from = usize::try_from(place.at).map_err(io::Error::other)?;
			let end = from + place.length as usize;
			if from > out.len() + MOST_HOLE {
				continue; // nobody wrote that much that no block has
			}
			if out.len() < end {
				out.resize(end, 0);
			}
			let inside = place.inside..place.inside + place.length as usize;
			out[from..end].copy_from_slice(raw.get(inside).unwrap_or_default());
		}
		Ok(out)
	}

	/// The data of a block; `None`: it is damaged.
	fn block(&self, number: usize) -> io::Result<Option<Arc<Vec<u8>>>> {
		if let Ok(mut cache) = self.cache.lock()
			&& let Some(at) = cache.iter().position(|cached| cached.0 == number)
			&& let Some(cached) = cache.remove(at)
		{
			let data = Arc::clone(&cached.1);
			cache.push_back(cached);
			return Ok(Some(data));
		}
		let entry = &self.blocks[number];
		let Some(file) = self.files.get(&entry.file) else { return Ok(None) };
		let from = entry.offset + entry.head.bytes().len() as u64;
		let stored = file.bytes(from, entry.head.stored as usize)?;
		let Ok(raw) = entry.head.open(&stored) else {
			if let Ok(mut damaged) = self.damaged.lock() {
				damaged.insert(number);
			}
			return Ok(None);
		};
		let raw = Arc::new(raw);
		if let Ok(mut cache) = self.cache.lock() {
			cache.push_back((number, Arc::clone(&raw)));
			let mut bytes = cache.iter().map(|cached| cached.1.len()).sum::<usize>();
			while bytes > CACHE && cache.len() > 1 {
				bytes -= cache.pop_front().map_or(0, |cached| cached.1.len());
			}
		}
		Ok(Some(raw))
	}

	/// What is not there: blocks that their source made and nobody has, nodes that did not come to their end, and blocks
	/// that were asked for and are damaged.
	pub fn lost(&self) -> Vec<Lost> {
		let mut lost = self.missing.clone();
		let damaged = self.damaged.lock().map(|damaged| damaged.clone()).unwrap_or_default();
		for entry in damaged.into_iter().map(|number| &self.blocks[number]) {
			let copy = |other: &Entry| {
				(other.head.source, other.head.number) == (entry.head.source, entry.head.number)
					&& other != entry
			};
			if !self.blocks.iter().any(copy) {
				let what = format!("{} byte {}: a damaged block", entry.file, entry.offset);
				lost.push(Lost { what, count: u64::from(entry.head.raw) });
			}
		}
		lost
	}

	/// Blocks, and bytes of files in them.
	pub fn sums(&self) -> (u64, u64) {
		let raw = self.blocks.iter().map(|entry| u64::from(entry.head.raw)).sum();
		(self.blocks.len() as u64, raw)
	}

	/// Bytes and time of change of all that is there: what tables were made of.
	pub fn stamp(&self) -> io::Result<(u64, Option<std::time::SystemTime>)> {
		let (mut bytes, mut newest) = (0, None);
		for file in self.files.values() {
			let facts = file.metadata()?;
			bytes += facts.len();
			newest = newest.max(Some(facts.modified()?));
		}
		Ok((bytes, newest))
	}

	/// Does a scan know what the index does not?
	pub fn index_is_whole(&self) -> bool {
		self.report.index_torn == 0 && self.report.scanned == 0
	}

	/// Makes the index anew.
	pub fn write_index(&self) -> io::Result<()> {
		replace_bytes(&self.folder.join(INDEX), &index(&self.blocks))
	}
}

/// A hole in a file that is longer is no hole.
const MOST_HOLE: usize = 256 << 20;

fn shared_files(folder: &Path) -> io::Result<BTreeMap<String, File>> {
	let mut files = BTreeMap::new();
	for path in entries(folder)? {
		let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
		if good_name(name) && path.extension().is_some_and(|end| end == SUFFIX) {
			files.insert(name.to_owned(), open_file(&path)?);
		}
	}
	Ok(files)
}

/// Blocks that no file has, by the numbers that their source gave them.
fn missing(blocks: &[Entry]) -> Vec<Lost> {
	let mut sources: BTreeMap<u64, (&str, BTreeSet<u64>, bool)> = BTreeMap::new();
	let mut ended: BTreeSet<&str> = BTreeSet::new();
	for head in blocks.iter().map(|entry| &entry.head) {
		let source = sources.entry(head.source).or_insert((&head.node, BTreeSet::new(), false));
		source.1.insert(head.number);
		source.2 |= head.last;
		if head.last {
			ended.insert(&head.node);
		}
	}
	let mut lost = Vec::new();
	for (node, numbers, _) in sources.values() {
		let all = numbers.last().map_or(0, |last| last + 1);
		let gone = all - numbers.len() as u64;
		if gone > 0 {
			let what = format!("{node}: {gone} of its {all} blocks are in no file");
			lost.push(Lost { what, count: gone });
		}
	}
	let nodes: BTreeSet<&str> = sources.values().map(|source| source.0).collect();
	for node in nodes.difference(&ended) {
		let what = format!("{node}: what came after its last block is not here");
		lost.push(Lost { what, count: 0 });
	}
	lost
}

impl Head {
	/// Of a block that is to be made.
	pub fn new(source: u64, number: u64, node: &str, codec: Codec) -> Head {
		Head {
			source,
			number,
			last: false,
			codec,
			node: node.to_owned(),
			pieces: Vec::new(),
			raw: 0,
			stored: 0,
			crc: 0,
		}
	}
}
