//! Hints: keys with values that ride on every request and reply. Unknown keys are carried and mean nothing.

use fathom_stream::Cursor;

use crate::WireError;
use crate::field::Field;
use crate::number::limit;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints(pub Vec<(u16, Vec<u8>)>);

impl Hints {
	pub fn with(mut self, key: u16, value: &[u8]) -> Self {
		self.0.push((key, value.to_vec()));
		self
	}

	pub fn value(&self, key: u16) -> Option<&[u8]> {
		self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_slice())
	}

	pub fn has(&self, key: u16) -> bool {
		self.value(key).is_some()
	}

	pub fn number(&self, key: u16) -> Option<u32> {
		self.value(key).and_then(|value| value.try_into().ok()).map(u32::from_le_bytes)
	}
}

impl Field for Hints {
	const NAME: &'static str = "hints";
	fn put(&self, out: &mut Vec<u8>) {
		(self.0.len() as u16).put(out);
		for (key, value) in &self.0 {
			key.put(out);
			(value.len() as u16).put(out);
			out.extend(value);
		}
	}
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
		let count = u16::get(from)?;
		if u32::from(count) > limit::HINTS {
			return Err(WireError::TooMany(Self::NAME, u64::from(count), limit::HINTS));
		}
		(0..count).map(|_| one(from)).collect::<Result<_, _>>().map(Hints)
	}
}

fn one(from: &mut Cursor<'_>) -> Result<(u16, Vec<u8>), WireError> {
	let key = u16::get(from)?;
	let length = u16::get(from)?;
	if u32::from(length) > limit::HINT {
		return Err(WireError::TooMany("a hint", u64::from(length), limit::HINT));
	}
	let value = from.take(usize::from(length)).map_err(|_| WireError::Ended(Hints::NAME))?;
	Ok((key, value.to_vec()))
}
