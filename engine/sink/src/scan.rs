//! Blocks of a shared file, found without the index.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::block::{FIXED, Head, MAGIC};

/// Something with bytes at places.
pub trait Bytes {
	/// Bytes from `at` on, up to `length`; fewer only at the end.
	fn bytes(&self, at: u64, length: usize) -> io::Result<Vec<u8>>;
}

impl Bytes for [u8] {
	fn bytes(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
		let from = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
		Ok(self[from..from.saturating_add(length).min(self.len())].to_vec())
	}
}

impl Bytes for File {
	fn bytes(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
		let mut block = vec![0; length];
		let mut filled = 0;
		while filled < length {
			match self.read_at(&mut block[filled..], at + filled as u64) {
				Ok(0) => break,
				Ok(got) => filled += got,
				Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
				Err(error) => return Err(error),
			}
		}
		block.truncate(filled);
		Ok(block)
	}
}

/// What a scan finds: blocks, and stretches that are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scanned {
	/// First byte and head of each.
	pub blocks: Vec<(u64, Head)>,
	pub skipped: Vec<Range<u64>>,
}

/// What is searched for a magic at once.
const WINDOW: usize = 1 << 20;

/// All blocks that lie within the range. A block whose data would go beyond its end is torn: it is no block.
pub fn scan(from: &(impl Bytes + ?Sized), range: Range<u64>) -> io::Result<Scanned> {
	let mut scanned = Scanned::default();
	let mut at = range.start;
	while at < range.end {
		if let Some((head, end)) = block_at(from, at, range.end)? {
			scanned.blocks.push((at, head));
			at = end;
			continue;
		}
		let next = next_magic(from, at + 1, range.end)?;
		match scanned.skipped.last_mut() {
			Some(last) if last.end == at => last.end = next,
			_ => scanned.skipped.push(at..next),
		}
		at = next;
	}
	Ok(scanned)
}

/// The block at `at`, and where it ends.
fn block_at(from: &(impl Bytes + ?Sized), at: u64, end: u64) -> io::Result<Option<(Head, u64)>> {
	let Ok(length) = Head::length(&from.bytes(at, FIXED)?) else { return Ok(None) };
	let Ok((head, length)) = Head::read(&from.bytes(at, length)?) else { return Ok(None) };
	let behind = at + length as u64 + u64::from(head.stored);
	Ok((behind <= end).then_some((head, behind)))
}

fn next_magic(from: &(impl Bytes + ?Sized), mut at: u64, end: u64) -> io::Result<u64> {
	while at < end {
		let window = from.bytes(at, WINDOW)?;
		if let Some(place) = window.windows(MAGIC.len()).position(|bytes| bytes == MAGIC) {
			return Ok((at + place as u64).min(end));
		}
		if window.len() < WINDOW {
			break;
		}
		at += (WINDOW - MAGIC.len() + 1) as u64;
	}
	Ok(end)
}
