//! A stream file that grows: chunks as they are appended.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use fathom_stream::{HEADER, Header, find_chunk, sealed_chunk};

use crate::missed::Missed;

pub struct Growing {
	pub path: PathBuf,
	/// Looked at up to here.
	at: u64,
	/// Bytes at the end that are the beginning of a chunk, at the last look.
	pub torn: u64,
}

/// A chunk whose checksum fits.
pub struct FileChunk {
	pub header: Header,
	pub offset: u64,
}

const STEP: u64 = 1 << 20;

impl Growing {
	pub fn new(path: PathBuf) -> Growing {
		Growing { path, at: 0, torn: 0 }
	}

	/// Is nothing in it, as far as it was looked at?
	pub fn is_empty(&self) -> bool {
		self.at == 0
	}

	/// The chunks that came since. `whole`: nobody writes to it any more, so what is torn stays so.
	pub fn more(&mut self, whole: bool, missed: &mut Missed) -> io::Result<Vec<FileChunk>> {
		let file = match File::open(&self.path) {
			Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
			file => file?,
		};
		let length = file.metadata()?.len();
		let mut chunks = Vec::new();
		self.torn = 0;
		while self.at < length {
			match self.next(&file, length, whole)? {
				Next::Chunk(header) => {
					let offset = self.at;
					self.at += header.chunk_bytes() as u64;
					chunks.push(FileChunk { header, offset });
				}
				Next::Damage(bytes) => {
					missed.bytes += bytes;
					missed.note(format!("{} byte {}: no chunk", self.path.display(), self.at));
					self.at += bytes;
				}
				Next::Torn(bytes) => {
					self.torn = bytes;
					break;
				}
			}
		}
		Ok(chunks)
	}

	fn next(&self, file: &File, length: u64, whole: bool) -> io::Result<Next> {
		let left = length - self.at;
		let mut torn = true;
		if left >= HEADER as u64 {
			let mut start = [0; HEADER];
			file.read_exact_at(&mut start, self.at)?;
			let header = Header::read(&start).ok();
			torn = header.as_ref().is_some_and(|header| header.chunk_bytes() as u64 > left);
			if let Some(header) = header.filter(|_| !torn) {
				let chunk = self.read(file, self.at, header.chunk_bytes())?;
				if sealed_chunk(&chunk).is_ok() {
					return Ok(Next::Chunk(header));
				}
			}
		}
		if torn && !whole {
			return Ok(Next::Torn(left));
		}
		let bytes = self.damage(file, length)?;
		Ok(if torn && bytes == left { Next::Torn(bytes) } else { Next::Damage(bytes) })
	}

	/// Bytes up to where a chunk may begin again.
	fn damage(&self, file: &File, length: u64) -> io::Result<u64> {
		let mut from = self.at + 1;
		while from < length {
			let piece = self.read(file, from, (length - from).min(STEP) as usize)?;
			if let Some(position) = find_chunk(&piece, 0) {
				return Ok(from + position as u64 - self.at);
			}
			from += (piece.len() as u64).saturating_sub(7).max(1); // a magic may lie across the border
		}
		Ok(length - self.at)
	}

	fn read(&self, file: &File, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
		let mut data = vec![0; bytes];
		file.read_exact_at(&mut data, at)?;
		Ok(data)
	}

	/// Reads all of a chunk.
	pub fn chunk(&self, chunk: &FileChunk) -> io::Result<Vec<u8>> {
		self.read(&File::open(&self.path)?, chunk.offset, chunk.header.chunk_bytes())
	}
}

enum Next {
	Chunk(Header),
	Damage(u64),
	/// A write that is under way, or that the end of its process cut short.
	Torn(u64),
}
