//! Rings of processes that are dead: what they had not written out, brought into the run's streams.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fathom_sink::{
	IfThere, entries, is_directory, make_directories, remove_abandoned, replace_bytes,
};
use fathom_stream::{
	Chunk, ChunkWriter, CounterTable, Decoder, Item, OpenCall, RING_HEADER_BYTES, Reason, Ring,
	RingHeader, Segment, Unfinished, chunk_flag, chunks, read_ring, ring_header,
};

use crate::alive::is_alive;
use crate::error::{At, PackError, try_lock};
use crate::rings::Named;
use crate::run::{Run, stream_name};

#[derive(Debug, Clone, Default)]
pub struct Recovered {
	/// Processes whose rings were brought in.
	pub processes: u64,
	pub chunks: u64,
	/// Calls that were open when their process died.
	pub unfinished: u64,
	/// Processes that still run, by pid and instance.
	pub alive: HashSet<(u32, u64)>,
	/// Rings that cannot be read, and why.
	pub refused: Vec<String>,
}

/// The same for the rings that are the run's own; others that `run.json` names are left alone and reported as
/// refused.
pub fn recover_own(run: &Run) -> Result<Recovered, PackError> {
	remove_staged(&run.path)?;
	Ok(match run.own_rings()? {
		Named::Own(rings) => bring_in_rings(&run.path, &rings)?,
		Named::Absent => Recovered::default(),
		Named::Foreign(why) => Recovered { refused: vec![why], ..Recovered::default() },
	})
}

/// Brings the rings in `rings` of processes that are dead into `run`, then removes them. Doing it twice, or
/// being stopped in the middle, does no harm: the copy is written under another name, and a chunk found twice is one.
pub fn recover(run: &Path, rings: &Path) -> Result<Recovered, PackError> {
	remove_staged(run)?;
	bring_in_rings(run, rings)
}

/// Removes what processes that were killed while they wrote a file of the run left beside it.
pub fn remove_staged(run: &Path) -> Result<(), PackError> {
	let streams = run.join("streams");
	for folder in
		[run.to_owned(), run.join("sink")].into_iter().chain(entries(&streams).at(&streams)?)
	{
		if is_directory(&folder).at(&folder)? {
			remove_abandoned(&folder).at(&folder)?;
		}
	}
	Ok(())
}

fn bring_in_rings(run: &Path, rings: &Path) -> Result<Recovered, PackError> {
	let mut recovered = Recovered::default();
	let paths = entries(rings).at(rings)?;
	let spool = rings.join("sink"); // streams of this node wait there to be shipped
	let place = if is_directory(&spool).at(&spool)? { &spool } else { run };
	for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "ring")) {
		recover_ring(place, path, &mut recovered)?;
	}
	if place == spool && recovered.alive.is_empty() {
		bring_in_spool(run, rings, &spool)?;
	}
	Ok(recovered)
}

/// What was to be shipped from here and was not, for its agent was killed: into a shared file of its own. An agent that lives
/// holds the node's lock.
fn bring_in_spool(run: &Path, rings: &Path, spool: &Path) -> Result<(), PackError> {
	let lock = File::open(rings).at(rings)?;
	if !try_lock(&lock).at(rings)? {
		return Ok(());
	}
	let streams = spool.join("streams");
	for folder in entries(&streams).at(&streams)? {
		fathom_sink::bring_in(&folder, run, "left").at(&folder)?;
	}
	Ok(())
}

fn recover_ring(run: &Path, path: &Path, recovered: &mut Recovered) -> Result<(), PackError> {
	if let Some(Ok(header)) = ring_owner(path).at(path)?
		&& is_alive(header.pid, header.pid_start)?
	{
		recovered.alive.insert((header.pid, header.instance));
		return Ok(());
	}
	let Some(data) = fs::read(path).if_there().at(path)? else {
		return Ok(()); // its process just ended in order
	};
	let ring = match read_ring(&data) {
		Ok(ring) => ring,
		Err(reason) => {
			recovered.refused.push(format!("{}: {reason}", path.display()));
			return Ok(());
		}
	};
	let folder = node_folder(run, &ring)?;
	let name = format!("{}.{:016x}", ring.header.pid, ring.header.instance);
	let written = written(&folder, ring.header.instance)?;
	let tail = tail(&ring, &written, recovered);
	if !tail.is_empty() {
		let place = folder.join(format!("{name}.tail.fts"));
		replace_bytes(&place, &tail).at(&place)?;
	}
	// If it is gone another reader did the same.
	recovered.processes += u64::from(fs::remove_file(path).if_there().at(path)?.is_some());
	Ok(())
}

/// What its process wrote into files: one, or several.
fn written(folder: &Path, instance: u64) -> Result<Vec<u8>, PackError> {
	let of_it = |path: &Path| stream_name(path).is_some_and(|(_, of)| of == instance);
	let tail = |path: &Path| path.to_string_lossy().ends_with(".tail.fts");
	let mut bytes = Vec::new();
	for path in entries(folder).at(folder)?.iter().filter(|path| of_it(path) && !tail(path)) {
		bytes.append(&mut fs::read(path).at(path)?);
	}
	Ok(bytes)
}

/// The process that made a ring, or why it is no ring; `None`: it is gone.
pub fn ring_owner(path: &Path) -> io::Result<Option<Result<RingHeader, Reason>>> {
	let Some(file) = File::open(path).if_there()? else { return Ok(None) };
	let mut beginning = Vec::new();
	file.take(RING_HEADER_BYTES as u64).read_to_end(&mut beginning)?;
	Ok(Some(ring_header(&beginning)))
}

/// Where the ring's streams belong: where its process began a file, else this node's folder.
fn node_folder(run: &Path, ring: &Ring<'_>) -> Result<PathBuf, PackError> {
	let streams = run.join("streams");
	let own = |path: &Path| stream_name(path).is_some_and(|(_, i)| i == ring.header.instance);
	for folder in entries(&streams).at(&streams)? {
		if is_directory(&folder).at(&folder)?
			&& entries(&folder).at(&folder)?.iter().any(|file| own(file))
		{
			return Ok(folder);
		}
	}
	this_node(run)
}

/// This node's folder in a run, with what tells readers of the node.
pub fn this_node(run: &Path) -> Result<PathBuf, PackError> {
	let boot_id = boot_id()?;
	let host = system_word("/proc/sys/kernel/hostname")?;
	let folder = run.join("streams").join(format!("{boot_id}-{host}"));
	make_directories(&folder).at(&folder)?;
	describe_node(&folder, &boot_id)?;
	Ok(folder)
}

/// The node's mount table and name, where its processes did not come to write them.
fn describe_node(folder: &Path, boot_id: &str) -> Result<(), PackError> {
	let mounts = folder.join("mounts");
	if !mounts.try_exists().at(&mounts)? {
		let table = Path::new("/proc/self/mountinfo");
		let table = fs::read(table).if_there().at(table)?.unwrap_or_default();
		replace_bytes(&mounts, &table).at(&mounts)?;
	}
	let node = folder.join("node");
	if !node.try_exists().at(&node)? {
		let host = system_word("/proc/sys/kernel/hostname")?;
		let kernel = system_word("/proc/sys/kernel/osrelease")?;
		let processors = system_word("/sys/devices/system/cpu/online")?;
		let text =
			format!("host={host}\nboot_id={boot_id}\nkernel={kernel}\nprocessors={processors}\n");
		replace_bytes(&node, text.as_bytes()).at(&node)?;
	}
	Ok(())
}

/// Tells this node from others.
pub fn boot_id() -> Result<String, PackError> {
	system_word("/proc/sys/kernel/random/boot_id")
}

/// What the system says of itself; empty where it has no such file.
fn system_word(path: &str) -> Result<String, PackError> {
	let path = Path::new(path);
	let text = fs::read_to_string(path).if_there().at(path)?.unwrap_or_default();
	Ok(text.trim().to_owned())
}

/// What the ring has and the file does not: chunks, and behind the last of each stream its counters and the
/// calls that were open.
fn tail(ring: &Ring<'_>, written: &[u8], recovered: &mut Recovered) -> Vec<u8> {
	let in_file: Vec<Chunk<'_>> = chunks(written)
		.filter_map(|segment| match segment {
			Segment::Chunk(chunk) => Some(chunk),
			Segment::Skipped(_) => None,
		})
		.collect();
	let known: HashSet<(u64, u64)> =
		in_file.iter().map(|chunk| (chunk.header.stream, chunk.header.number)).collect();
	let mut streams: BTreeMap<u64, Vec<&Chunk<'_>>> = BTreeMap::new();
	for chunk in in_file.iter().chain(&ring.chunks) {
		let chunks = streams.entry(chunk.header.stream).or_default();
		if !chunks.iter().any(|c| c.header.number == chunk.header.number) {
			chunks.push(chunk);
		}
	}
	let mut open: HashMap<u64, &[OpenCall]> = HashMap::new();
	for page in &ring.threads {
		open.insert(page.stream, &page.open);
	}
	let mut counted: HashMap<u64, Vec<&CounterTable>> = HashMap::new();
	for table in &ring.counters {
		counted.entry(table.stream).or_default().push(table);
	}
	let mut out = Vec::new();
	for (stream, mut chunks) in streams {
		chunks.sort_by_key(|chunk| chunk.header.number);
		let last = chunks.len() - 1;
		for (i, chunk) in chunks.into_iter().enumerate() {
			let in_file = known.contains(&(stream, chunk.header.number));
			let open = open.get(&stream).copied().unwrap_or_default();
			let counted = counted.get(&stream).map(Vec::as_slice).unwrap_or_default();
			let more =
				i == last && !chunk.header.last() && (!open.is_empty() || !counted.is_empty());
			if in_file && !more {
				continue;
			}
			let mut copy = ChunkWriter::copy(chunk);
			if more {
				recovered.unfinished += add_open(&mut copy, chunk, open);
				counted.iter().for_each(|table| add_table(&mut copy, table));
			}
			let flags = match (ring.header.ended, i == last) {
				(false, _) => chunk_flag::RING_COPY,
				(true, true) => chunk_flag::LAST,
				(true, false) => 0,
			};
			out.extend(copy.seal(flags));
			recovered.chunks += 1;
		}
	}
	out
}

fn add_table(copy: &mut ChunkWriter, table: &CounterTable) {
	table.counters.iter().for_each(|counter| copy.counter(counter));
	table.tallies.iter().for_each(|tally| copy.plain(tally));
	table.heat.iter().for_each(|heat| copy.heat(heat));
}

/// Adds the calls that have no row, innermost first; returns how many.
fn add_open(copy: &mut ChunkWriter, chunk: &Chunk<'_>, open: &[OpenCall]) -> u64 {
	let mut decoder = Decoder::new();
	let mut rows = decoder.rows(chunk);
	let mut ended = chunk.header.first_tick.max(chunk.header.begin.ticks);
	let mut done: HashSet<u64> = HashSet::new();
	while let Some(Ok(item)) = rows.next() {
		match item {
			Item::Call(call) => {
				ended = ended.max(call.ended);
				if open.iter().any(|o| o.seq == call.seq) {
					done.insert(call.seq);
				}
			}
			Item::Unfinished(row, _) => {
				done.insert(row.seq);
			}
			Item::Record(_) => {}
		}
	}
	let mut added = 0;
	for call in Unfinished::at_end(open, ended).filter(|call| !done.contains(&call.seq)) {
		copy.plain(&call);
		added += 1;
	}
	added
}
