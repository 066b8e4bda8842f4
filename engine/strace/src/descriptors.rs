//! What a process has open: descriptors, the file descriptions that they share, mappings of files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fathom_stream::{descriptor_flag, object_class};

use crate::rows::{Key, ObjectDef};
use crate::text::Descriptor;

const FIFO: u64 = 0o010_600;
const SOCKET: u64 = 0o140_777;

/// An open file description: what `dup` and `fork` share.
#[derive(Debug)]
pub struct Description {
	pub id: u64,
	/// As the program named it.
	pub name: Vec<u8>,
	/// As strace showed it last: a rename changes it.
	shown: Option<Vec<u8>>,
	/// `None`: not known, or there is none.
	pub position: Option<i64>,
	pub flags: i64,
	inherited: bool,
	/// Whose call on it ended last, and when.
	last: (u32, u64),
}

#[derive(Debug, Clone)]
pub struct Entry {
	pub description: Rc<RefCell<Description>>,
	pub close_on_exec: bool,
}

#[derive(Debug, Clone, Copy)]
struct Mapping {
	start: u64,
	end: u64,
	number: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Table {
	open: HashMap<i64, Entry>,
	mappings: Vec<(Mapping, ObjectDef)>,
}

/// Numbers that are used once.
#[derive(Debug, Default)]
pub struct Numbers(u64);

impl Numbers {
	pub fn next(&mut self) -> u64 {
		self.0 += 1;
		self.0
	}
}

/// Those of a stream's object: descriptor, mode, device, inode, birth, open flags, file system, whether it was inherited. A pipe's
/// and a socket's name say what they are: `pipe:[42]`.
fn numbers(fd: i64, description: &Description) -> Vec<u64> {
	let bracket = |kind: &str| {
		let inside = description.name.strip_prefix(kind.as_bytes())?.strip_suffix(b"]")?;
		std::str::from_utf8(inside).ok()?.parse::<u64>().ok()
	};
	let (mode, inode) = match (bracket("pipe:["), bracket("socket:[")) {
		(Some(inode), _) => (FIFO, inode),
		(_, Some(inode)) => (SOCKET, inode),
		_ => (0, 0),
	};
	let inherited_flag = if description.inherited { descriptor_flag::INHERITED } else { 0 };
	vec![fd as u64, mode, 0, 0, inode, 0, 0, description.flags as u64, 0, inherited_flag]
}

impl Description {
	/// As what a row is about.
	pub fn object(&self, fd: i64, created: bool) -> ObjectDef {
		ObjectDef {
			key: Key::Descriptor(self.id, fd),
			class: object_class::DESCRIPTOR,
			parent: None,
			name: self.name.clone(),
			numbers: numbers(fd, self),
			created,
		}
	}

	/// A call of `tid` on it, in its turn. Where another thread's call was under way, nobody knows who was first.
	pub fn used(&mut self, tid: u32, began: u64, ended: u64) {
		if self.last.0 != tid && began < self.last.1 {
			self.position = None;
		}
		self.last = (tid, ended.max(self.last.1));
	}
}

fn has_position(path: &[u8]) -> bool {
	let none: [&[u8]; 6] =
		[b"pipe:[", b"socket:[", b"anon_inode:", b"/dev/pts/", b"/dev/tty", b"TCP:["];
	!none.iter().any(|start| path.starts_with(start))
}

impl Table {
	/// `position`: where it begins; `None`: it was open before.
	pub fn open(
		&mut self,
		fd: i64,
		(name, shown): (Vec<u8>, Option<Vec<u8>>),
		flags: i64,
		position: Option<i64>,
		numbers: &mut Numbers,
	) -> Entry {
		let description = Description {
			id: numbers.next(),
			position: position.filter(|_| has_position(shown.as_ref().unwrap_or(&name))),
			name,
			shown,
			flags,
			inherited: position.is_none(),
			last: (0, 0),
		};
		let close_on_exec = flags & crate::calls::O_CLOEXEC != 0;
		let entry = Entry { description: Rc::new(RefCell::new(description)), close_on_exec };
		self.open.insert(fd, entry.clone());
		entry
	}

	/// The open file of an argument; where it is shown under another name than any that is known, how it was opened
	/// was not seen. `renamed`: files were renamed, so another name may be the same file's.
	pub fn find(&mut self, argument: &Descriptor, renamed: bool, numbers: &mut Numbers) -> Entry {
		if let Some(entry) = self.open.get(&argument.number) {
			let mut description = entry.description.borrow_mut();
			let same = match (&description.shown, &argument.path) {
				(Some(known), Some(shown)) => known == shown || renamed || argument.deleted,
				_ => true,
			};
			if same {
				description.shown = argument.path.clone().or_else(|| description.shown.take());
				return entry.clone();
			}
		}
		let name = argument.path.clone().unwrap_or_default();
		self.open(argument.number, (name, argument.path.clone()), 0, None, numbers)
	}

	pub fn duplicate(&mut self, entry: &Entry, fd: i64, close_on_exec: bool) {
		let description = Rc::clone(&entry.description);
		self.open.insert(fd, Entry { description, close_on_exec });
	}

	pub fn close(&mut self, fd: i64) {
		self.open.remove(&fd);
	}

	pub fn close_range(&mut self, first: i64, last: i64, only_mark: bool) {
		if only_mark {
			let inside = self.open.iter_mut().filter(|(fd, _)| (first..=last).contains(fd));
			inside.for_each(|(_, entry)| entry.close_on_exec = true);
		} else {
			self.open.retain(|fd, _| !(first..=last).contains(fd));
		}
	}

	pub fn keep_on_exec(&mut self, fd: i64, close: bool) {
		if let Some(entry) = self.open.get_mut(&fd) {
			entry.close_on_exec = close;
		}
	}

	/// Another program begins with what it is left.
	pub fn exec(&mut self) {
		self.open.retain(|_, entry| !entry.close_on_exec);
		self.mappings.clear();
	}

	pub fn map(&mut self, start: u64, length: u64, file: ObjectDef, numbers: &mut Numbers) {
		let end = start.saturating_add(length);
		let mapping = Mapping { start, end, number: numbers.next() };
		let object = ObjectDef {
			key: Key::Mapping(start, mapping.number),
			class: object_class::MAPPING,
			name: file.name.clone(),
			parent: Some(Box::new(file)),
			numbers: vec![start, length],
			created: false,
		};
		self.unmap(start, length);
		self.mappings.push((mapping, object));
	}

	/// The mapping of a file that an address is in.
	pub fn mapped(&self, address: u64) -> Option<ObjectDef> {
		let mapping = self.mappings.iter().find(|(at, _)| (at.start..at.end).contains(&address));
		mapping.map(|(_, object)| object.clone())
	}

	/// Mappings that begin in this range are gone.
	pub fn unmap(&mut self, start: u64, length: u64) {
		let end = start.saturating_add(length);
		self.mappings.retain(|(at, _)| !(start..end).contains(&at.start));
	}
}
