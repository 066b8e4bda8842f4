//! Numbers and text in bytes: read and written.

use crate::error::Reason;

/// A position in a slice. Every read either moves on or says why it cannot.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
	data: &'a [u8],
	at: usize,
}

impl<'a> Cursor<'a> {
	pub fn new(data: &'a [u8]) -> Self {
		Cursor { data, at: 0 }
	}

	#[inline]
	pub fn position(&self) -> usize {
		self.at
	}

	#[inline]
	pub fn is_empty(&self) -> bool {
		self.at >= self.data.len()
	}

	pub fn left(&self) -> usize {
		self.data.len() - self.at
	}

	#[inline]
	pub fn u8(&mut self) -> Result<u8, Reason> {
		let byte = *self.data.get(self.at).ok_or(Reason::Ended)?;
		self.at += 1;
		Ok(byte)
	}

	/// Unsigned LEB128; one and two bytes are by far the most frequent.
	#[inline]
	pub fn varint(&mut self) -> Result<u64, Reason> {
		match self.data.get(self.at..) {
			Some([a, ..]) if *a < 0x80 => {
				self.at += 1;
				Ok(u64::from(*a))
			}
			Some([a, b, ..]) if *b < 0x80 => {
				self.at += 2;
				Ok(u64::from(a & 0x7f) | u64::from(*b) << 7)
			}
			Some([a, b, c, ..]) if *c < 0x80 => {
				self.at += 3;
				Ok(u64::from(a & 0x7f) | u64::from(b & 0x7f) << 7 | u64::from(*c) << 14)
			}
			_ => self.long_varint(),
		}
	}

	#[cold]
	fn long_varint(&mut self) -> Result<u64, Reason> {
		let mut value = 0u64;
		for shift in (0..64).step_by(7) {
			let byte = self.u8()?;
			if shift == 63 && byte > 1 {
				return Err(Reason::Varint);
			}
			value |= u64::from(byte & 0x7f) << shift;
			if byte < 0x80 {
				return Ok(value);
			}
		}
		Err(Reason::Varint)
	}

	#[inline]
	pub fn zigzag(&mut self) -> Result<i64, Reason> {
		let value = self.varint()?;
		Ok((value >> 1) as i64 ^ -((value & 1) as i64))
	}

	pub fn number(&mut self, what: &'static str) -> Result<u32, Reason> {
		u32::try_from(self.varint()?).map_err(|_| Reason::TooLarge(what))
	}

	pub fn u64(&mut self) -> Result<u64, Reason> {
		Ok(u64::from_le_bytes(self.array()?))
	}

	pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
		let bytes = self.take(N)?;
		<[u8; N]>::try_from(bytes).map_err(|_| Reason::Ended)
	}

	pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Reason> {
		let end = self.at.checked_add(bytes).ok_or(Reason::Ended)?;
		let slice = self.data.get(self.at..end).ok_or(Reason::Ended)?;
		self.at = end;
		Ok(slice)
	}

	pub fn text(&mut self) -> Result<&'a [u8], Reason> {
		let bytes = usize::try_from(self.varint()?).map_err(|_| Reason::TooLarge("text"))?;
		self.take(bytes)
	}

	/// A count of things that take at least one byte each, so that no count can ask for more memory
	/// than the input is long.
	pub fn count(&mut self, what: &'static str) -> Result<usize, Reason> {
		let count = self.varint()?;
		if count > self.left() as u64 {
			return Err(Reason::TooLarge(what));
		}
		Ok(count as usize)
	}

	pub fn varints(&mut self, count: usize) -> Result<Vec<u64>, Reason> {
		if count > self.left() {
			return Err(Reason::Ended);
		}
		(0..count).map(|_| self.varint()).collect()
	}
}

pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
	while value >= 0x80 {
		out.push(value as u8 | 0x80);
		value >>= 7;
	}
	out.push(value as u8);
}

pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
	put_varint(out, (value << 1 ^ value >> 63) as u64);
}

pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
	put_varint(out, text.len() as u64);
	out.extend_from_slice(text);
}

/// Little-endian numbers at fixed places of a header that is known to be long enough.
pub(crate) fn u16_at(data: &[u8], at: usize) -> u16 {
	data.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

pub(crate) fn u32_at(data: &[u8], at: usize) -> u32 {
	data.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

pub(crate) fn u64_at(data: &[u8], at: usize) -> u64 {
	u64::from(u32_at(data, at)) | u64::from(u32_at(data, at + 4)) << 32
}
