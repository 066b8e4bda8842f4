//! What a mapped file tells of the functions in it: how to unwind them, where some names lie.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian, ParsedEhFrameHdr};
use object::read::ReadCache;
use object::{Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

use crate::memory::{Mapping, Memory};

pub type Bytes = gimli::EndianArcSlice<LittleEndian>;

/// A file in the process's memory; addresses are the process's.
#[derive(Debug)]
pub struct Image {
	pub path: PathBuf,
	pub range: Range<u64>,
	/// What the loader added to the file's own addresses.
	bias: u64,
	unwinding: Option<Unwinding>,
	/// Functions of the names that were asked for, and where they are.
	functions: Vec<(String, Range<u64>)>,
	/// Code that leads to functions of other files.
	stubs: Vec<Range<u64>>,
}

/// Tables for all of its functions; their addresses are the file's own.
#[derive(Debug)]
pub struct Unwinding {
	pub index: ParsedEhFrameHdr<Bytes>,
	pub frames: EhFrame<Bytes>,
	pub bases: BaseAddresses,
}

impl Image {
	pub fn holds(&self, address: u64) -> bool {
		self.range.contains(&address)
	}

	/// A process's address as the file has it.
	pub fn own(&self, address: u64) -> u64 {
		address.wrapping_sub(self.bias)
	}

	pub fn unwinding(&self) -> Option<&Unwinding> {
		self.unwinding.as_ref()
	}

	/// Which of the names that were asked for is here?
	pub fn named(&self, address: u64) -> Option<&str> {
		let entry = self.functions.iter().find(|(_, range)| range.contains(&address));
		entry.map(|(name, _)| name.as_str())
	}

	/// Is it on its way to a function of another file?
	pub fn is_stub(&self, address: u64) -> bool {
		self.stubs.iter().any(|stub| stub.contains(&address))
	}

	/// Where a function of such a name begins.
	pub fn function(&self, name: &str) -> Option<u64> {
		let entry = self.functions.iter().find(|(known, _)| known == name);
		entry.map(|(_, range)| range.start)
	}

	/// A library of an allocator: libtcmalloc, libjemalloc, libmimalloc …
	pub fn is_allocator(&self) -> bool {
		let name = self.path.file_name().unwrap_or_default().to_string_lossy();
		name.starts_with("lib") && name.contains("malloc")
	}

	pub fn is_named(&self, names: &[&str]) -> bool {
		let name = self.path.file_name().unwrap_or_default().to_string_lossy();
		names.iter().any(|wanted| name.starts_with(wanted))
	}
}

/// All files of which code is mapped, and the vDSO; of their functions those whose name is wanted. What cannot be read
/// has no tables and no names.
pub fn images(
	process: i32,
	memory: &Memory,
	mappings: &[Mapping],
	wanted: &dyn Fn(&str) -> bool,
) -> Vec<Image> {
	let mut images: Vec<Image> = Vec::new();
	for code in mappings.iter().filter(|mapping| mapping.executable) {
		if images.last().is_some_and(|last| last.holds(code.begin)) {
			continue; // another stretch of the same file
		}
		let range = range_of(code, mappings);
		let bare = Image {
			path: code.path.clone(),
			range: range.clone(),
			bias: 0,
			unwinding: None,
			functions: Vec::new(),
			stubs: Vec::new(),
		};
		let read = if code.path == Path::new("[vdso]") {
			let bytes = memory.read(code.begin, (code.end - code.begin) as usize).ok();
			bytes.and_then(|bytes| read(&*bytes, code, &range, wanted))
		} else {
			let file = open(process, code);
			file.and_then(|file| read(&ReadCache::new(file), code, &range, wanted))
		};
		images.push(read.unwrap_or(bare));
	}
	images
}

/// Of a file from its first mapping to its last, which follow each other.
fn range_of(code: &Mapping, mappings: &[Mapping]) -> Range<u64> {
	let same = |other: &&Mapping| {
		code.inode != 0 && (&other.path, other.inode) == (&code.path, code.inode)
	};
	let before = mappings.iter().filter(same).map(|other| other.begin).min();
	let after = mappings.iter().filter(same).map(|other| other.end).max();
	before.unwrap_or(code.begin)..after.unwrap_or(code.end)
}

/// The very file that is mapped, even if another has its name now.
fn open(process: i32, code: &Mapping) -> Option<File> {
	use std::os::unix::fs::MetadataExt as _;
	if code.inode == 0 {
		return None;
	}
	let below = format!("/proc/{process}/root{}", code.path.display());
	let by_range = format!("/proc/{process}/map_files/{:x}-{:x}", code.begin, code.end);
	[below, by_range].iter().filter_map(|path| File::open(path).ok()).find(|file| {
		file.metadata().is_ok_and(|about| about.ino() == code.inode && about.is_file())
	})
}

fn read<'data, R: object::ReadRef<'data>>(
	bytes: R,
	code: &Mapping,
	range: &Range<u64>,
	wanted: &dyn Fn(&str) -> bool,
) -> Option<Image> {
	let file = object::File::parse(bytes).ok()?;
	let segment = file.segments().find(|segment| {
		let (offset, size) = segment.file_range();
		offset & !0xfff <= code.offset && code.offset < offset + size
	})?;
	let bias = (code.begin - code.offset)
		.wrapping_add(segment.file_range().0)
		.wrapping_sub(segment.address());
	Some(Image {
		path: code.path.clone(),
		range: range.clone(),
		bias,
		unwinding: unwinding(&file),
		functions: functions(&file, bias, wanted),
		stubs: stubs(&file, bias),
	})
}

fn unwinding<'data, R: object::ReadRef<'data>>(file: &object::File<'data, R>) -> Option<Unwinding> {
	let index = file.section_by_name(".eh_frame_hdr")?;
	let frames = file.section_by_name(".eh_frame")?;
	let mut bases =
		BaseAddresses::default().set_eh_frame_hdr(index.address()).set_eh_frame(frames.address());
	if let Some(text) = file.section_by_name(".text") {
		bases = bases.set_text(text.address());
	}
	let slice = |data: &[u8]| Bytes::new(data.into(), LittleEndian);
	let parsed = EhFrameHdr::from(slice(index.data().ok()?)).parse(&bases, 8).ok()?;
	let frames = EhFrame::from(slice(frames.data().ok()?));
	Some(Unwinding { index: parsed, frames, bases })
}

fn stubs<'data, R: object::ReadRef<'data>>(
	file: &object::File<'data, R>,
	bias: u64,
) -> Vec<Range<u64>> {
	let sections =
		file.sections().filter(|one| one.name().is_ok_and(|name| name.starts_with(".plt")));
	let begin = |address: u64| address.wrapping_add(bias);
	sections.map(|one| begin(one.address())..begin(one.address() + one.size())).collect()
}

fn functions<'data, R: object::ReadRef<'data>>(
	file: &object::File<'data, R>,
	bias: u64,
	wanted: &dyn Fn(&str) -> bool,
) -> Vec<(String, Range<u64>)> {
	let mut functions = Vec::new();
	for symbol in file.symbols().chain(file.dynamic_symbols()) {
		let Ok(name) = symbol.name() else { continue };
		let name = name.split('@').next().unwrap_or(name);
		if symbol.kind() == SymbolKind::Text && !symbol.is_undefined() && wanted(name) {
			let begin = symbol.address().wrapping_add(bias);
			functions.push((name.to_owned(), begin..begin + symbol.size().max(1)));
		}
	}
	functions
}
