//! A directory that Recorder 2.5 or 3.0 wrote: for each rank the signatures of its calls (function, depth, arguments),
//! a grammar that says in which order they came, and their times.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use flate2::read::ZlibDecoder;

use super::bytes::{Bytes, integers};
use super::grammar::Grammar;
use super::parts::Parts;
use super::patterns::{FunctionPattern, Offsets, is_across, line, numbers};
use crate::Parsed;

/// How a version writes it.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
	/// Where in recorder.mt its fields are: ranks, start (behind it the seconds of a tick), flags, their bytes, the end.
	ranks: usize,
	start: usize,
	flags: usize,
	flag: usize,
	header: usize,
	/// Where names of functions begin, and bytes of each; 0: a line each.
	names: usize,
	name: usize,
	/// Of a signature's key: bytes of the function's number, and of the place in the code behind the depth.
	function: usize,
	place: usize,
	/// Signatures of all ranks.
	merged: &'static str,
	/// Is each table behind its sizes, compressed by zlib?
	packed: bool,
	/// The setting that records threads.
	pub threads: &'static str,
}

const OLD: Layout = Layout {
	ranks: 0,
	start: 8,
	flags: 28,
	flag: 4,
	header: 40,
	names: 40,
	name: 0,
	function: 1,
	place: 0,
	merged: "0.cst",
	packed: false,
	threads: "RECORDER_LOG_TID",
};
const NEW: Layout = Layout {
	ranks: 0,
	start: 16,
	flags: 36,
	flag: 1,
	header: 40,
	names: 1024,
	name: 0,
	function: 4,
	place: 0,
	merged: "recorder.cst",
	packed: true,
	threads: "RECORDER_STORE_TID",
};
const WHOLE: Layout =
	Layout { ranks: 12, start: 32, flags: 52, header: 56, names: 56, name: 64, ..NEW };

/// By version, and layout of recorder.dat (0: a directory).
fn layout_of(version: &str, whole: u32) -> Option<Layout> {
	let two = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
	match (two.as_str(), whole) {
		("2.5", 0) => Some(OLD),
		("3.0", 0) => Some(NEW),
		("3.0", 1) => Some(WHOLE),
		("3.0", 2) => Some(Layout { place: 4, ..WHOLE }),
		_ => None,
	}
}

const TIMES: usize = 8;
const TIMES_OF_ALL: &str = "recorder.ts";
const MOST_RANKS: i32 = 1 << 24;
/// Where the number of calls has no meaning any more.
const MANY: u64 = 1 << 63;

/// Calls that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
	pub thread: u64,
	pub function: String,
	pub depth: usize,
	pub words: Vec<String>,
}

/// Of one rank, outermost ones in the order in which they began: which signature, and when, in ticks: begin and end,
/// each since the begin of the call before.
pub struct Calls {
	pub signatures: Rc<Vec<Signature>>,
	pub which: Vec<u32>,
	pub times: Vec<(u32, u32)>,
}

pub struct Recording {
	parts: Parts,
	pub version: String,
	pub layout: Layout,
	pub ranks: u32,
	/// Seconds since 1970.
	pub start: f64,
	/// Seconds.
	pub tick: f64,
	/// Times are packed; tables are those of all ranks; offsets are distances.
	packed: bool,
	merged: bool,
	pub distances: bool,
	names: Vec<String>,
	/// Which grammar is each rank's; where they are in one file, all of them.
	grammars: Vec<usize>,
	unique: Vec<Vec<u8>>,
	shared: Option<Rc<Vec<Signature>>>,
	lines: Option<Vec<HashMap<String, i64>>>,
	/// Where in the times of all ranks each one's are, and how many bytes.
	pieces: Vec<(u64, u64)>,
}

impl Recording {
	pub fn read(place: &Path) -> Parsed<Recording> {
		let parts = Parts::of(place)?;
		let (version, layout) = version_of(&parts)?;
		let data = parts.read("recorder.mt")?;
		if data.len() < layout.names {
			return Err("recorder.mt breaks off".into());
		}
		let Head { ranks, start, tick, flags } = Head::of(&data, &layout, &version)?;
		let [packed, merged, lines, distances] = flags;
		if packed && !layout.packed {
			return Err(format!("its times are compressed, which Recorder {version} never did"));
		}
		let names = names_of(&data[layout.names..], layout.name);
		let mut recording = Recording {
			parts,
			version,
			layout,
			ranks,
			start,
			tick,
			packed,
			merged,
			distances,
			names,
			grammars: Vec::new(),
			unique: Vec::new(),
			shared: None,
			lines: None,
			pieces: Vec::new(),
		};
		recording.read_grammars()?;
		if merged {
			recording.shared = Some(Rc::new(recording.signatures(0)?));
		}
		if lines {
			let patterns: Parsed<Vec<_>> =
				(0..ranks).map(|rank| recording.patterns_of(rank)).collect();
			recording.lines = Some(numbers(patterns?));
		}
		Ok(recording)
	}

	/// What one rank did.
	pub fn rank(&mut self, rank: u32) -> Parsed<Calls> {
		let signatures = self.signatures_of(rank)?;
		let (times, source) = self.times(rank)?;
		let grammar = self.grammar(rank)?;
		let calls = grammar.length(signatures.len())?;
		// Said before any rule is unfolded: a few bytes of grammar may stand for any number of calls.
		if calls.checked_mul(TIMES as u64) != Some(times.len() as u64) {
			let many = if calls < MANY { calls.to_string() } else { "far more".into() };
			let known = times.len() as f64 / TIMES as f64;
			return Err(format!("{source} has times of {known} calls, {} {many}", grammar.name));
		}
		let mut which = Vec::with_capacity(calls as usize);
		grammar.unfolded(|one| which.push(one as u32));
		let pair = |eight: &[u8]| {
			let mut eight = Bytes(eight);
			(eight.u32().unwrap_or(0), eight.u32().unwrap_or(0))
		};
		let times = times.chunks_exact(TIMES).map(pair).collect();
		Ok(Calls { signatures, which, times })
	}

	/// What arguments of its calls stand for; `known`: they are in the order in which they were made.
	pub fn offsets(&self, rank: u32, known: bool) -> Offsets {
		let numbers = self.lines.as_ref().map(|lines| lines[rank as usize].clone());
		Offsets::new(numbers.unwrap_or_default(), self.distances, known)
	}

	/// What lies in a file.
	fn tables(&self, name: &str) -> Parsed<Vec<Vec<u8>>> {
		let data = self.parts.read(name)?;
		if self.layout.packed { unpacked(&data, name) } else { Ok(vec![data]) }
	}

	/// The only one in a file.
	fn table(&self, name: &str) -> Parsed<Vec<u8>> {
		let mut tables = self.tables(name)?;
		match (tables.len(), tables.pop()) {
			(1, Some(table)) => Ok(table),
			(count, _) => Err(format!("{name} has {count} tables")),
		}
	}

	fn read_grammars(&mut self) -> Parsed<()> {
		let ranks = self.ranks as usize;
		if !self.merged {
			self.grammars = (0..ranks).collect();
			return Ok(());
		}
		let data = self.parts.read("ug.mt")?;
		if data.len() != 4 * (ranks + 1) {
			return Err(format!("ug.mt is not that of {ranks} ranks"));
		}
		let mut grammars = integers(&data);
		let count = grammars.pop().unwrap_or(0);
		if self.layout.packed {
			self.unique = self.tables("ug.cfg")?;
		}
		let unique = self.unique.len() as i64;
		if !grammars.iter().all(|one| (0..count).contains(one))
			|| ![0, i64::from(count)].contains(&unique)
		{
			return Err("ug.mt names a grammar that is not there".into());
		}
		self.grammars = grammars.into_iter().map(|one| one as usize).collect();
		Ok(())
	}

	fn grammar(&self, rank: u32) -> Parsed<Grammar> {
		let number = self.grammars[rank as usize];
		match self.unique.get(number) {
			Some(table) => Grammar::of(table, "ug.cfg".into()),
			None => {
				let name = format!("{number}.cfg");
				Grammar::of(&self.table(&name)?, name)
			}
		}
	}

	/// A rank's times, and where they lie.
	fn times(&mut self, rank: u32) -> Parsed<(Vec<u8>, String)> {
		if !self.layout.packed {
			let name = format!("{rank}.ts");
			return Ok((self.parts.read(&name)?, name));
		}
		if self.pieces.is_empty() {
			self.read_pieces()?;
		}
		let (at, size) = self.pieces[rank as usize];
		let data = self.parts.part(TIMES_OF_ALL, at, size)?;
		// A rank without calls has nothing there.
		let times = if self.packed { unpacked(&data, TIMES_OF_ALL)?.concat() } else { data };
		Ok((times, TIMES_OF_ALL.to_owned()))
	}

	fn read_pieces(&mut self) -> Parsed<()> {
		let room = 8 * u64::from(self.ranks);
		let sizes = self.parts.part(TIMES_OF_ALL, 0, room)?;
		if (sizes.len() as u64) < room {
			return Err(format!("{TIMES_OF_ALL} breaks off"));
		}
		let mut at = room;
		for size in sizes.chunks_exact(8).filter_map(|eight| Bytes(eight).u64()) {
			self.pieces.push((at, size));
			at = at.saturating_add(size);
		}
		match at == self.parts.size(TIMES_OF_ALL)? {
			true => Ok(()),
			false => Err(format!("{TIMES_OF_ALL} breaks off, or is damaged")),
		}
	}

	/// Of functions that ranks were compared for: what is in a rank's signatures.
	fn patterns_of(&self, rank: u32) -> Parsed<HashMap<String, FunctionPattern>> {
		let signatures = self.signatures_of(rank)?;
		let grammar = self.grammar(rank)?;
		grammar.length(signatures.len())?;
		let mut patterns: HashMap<String, FunctionPattern> = HashMap::new();
		for signature in grammar.used(signatures.len()).into_iter().map(|at| &signatures[at]) {
			if is_across(&signature.function) {
				let pattern = patterns.entry(signature.function.clone()).or_default();
				pattern.signatures += 1;
				pattern.lines.extend(signature.words.iter().filter_map(|word| line(word)));
			}
		}
		Ok(patterns)
	}

	fn signatures_of(&self, rank: u32) -> Parsed<Rc<Vec<Signature>>> {
		match &self.shared {
			Some(shared) => Ok(shared.clone()),
			None => Ok(Rc::new(self.signatures(rank)?)),
		}
	}

	fn signatures(&self, rank: u32) -> Parsed<Vec<Signature>> {
		let name = match self.merged {
			true => self.layout.merged.to_owned(),
			false => format!("{rank}.cst"),
		};
		let table = self.table(&name)?;
		self.entries(&table).ok_or_else(|| format!("{name} is damaged, or breaks off"))
	}

	/// By number; they stand in any order.
	fn entries(&self, data: &[u8]) -> Option<Vec<Signature>> {
		let mut data = Bytes(data);
		let count = data.i32()?;
		let mut by_number: HashMap<i32, Signature> = HashMap::new();
		while !data.0.is_empty() {
			// Its number, a rank, bytes of its key, calls.
			let (number, _, size, _) = (data.i32()?, data.i32()?, data.i32()?, data.i32()?);
			let key = data.take(usize::try_from(size).ok()?)?;
			if by_number.insert(number, self.signature(key)?).is_some() {
				return None;
			}
		}
		if by_number.len() as i64 != i64::from(count) {
			return None;
		}
		(0..count).map(|number| by_number.remove(&number)).collect()
	}

	fn signature(&self, key: &[u8]) -> Option<Signature> {
		let mut key = Bytes(key);
		let thread = key.u64()?;
		let function = match self.layout.function {
			1 => usize::from(key.u8()?),
			_ => key.u32()? as usize,
		};
		let depth = usize::from(key.u8()?);
		key.take(self.layout.place)?;
		let (count, size) = (usize::from(key.u8()?), key.i32()?);
		if i64::from(size) != key.0.len() as i64 {
			return None;
		}
		// A blank behind each argument; those within became underscores.
		let text = String::from_utf8_lossy(key.0);
		let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
		if !words.pop()?.is_empty() || words.len() != count {
			return None;
		}
		let name = self.names.get(function).filter(|name| !name.is_empty()).cloned();
		let function = name.unwrap_or_else(|| format!("function {function}"));
		Some(Signature { thread, function, depth, words })
	}
}

fn version_of(parts: &Parts) -> Parsed<(String, Layout)> {
	let version = if parts.layout > 0 {
		let head = parts.part("recorder.mt", 0, 12)?;
		let numbers = integers(&head);
		let text = numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(".");
		if head.len() == 12 { text } else { String::new() }
	} else if parts.has("VERSION") {
		String::from_utf8_lossy(&parts.read("VERSION")?).trim().to_owned()
	} else {
		return Err("no VERSION in it: name the directory of one run, which has recorder.mt or recorder.dat; Recorder \
			writes VERSION last, in MPI_Finalize"
			.into());
	};
	match layout_of(&version, parts.layout) {
		Some(layout) => Ok((version, layout)),
		None => {
			let also = match parts.layout {
				0 => String::new(),
				layout => format!(", recorder.dat of layout {layout}"),
			};
			Err(format!(
				"written by Recorder '{version:.20}'{also}; traces of versions 2.5 and 3.0 are read"
			))
		}
	}
}

/// What recorder.mt begins with.
struct Head {
	ranks: u32,
	start: f64,
	tick: f64,
	/// Packed, merged, lines, distances.
	flags: [bool; 4],
}

impl Head {
	/// Of data that has it.
	fn of(data: &[u8], layout: &Layout, version: &str) -> Parsed<Head> {
		let at = |place: usize| Bytes(&data[place..]);
		let ranks = at(layout.ranks).i32().unwrap_or(0);
		let start = at(layout.start).f64().unwrap_or(0.0);
		let tick = at(layout.start + 8).f64().unwrap_or(0.0);
		let mut flags = [false; 4];
		let mut good = (1..MOST_RANKS).contains(&ranks)
			&& start > 1e9
			&& start < 8e9
			&& (1e-9..=1.0).contains(&tick);
		// Version 2.5 has two of them, of four bytes.
		for (number, flag) in
			flags.iter_mut().enumerate().take(if layout.flag == 4 { 2 } else { 4 })
		{
			let mut place = at(layout.flags + number * layout.flag);
			let value = match layout.flag {
				4 => place.i32().unwrap_or(0),
				_ => i32::from(place.u8().unwrap_or(0)),
			};
			good &= value == 0 || value == 1;
			*flag = value != 0;
		}
		// States between releases had the same numbers and other fields: of these, the start is none, or names follow.
		let between = &data[layout.header..layout.names];
		match good && between.iter().all(|&byte| byte == 0) {
			true => Ok(Head { ranks: ranks as u32, start, tick, flags }),
			false => Err(format!("recorder.mt is not as Recorder {version} wrote it")),
		}
	}
}

/// Of functions; `size`: bytes of each, 0: a line each.
fn names_of(data: &[u8], size: usize) -> Vec<String> {
	let name = |name: &[u8]| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
	match size {
		0 => data.split(|&byte| byte == b'\n').map(name).collect(),
		size => data.chunks(size).map(name).collect(),
	}
}

/// Tables that lie one behind the other, each behind its bytes packed and unpacked.
fn unpacked(data: &[u8], name: &str) -> Parsed<Vec<Vec<u8>>> {
	let mut data = Bytes(data);
	let mut tables = Vec::new();
	while !data.0.is_empty() {
		let breaks_off = || format!("{name} breaks off");
		let packed = data.u64().ok_or_else(breaks_off)?;
		let size = data.u64().ok_or_else(breaks_off)?;
		let packed = usize::try_from(packed).ok().and_then(|packed| data.take(packed));
		let packed = packed.ok_or_else(breaks_off)?;
		let mut table = Vec::new();
		let mut from = ZlibDecoder::new(packed);
		// One byte more than it should have shows one that has more, whatever that would come to.
		let read = from.by_ref().take(size.saturating_add(1)).read_to_end(&mut table);
		let whole = read.is_ok() && from.total_in() == packed.len() as u64;
		if !whole || table.len() as u64 != size {
			return Err(format!("{name} is damaged"));
		}
		tables.push(table);
	}
	Ok(tables)
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	fn recording() -> Recording {
		let parts = Parts::of(Path::new("/none")).unwrap();
		Recording {
			parts,
			version: String::new(),
			layout: NEW,
			ranks: 1,
			start: 0.0,
			tick: 0.0,
			packed: false,
			merged: false,
			distances: false,
			names: vec!["open".into()],
			grammars: Vec::new(),
			unique: Vec::new(),
			shared: None,
			lines: None,
			pieces: Vec::new(),
		}
	}

	#[test]
	fn versions_have_layouts() {
		assert_eq!(layout_of("2.5.0", 0).map(|layout| layout.names), Some(40));
		assert_eq!(layout_of("3.0.1", 2).map(|layout| (layout.name, layout.place)), Some((64, 4)));
		assert!(layout_of("4.0.0", 0).is_none());
		assert!(layout_of("3.0.0", 3).is_none());
	}

	proptest! {
		#[test]
		fn any_bytes_are_tables_or_damaged(data in prop::collection::vec(any::<u8>(), 0..200)) {
			let _ = unpacked(&data, "table");
			let _ = recording().entries(&data);
			let _ = names_of(&data, 3);
		}

		#[test]
		fn a_signature_is_its_key(
			thread in any::<u64>(), depth in any::<u8>(), words in prop::collection::vec("[a-z0-9/]{0,9}", 0..5),
		) {
			let text: String = words.iter().map(|word| format!("{word} ")).collect();
			let mut key = thread.to_le_bytes().to_vec();
			key.extend([0, 0, 0, 0, depth, words.len() as u8]);
			key.extend((text.len() as i32).to_le_bytes());
			key.extend(text.bytes());
			let signature = recording().signature(&key).unwrap();
			prop_assert_eq!((signature.thread, signature.depth, signature.words), (thread, usize::from(depth), words));
			prop_assert!(recording().signature(&key[..key.len() - 1]).is_none() || text.is_empty());
		}
	}
}
