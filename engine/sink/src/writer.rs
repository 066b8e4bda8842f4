//! Streams that are all there, as one shared file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::block::{Codec, Head, Piece, good_name, seal};
use crate::file::write_new;
use crate::index::{Entry, index};
use crate::sink::INDEX;
use crate::spool::random;

/// Bytes of files, and pieces of them, from which on a block is full.
const FULL: usize = 1 << 20;
const MANY: usize = 10_000;
const NAME: &str = "streams.blocks";

/// A new shared file, and what is in it so far.
pub struct Writer {
	folder: PathBuf,
	file: File,
	at: u64,
	entries: Vec<Entry>,
}

impl Writer {
	/// In this folder, which must be there and be empty.
	pub fn create(folder: &Path) -> io::Result<Writer> {
		let file = File::create_new(folder.join(NAME))?;
		Ok(Writer { folder: folder.to_owned(), file, at: 0, entries: Vec::new() })
	}

	/// All files of a node. Errors: also a name that readers would not take.
	pub fn add<'a>(
		&mut self,
		node: &str,
		files: impl Iterator<Item = (String, &'a [u8])>,
	) -> io::Result<()> {
		let mut block = Open::new(node)?;
		for (name, bytes) in files {
			checked(&name)?;
			for (part, at) in bytes.chunks(FULL).zip((0u64..).step_by(FULL)) {
				if block.raw.len() + part.len() > FULL || block.head.pieces.len() == MANY {
					self.write(block.close(false))?;
				}
				block.raw.extend_from_slice(part);
				block.head.pieces.push(Piece { file: name.clone(), at, length: part.len() as u32 });
			}
		}
		self.write(block.close(true))
	}

	/// The index, which makes it whole.
	pub fn finish(self) -> io::Result<()> {
		write_new(&self.folder.join(INDEX), &index(&self.entries))
	}

	fn write(&mut self, (head, bytes): (Head, Vec<u8>)) -> io::Result<()> {
		self.file.write_all(&bytes)?;
		self.entries.push(Entry { file: NAME.to_owned(), offset: self.at, head });
		self.at += bytes.len() as u64;
		Ok(())
	}
}

/// A block that takes more.
struct Open {
	head: Head,
	raw: Vec<u8>,
}

impl Open {
	fn new(node: &str) -> io::Result<Open> {
		checked(node)?;
		Ok(Open { head: Head::new(random()?, 0, node, Codec::Zstd), raw: Vec::new() })
	}

	/// As it lies in the file; the next one is begun.
	fn close(&mut self, last: bool) -> (Head, Vec<u8>) {
		let Head { source, number, codec, .. } = self.head;
		let next = Head::new(source, number + 1, &self.head.node, codec);
		let mut head = std::mem::replace(&mut self.head, next);
		head.last = last;
		seal(head, &std::mem::take(&mut self.raw))
	}
}

fn checked(name: &str) -> io::Result<()> {
	match good_name(name) {
		true => Ok(()),
		false => {
			Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?}: no name here")))
		}
	}
}
