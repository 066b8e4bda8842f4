//! Words of a page that other processes have mapped.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The first page of a file, shared.
pub struct Page {
	words: *mut AtomicU64,
}

const BYTES: usize = 4096;

impl Page {
	/// Of a file that begins with `magic`.
	pub fn open(path: &Path, magic: [u8; 8]) -> Result<Page> {
		let file = File::options().read(true).write(true).open(path)?;
		let whole = file.metadata()?.len() >= BYTES as u64;
		let other = || Error::new(ErrorKind::InvalidData, "not as fathom wrote it");
		if !whole {
			return Err(other());
		}
		let access = ProtFlags::READ | ProtFlags::WRITE;
		// SAFETY: a new mapping, where the kernel chooses; the file has these bytes.
		let words = unsafe { mmap(null_mut(), BYTES, access, MapFlags::SHARED, &file, 0) }?;
		let page = Page { words: words.cast() };
		let actual = page.word(0).load(Ordering::Relaxed).to_ne_bytes();
		if actual == magic { Ok(page) } else { Err(other()) }
	}

	/// The word at this byte.
	fn word(&self, byte: usize) -> &AtomicU64 {
		assert!(byte < BYTES && byte.is_multiple_of(8));
		// SAFETY: within the page, aligned, mapped as long as we are; all others access it atomically.
		unsafe { &*self.words.add(byte / 8) }
	}

	pub fn get(&self, byte: usize) -> u64 {
		self.word(byte).load(Ordering::SeqCst)
	}

	pub fn set(&self, byte: usize, value: u64) {
		self.word(byte).store(value, Ordering::SeqCst);
	}
}

impl Drop for Page {
	fn drop(&mut self) {
		// SAFETY: what `open` mapped, and no reference into it is left.
		let _ = unsafe { munmap(self.words.cast(), BYTES) };
	}
}
