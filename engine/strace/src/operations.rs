//! Operations of io_uring and libaio as the kernel tells them: each a post when it is handed over, and a completion, as
//! points in time. A completion of io_uring is the kernel's; one of libaio is when the program fetches it.

use std::collections::HashMap;

use fathom_stream::UNKNOWN_OFFSET;

use crate::calls;
use crate::descriptors::Entry;
use crate::process::Processes;
use crate::rows::{ObjectDef, Row, path_object};
use crate::text::{AT_FDCWD, Descriptor};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
	Read,
	Write,
	Sync,
	/// On a file, without data.
	Other,
	/// Gives a descriptor.
	Open,
	/// Takes one.
	Close,
}

/// What an operation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File<'a> {
	Descriptor(i64),
	/// By its number in a ring.
	Registered(u64, i64),
	/// Relative to a directory; with the flags of its open.
	Path(i64, &'a [u8], i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post<'a> {
	/// What its completion will name.
	pub key: (u64, u64),
	pub action: Action,
	pub opcode: u32,
	pub file: File<'a>,
	pub size: i64,
	/// `None`: the file's position, or it has none.
	pub offset: Option<i64>,
}

/// Handed over and not yet done.
struct Pending {
	number: u64,
	tid: u32,
	action: Action,
	about: Option<ObjectDef>,
	offset: i64,
	/// Of an open.
	name: Vec<u8>,
	flags: i64,
}

#[derive(Default)]
pub struct Operations {
	pending: HashMap<(u64, u64), Pending>,
	/// Files of rings by their numbers.
	registered: HashMap<(u64, i64), Entry>,
	count: u64,
}

fn row(
	op: &str,
	about: Option<ObjectDef>,
	at: u64,
	fields: Vec<i64>,
	operation: u64,
) -> Option<Row> {
	Some(Row {
		shape: calls::place_of_op(op.as_bytes())?,
		about,
		began: at,
		ended: at,
		error: 0,
		fields,
		to: None,
		open: false,
		operation: Some(operation),
	})
}

fn descriptor(number: i64) -> Descriptor {
	Descriptor { number, path: None, deleted: false }
}

impl Processes<'_> {
	pub fn post(&mut self, tid: u32, at: u64, post: &Post<'_>) {
		let op = match post.action {
			Action::Read => "post_read",
			Action::Write => "post_write",
			Action::Sync => "post_sync",
			Action::Other | Action::Open | Action::Close => "post_other",
		};
		let (name, flags) = match post.file {
			File::Path(directory, path, flags) => (self.path_from(tid, directory, path), flags),
			_ => (Vec::new(), 0),
		};
		let about = match post.file {
			File::Path(..) => Some(path_object(name.clone())),
			File::Descriptor(fd) => self.open_file(tid, at, fd),
			File::Registered(ring, number) => self.registered(ring, number),
		};
		let offset = post.offset.unwrap_or(UNKNOWN_OFFSET);
		self.operations.count += 1;
		let number = self.operations.count;
		let fields = vec![post.size, offset, i64::from(post.opcode)];
		if let Some(row) = row(op, about.clone(), at, fields, number) {
			self.point(tid, row);
		}
		let pending = Pending { number, tid, action: post.action, about, offset, name, flags };
		self.operations.pending.insert(post.key, pending);
		match (post.action, post.file) {
			(Action::Close, File::Descriptor(fd)) => self.closed(tid, fd),
			(Action::Close, File::Registered(ring, number)) => {
				self.operations.registered.remove(&(ring, number));
			}
			_ => {}
		}
	}

	/// `tid`: who fetched it; `None`: it belongs to whoever posted it.
	pub fn done(&mut self, tid: Option<u32>, at: u64, key: (u64, u64), result: i64) {
		let Some(pending) = self.operations.pending.remove(&key) else { return };
		let Pending { number, action, offset, .. } = pending;
		let moves = matches!(action, Action::Read | Action::Write);
		let op = match action {
			Action::Read => "done_read",
			Action::Write => "done_write",
			_ => "done",
		};
		let tid = tid.unwrap_or(pending.tid);
		let mut about = pending.about;
		if action == Action::Open && result >= 0 {
			about = self.opened(tid, result, pending.name, pending.flags).or(about);
		}
		let moved = if moves { result.max(0) } else { 0 };
		let at_offset = if moves { offset } else { UNKNOWN_OFFSET };
		if let Some(mut row) = row(op, about, at, vec![at_offset, moved, result], number) {
			row.error = u64::try_from(-result).unwrap_or(0);
			self.point(tid, row);
		}
	}

	/// A ring's files from a number on; -1: none any more.
	pub fn register(&mut self, tid: u32, ring: u64, first: i64, files: &[i32]) {
		for (number, &fd) in (first..).zip(files) {
			match self.entry_of(tid, &descriptor(i64::from(fd))) {
				Some(entry) => self.operations.registered.insert((ring, number), entry),
				None => self.operations.registered.remove(&(ring, number)),
			};
		}
	}

	fn registered(&self, ring: u64, number: i64) -> Option<ObjectDef> {
		let entry = self.operations.registered.get(&(ring, number))?;
		// By which descriptor it came there does not matter any more.
		Some(entry.description.borrow().object(-1, false))
	}

	fn open_file(&mut self, tid: u32, at: u64, fd: i64) -> Option<ObjectDef> {
		let entry = self.entry_of(tid, &descriptor(fd))?;
		entry.description.borrow_mut().used(tid, at, at);
		Some(entry.description.borrow().object(fd, false))
	}

	fn path_from(&self, tid: u32, directory: i64, path: &[u8]) -> Vec<u8> {
		let directory = Some(directory).filter(|&fd| fd != AT_FDCWD).map(descriptor);
		self.whole(tid, directory.as_ref(), path.to_vec())
	}
}
