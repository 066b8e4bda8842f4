//! What a trace of Recorder consists of: files of a directory, or sections of `recorder.dat` that stand for them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::bytes::Bytes;
use crate::Parsed;

const WHOLE: &str = "recorder.dat";
const MAGIC: &[u8] = b"RECORDER";
/// Magic, number of the layout, sections; of each section: its kind, a rank or -1, where it is, bytes.
const HEADER: usize = 16;
const SECTION: usize = 24;
/// By kind, the files, of which a rank's begin with its number; other kinds are not read (7: places in the code).
const KINDS: [&str; 7] =
	["recorder.mt", "recorder.ts", "recorder.cst", "ug.cfg", "ug.mt", ".cst", ".cfg"];

/// By the names that they have, or had, as files.
pub struct Parts {
	place: PathBuf,
	/// That of recorder.dat; 0: a directory.
	pub layout: u32,
	sections: HashMap<String, (u64, u64)>,
}

fn message_of(error: &std::io::Error) -> String {
	error.to_string()
}

impl Parts {
	pub fn of(named: &Path) -> Parsed<Parts> {
		let whole = named.file_name().is_some_and(|name| name == WHOLE);
		let place = if whole { named.parent().unwrap_or(named) } else { named };
		let mut parts = Parts { place: place.to_owned(), layout: 0, sections: HashMap::new() };
		if place.join(WHOLE).is_file() {
			parts.table()?;
		}
		Ok(parts)
	}

	pub fn has(&self, name: &str) -> bool {
		match self.layout {
			0 => self.place.join(name).is_file(),
			_ => self.sections.contains_key(name),
		}
	}

	/// Its bytes.
	pub fn size(&self, name: &str) -> Parsed<u64> {
		match self.layout {
			_ if !self.has(name) => Err(format!("{name} is missing")),
			0 => {
				let metadata = self.place.join(name).metadata();
				metadata.map(|metadata| metadata.len()).map_err(|error| message_of(&error))
			}
			_ => Ok(self.sections.get(name).map_or(0, |section| section.1)),
		}
	}

	/// What is in it.
	pub fn read(&self, name: &str) -> Parsed<Vec<u8>> {
		let size = self.size(name)?;
		self.part(name, 0, size)
	}

	/// Bytes of it; fewer where it ends before.
	pub fn part(&self, name: &str, at: u64, size: u64) -> Parsed<Vec<u8>> {
		let left = self.size(name)?.saturating_sub(at);
		let (path, begin) = match self.sections.get(name) {
			Some(section) if self.layout > 0 => (self.place.join(WHOLE), section.0),
			_ => (self.place.join(name), 0),
		};
		let mut data = Vec::new();
		let mut file = File::open(path).map_err(|error| message_of(&error))?;
		file.seek(SeekFrom::Start(begin + at)).map_err(|error| message_of(&error))?;
		file.take(left.min(size)).read_to_end(&mut data).map_err(|error| message_of(&error))?;
		Ok(data)
	}

	/// Sections of recorder.dat.
	fn table(&mut self) -> Parsed<()> {
		let mut file = File::open(self.place.join(WHOLE)).map_err(|error| message_of(&error))?;
		let whole = file.metadata().map_err(|error| message_of(&error))?.len();
		let mut head = Vec::new();
		file.by_ref()
			.take(HEADER as u64)
			.read_to_end(&mut head)
			.map_err(|error| message_of(&error))?;
		let mut head = Bytes(&head);
		if head.take(MAGIC.len()) != Some(MAGIC) {
			return Err(format!("{WHOLE} is not as Recorder wrote it"));
		}
		let (Some(layout), Some(count)) = (head.u32(), head.u32()) else {
			return Err(format!("{WHOLE} is not as Recorder wrote it"));
		};
		let room = u64::from(count) * SECTION as u64;
		let breaks_off = || format!("{WHOLE} breaks off");
		if HEADER as u64 + room > whole {
			return Err(breaks_off());
		}
		let mut table = Vec::new();
		file.take(room).read_to_end(&mut table).map_err(|error| message_of(&error))?;
		self.layout = layout;
		for section in table.chunks_exact(SECTION) {
			let mut section = Bytes(section);
			let (kind, rank) = (section.u32().unwrap_or(0), section.i32().unwrap_or(0));
			let (at, size) = (section.u64().unwrap_or(0), section.u64().unwrap_or(0));
			if at.checked_add(size).is_none_or(|end| end > whole) {
				return Err(breaks_off());
			}
			let Some(&name) = KINDS.get(kind as usize) else { continue };
			let name =
				if name.starts_with('.') { format!("{rank}{name}") } else { name.to_owned() };
			if self.sections.insert(name, (at, size)).is_some() {
				return Err(format!("{WHOLE} is damaged, or was not written to its end"));
			}
		}
		Ok(())
	}
}
