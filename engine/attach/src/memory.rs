//! A process's memory and what is mapped there.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// A stretch of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
	pub begin: u64,
	pub end: u64,
	pub executable: bool,
	/// In the file.
	pub offset: u64,
	/// 0: no file.
	pub inode: u64,
	/// A file, or a name in brackets; empty: neither.
	pub path: PathBuf,
}

impl Mapping {
	pub fn holds(&self, address: u64) -> bool {
		(self.begin..self.end).contains(&address)
	}
}

/// What is mapped, by address.
pub fn mappings(process: i32) -> Result<Vec<Mapping>> {
	let text = std::fs::read(format!("/proc/{process}/maps"))?;
	Ok(String::from_utf8_lossy(&text).lines().filter_map(mapping).collect())
}

fn mapping(line: &str) -> Option<Mapping> {
	let mut words = line.splitn(6, ' ');
	let (begin, end) = words.next()?.split_once('-')?;
	let rights = words.next()?;
	let offset = words.next()?;
	let inode = words.nth(1)?;
	let path = words.next().unwrap_or_default().trim_start();
	Some(Mapping {
		begin: u64::from_str_radix(begin, 16).ok()?,
		end: u64::from_str_radix(end, 16).ok()?,
		executable: rights.contains('x'),
		offset: u64::from_str_radix(offset, 16).ok()?,
		inode: inode.parse().ok()?,
		path: path.into(),
	})
}

/// Reads and writes what the process has, its code too.
#[derive(Debug)]
pub struct Memory(File);

impl Memory {
	pub fn open(process: i32) -> Result<Memory> {
		let file = File::options().read(true).write(true).open(format!("/proc/{process}/mem"))?;
		Ok(Memory(file))
	}

	pub fn read(&self, at: u64, bytes: usize) -> Result<Vec<u8>> {
		let mut into = vec![0; bytes];
		self.0.read_exact_at(&mut into, at)?;
		Ok(into)
	}

	pub fn read_word(&self, at: u64) -> Result<u64> {
		let mut into = [0; 8];
		self.0.read_exact_at(&mut into, at)?;
		Ok(u64::from_ne_bytes(into))
	}

	/// As many words as can be read from there, at most.
	pub fn read_words(&self, at: u64, most: usize) -> Vec<u64> {
		let mut into = vec![0; 8 * most];
		let done = self.0.read_at(&mut into, at).unwrap_or(0);
		into[..done]
			.chunks_exact(8)
			.filter_map(|word| word.try_into().ok())
			.map(u64::from_ne_bytes)
			.collect()
	}

	/// Up to the first zero.
	pub fn read_text(&self, at: u64, most: usize) -> Result<Vec<u8>> {
		let mut into = vec![0; most];
		let done = self.0.read_at(&mut into, at)?;
		let end = into[..done].iter().position(|&byte| byte == 0);
		into.truncate(end.ok_or_else(|| Error::from(ErrorKind::InvalidData))?);
		Ok(into)
	}

	pub fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
		self.0.write_all_at(bytes, at)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn lines_of_maps() {
		let line =
			"7f3c-7f4d r-xp 0001a000 103:02 4711                   /usr/lib/a b.so (deleted)";
		let parsed = mapping(line).unwrap();
		assert_eq!(
			(parsed.begin, parsed.end, parsed.offset, parsed.inode),
			(0x7f3c, 0x7f4d, 0x1a000, 4711)
		);
		assert!(parsed.executable && parsed.holds(0x7f3c) && !parsed.holds(0x7f4d));
		assert_eq!(parsed.path, PathBuf::from("/usr/lib/a b.so (deleted)"));
		let bare = mapping("10-20 rw-p 00000000 00:00 0 ").unwrap();
		assert_eq!((bare.inode, bare.path), (0, PathBuf::new()));
		assert_eq!(mapping("no line of maps"), None);
	}

	#[test]
	fn own_memory() {
		let memory = Memory::open(std::process::id() as i32).unwrap();
		let text = b"from here\0on".to_vec();
		let at = text.as_ptr() as u64;
		assert_eq!(memory.read_text(at, text.len()).unwrap(), b"from here");
		memory.write(at, b"there").unwrap();
		assert_eq!(memory.read(at, 9).unwrap(), b"therehere");
		assert!(memory.read_word(0).is_err());
		assert!(memory.read_words(0, 4).is_empty());
	}
}
