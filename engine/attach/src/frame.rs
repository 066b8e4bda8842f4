//! What a thread was before a call was put into it, and where that is written down on its stack.

/// All that a thread has in its processor.
#[derive(Debug, Clone)]
pub struct Saved<Registers> {
	/// With the system call that was interrupted ahead of it again.
	pub registers: Registers,
	/// The sets of `EXTENDED`, as the kernel has them; those that it knows.
	pub extended: Vec<Vec<u8>>,
	/// Blocked signals.
	pub mask: u64,
}

/// Addresses on a thread's stack, all below what it uses.
#[derive(Debug, Clone, Copy)]
pub struct Place {
	/// Of the signal frame; a called function has the stack below it.
	pub frame: u64,
	/// Of what the called function reads and writes.
	pub data: u64,
}

pub fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
	bytes[at..][..what.len()].copy_from_slice(what);
}

pub fn put_word(bytes: &mut [u8], at: usize, word: u64) {
	put(bytes, at, &word.to_le_bytes());
}
