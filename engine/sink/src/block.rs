//! A block: pieces of files of one node, with what tells where they belong.

use fathom_stream::{Cursor, put_text, put_varint};

use crate::Flaw;

pub(crate) const MAGIC: &[u8; 8] = b"FATHOMSB";
/// Before the directory.
pub(crate) const FIXED: usize = 64;
const CRC_AT: usize = 60;
const VERSION: u16 = 1;
const LAST: u32 = 1;
/// Most bytes of a directory.
pub(crate) const MOST_DIRECTORY: usize = 4 << 20;
/// Most bytes of files in a block; stored they are never more.
pub const MOST_RAW: usize = 32 << 20;

/// A name that stays inside its folder, and is no other file there by another spelling.
pub fn good_name(name: &str) -> bool {
	let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
	!name.is_empty() && name.len() <= 255 && !name.starts_with('.') && name.chars().all(plain)
}

/// How data is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
	Plain,
	Zstd,
}

/// Bytes of a file of the node, from `at` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
	pub file: String,
	pub at: u64,
	pub length: u32,
}

/// What a block says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
	/// Who made the block, random; and its number there, from 0.
	pub source: u64,
	pub number: u64,
	/// The source made no more.
	pub last: bool,
	pub codec: Codec,
	/// The node's folder.
	pub node: String,
	/// In the order of their bytes.
	pub pieces: Vec<Piece>,
	pub raw: u32,
	pub stored: u32,
	/// CRC-32C of the data as it is stored.
	pub crc: u32,
}

impl Head {
	/// The head that `data` begins with, and its length; what is behind it may be missing.
	pub fn read(data: &[u8]) -> Result<(Head, usize), Flaw> {
		let length = Head::length(data)?;
		let bytes = data.get(..length).ok_or(Flaw::Truncated)?;
		if checksum(bytes) != u32_at(bytes, CRC_AT) {
			return Err(Flaw::Head);
		}
		let mut from = Cursor::new(&bytes[FIXED..]);
		let (node, pieces) = directory(&mut from).ok_or(Flaw::Impossible("a directory"))?;
		let head = Head {
			source: u64_at(bytes, 16),
			number: u64_at(bytes, 24),
			last: u32_at(bytes, 32) & LAST != 0,
			codec: match u32_at(bytes, 36) {
				0 => Codec::Plain,
				1 => Codec::Zstd,
				_ => return Err(Flaw::Impossible("a codec")),
			},
			node,
			pieces,
			raw: u32_at(bytes, 40),
			stored: u32_at(bytes, 44),
			crc: u32_at(bytes, 48),
		};
		head.check()?;
		if head.bytes().len() != length {
			// its numbers are longer than need be, and its data would be looked for elsewhere
			return Err(Flaw::Impossible("a directory"));
		}
		Ok((head, length))
	}

	/// Length of the head that `data` begins with; its checksum was not looked at.
	pub(crate) fn length(data: &[u8]) -> Result<usize, Flaw> {
		if !data.starts_with(MAGIC) {
			return Err(Flaw::NoMagic);
		}
		if data.len() < FIXED {
			return Err(Flaw::Truncated);
		}
		let version = u16::from_le_bytes([data[8], data[9]]);
		if version != VERSION {
			return Err(Flaw::Version(version));
		}
		let directory = u32_at(data, 12) as usize;
		if directory > MOST_DIRECTORY {
			return Err(Flaw::Impossible("a directory's length"));
		}
		Ok(FIXED + directory)
	}

	fn check(&self) -> Result<(), Flaw> {
		let sum = self.pieces.iter().map(|piece| u64::from(piece.length)).sum::<u64>();
		if self.number == u64::MAX {
			return Err(Flaw::Impossible("a block's number"));
		}
		if self.raw as usize > MOST_RAW || self.stored > self.raw || sum != u64::from(self.raw) {
			return Err(Flaw::Impossible("a length"));
		}
		Ok(())
	}

	/// As it lies before its data.
	pub fn bytes(&self) -> Vec<u8> {
		let mut out = vec![0; FIXED];
		put_text(&mut out, self.node.as_bytes());
		put_varint(&mut out, self.pieces.len() as u64);
		for piece in &self.pieces {
			put_text(&mut out, piece.file.as_bytes());
			put_varint(&mut out, piece.at);
			put_varint(&mut out, u64::from(piece.length));
		}
		let directory = (out.len() - FIXED) as u32;
		let mut put = |at: usize, value: &[u8]| out[at..at + value.len()].copy_from_slice(value);
		put(0, MAGIC);
		put(8, &VERSION.to_le_bytes());
		put(12, &directory.to_le_bytes());
		put(16, &self.source.to_le_bytes());
		put(24, &self.number.to_le_bytes());
		put(32, &(if self.last { LAST } else { 0 }).to_le_bytes());
		put(36, &u32::from(self.codec == Codec::Zstd).to_le_bytes());
		put(40, &self.raw.to_le_bytes());
		put(44, &self.stored.to_le_bytes());
		put(48, &self.crc.to_le_bytes());
		let crc = checksum(&out);
		out[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
		out
	}

	/// The bytes of the pieces, one after the other.
	pub fn open(&self, stored: &[u8]) -> Result<Vec<u8>, Flaw> {
		if stored.len() != self.stored as usize || crc32c::crc32c(stored) != self.crc {
			return Err(Flaw::Data);
		}
		let raw = match self.codec {
			Codec::Plain => stored.to_vec(),
			Codec::Zstd => {
				zstd::bulk::decompress(stored, self.raw as usize).map_err(|_| Flaw::Unreadable)?
			}
		};
		if raw.len() == self.raw as usize { Ok(raw) } else { Err(Flaw::Unreadable) }
	}
}

fn directory(from: &mut Cursor<'_>) -> Option<(String, Vec<Piece>)> {
	let node = name(from)?;
	let count = from.count("pieces").ok()?;
	let mut pieces = Vec::with_capacity(count.min(4096));
	for _ in 0..count {
		let (file, at) = (name(from)?, from.varint().ok()?);
		let length = from.number("length").ok()?;
		at.checked_add(u64::from(length)).filter(|end| *end <= i64::MAX as u64)?;
		pieces.push(Piece { file, at, length });
	}
	from.is_empty().then_some((node, pieces))
}

fn name(from: &mut Cursor<'_>) -> Option<String> {
	let name = std::str::from_utf8(from.text().ok()?).ok()?;
	good_name(name).then(|| name.to_owned())
}

/// Data as it is stored, never longer than it was.
pub fn compress(raw: &[u8], codec: Codec) -> (Codec, Vec<u8>) {
	if codec == Codec::Zstd
		&& let Ok(stored) = zstd::bulk::compress(raw, 1)
		&& stored.len() < raw.len()
	{
		return (Codec::Zstd, stored);
	}
	(Codec::Plain, raw.to_vec())
}

/// A whole block; lengths, codec and checksum of `head` are set here.
pub fn seal(mut head: Head, raw: &[u8]) -> (Head, Vec<u8>) {
	let (codec, stored) = compress(raw, head.codec);
	head.codec = codec;
	head.raw = raw.len() as u32;
	head.stored = stored.len() as u32;
	head.crc = crc32c::crc32c(&stored);
	let mut block = head.bytes();
	block.extend(stored);
	(head, block)
}

/// CRC-32C of a head, the checksum's own bytes left out.
fn checksum(head: &[u8]) -> u32 {
	crc32c::crc32c_append(crc32c::crc32c(&head[..CRC_AT]), &head[FIXED..])
}

pub(crate) fn u32_at(data: &[u8], at: usize) -> u32 {
	data.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn u64_at(data: &[u8], at: usize) -> u64 {
	u64::from(u32_at(data, at)) | u64::from(u32_at(data, at + 4)) << 32
}
