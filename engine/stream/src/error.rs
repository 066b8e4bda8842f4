//! What can be wrong with a stream.

use std::fmt;

/// Why bytes could not be taken for what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
	/// Bytes that are no chunk, up to the next magic or the end.
	NoMagic,
	/// A version this reader does not know.
	Version(u16),
	/// A header length that cannot be.
	HeaderLength(u16),
	/// The chunk says it is longer than the bytes that are there (a torn write).
	Truncated { committed: u32, present: u64 },
	/// More rows than any chunk can hold.
	TooLong(u32),
	/// The checksum does not fit.
	Checksum { stored: u32, computed: u32 },
	/// A chunk in a file that was never sealed, so that nothing vouches for it.
	NotSealed,
	/// The chunk belongs to another process image than its file.
	Foreign,
	/// A number that does not end within ten bytes.
	Varint,
	/// Rows end in the middle of one.
	Ended,
	/// A number too large for what it counts.
	TooLarge(&'static str),
	/// A row of a pattern that was not defined in this chunk.
	UndefinedSlot(u8),
	/// A row of an op that was not named in this chunk.
	UnnamedOp(u32),
	/// Bits that this version does not have.
	UnknownBits(u8),
	/// A row ends a call that is not the innermost open one.
	Depth { row: u32, open: u32 },
	/// Rows come before the list of the calls that were open at the chunk's begin.
	NoOpenRecord,
	/// Not a ring.
	NoRing,
}

impl fmt::Display for Reason {
	fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Reason::NoMagic => write!(out, "no chunk begins here"),
			Reason::Version(version) => write!(out, "version {version} is not known"),
			Reason::HeaderLength(bytes) => write!(out, "a header of {bytes} bytes cannot be"),
			Reason::Truncated { committed, present } => {
				write!(out, "{committed} bytes of rows promised, {present} there")
			}
			Reason::TooLong(bytes) => write!(out, "{bytes} bytes of rows cannot be"),
			Reason::Checksum { stored, computed } => {
				write!(out, "checksum {stored:08x}, bytes give {computed:08x}")
			}
			Reason::NotSealed => write!(out, "chunk was never sealed"),
			Reason::Foreign => write!(out, "chunk of another process"),
			Reason::Varint => write!(out, "a number has no end"),
			Reason::Ended => write!(out, "rows end in the middle of one"),
			Reason::TooLarge(what) => write!(out, "{what} is too large"),
			Reason::UndefinedSlot(slot) => write!(out, "pattern {slot} is not defined"),
			Reason::UnnamedOp(op) => write!(out, "op {op} is not named"),
			Reason::UnknownBits(bits) => write!(out, "unknown bits {bits:#04x}"),
			Reason::Depth { row, open } => {
				write!(out, "row of depth {row} while {open} calls are open")
			}
			Reason::NoOpenRecord => write!(out, "the list of open calls is missing"),
			Reason::NoRing => write!(out, "not a ring"),
		}
	}
}

/// A place in rows where decoding had to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stream {stream:016x} chunk {number} byte {byte}: {reason}")]
pub struct Damage {
	pub stream: u64,
	pub number: u64,
	/// From the chunk's begin.
	pub byte: usize,
	pub reason: Reason,
}
