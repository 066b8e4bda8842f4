//! Little-endian numbers, one behind the other; `None` where the bytes end.

pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
	pub fn take(&mut self, size: usize) -> Option<&'a [u8]> {
		let (taken, rest) = self.0.split_at_checked(size)?;
		self.0 = rest;
		Some(taken)
	}

	fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
		self.take(N)?.try_into().ok()
	}

	pub fn u8(&mut self) -> Option<u8> {
		self.array().map(u8::from_le_bytes)
	}

	pub fn i32(&mut self) -> Option<i32> {
		self.array().map(i32::from_le_bytes)
	}

	pub fn u32(&mut self) -> Option<u32> {
		self.array().map(u32::from_le_bytes)
	}

	pub fn u64(&mut self) -> Option<u64> {
		self.array().map(u64::from_le_bytes)
	}

	pub fn f64(&mut self) -> Option<f64> {
		self.array().map(f64::from_le_bytes)
	}
}

/// All of it as numbers; what is behind the last whole one does not count.
pub fn integers(data: &[u8]) -> Vec<i32> {
	data.chunks_exact(4).filter_map(|four| Bytes(four).i32()).collect()
}
