//! What a value is as bytes.

use fathom_stream::Cursor;

use crate::WireError;
use crate::number::limit;

/// A value with one form as bytes.
pub trait Field: Sized {
	/// For messages: what it is.
	const NAME: &'static str;
	fn put(&self, out: &mut Vec<u8>);
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError>;
}

/// A field that may stand in a list.
pub trait Item: Field {
	/// Fewest bytes of one, so that no count asks for more memory than the input is long.
	const LEAST: usize;
	/// Most of them in a list.
	const MOST: u32;
}

/// Bytes of text, at most `limit::TEXT`.
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(pub Vec<u8>);

impl std::fmt::Debug for Text {
	fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		write!(f, "{:?}", String::from_utf8_lossy(&self.0))
	}
}

impl From<&str> for Text {
	fn from(text: &str) -> Self {
		Text(text.bytes().take(limit::TEXT as usize).collect())
	}
}

/// The bytes of one value.
pub fn encode(field: &impl Field) -> Vec<u8> {
	let mut out = Vec::new();
	field.put(&mut out);
	out
}

/// One value, and nothing after it.
pub fn decode<T: Field>(bytes: &[u8]) -> Result<T, WireError> {
	let mut from = Cursor::new(bytes);
	let value = T::get(&mut from)?;
	match from.left() {
		0 => Ok(value),
		left => Err(WireError::Surplus(left)),
	}
}

macro_rules! numbers {
	($($number:ty),*) => {$(
		impl Field for $number {
			const NAME: &'static str = "a number";
			fn put(&self, out: &mut Vec<u8>) {
				out.extend(self.to_le_bytes());
			}
			fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
				let bytes = from.array().map_err(|_| WireError::Ended(Self::NAME))?;
				Ok(<$number>::from_le_bytes(bytes))
			}
		}
	)*};
}
numbers!(u8, u16, u32, u64, i64);

impl Item for u64 {
	const LEAST: usize = 8;
	const MOST: u32 = limit::EXTENTS;
}

impl<const N: usize> Field for [u8; N] {
	const NAME: &'static str = "a key";
	fn put(&self, out: &mut Vec<u8>) {
		out.extend(self);
	}
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
		from.array().map_err(|_| WireError::Ended(Self::NAME))
	}
}

impl Field for Text {
	const NAME: &'static str = "a text";
	fn put(&self, out: &mut Vec<u8>) {
		let length = self.0.len().min(limit::TEXT as usize);
		(length as u16).put(out);
		out.extend(&self.0[..length]);
	}
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
		let length = u16::get(from)?;
		if u32::from(length) > limit::TEXT {
			return Err(WireError::TooMany("text", u64::from(length), limit::TEXT));
		}
		let bytes = from.take(usize::from(length)).map_err(|_| WireError::Ended(Self::NAME))?;
		Ok(Text(bytes.to_vec()))
	}
}

impl<T: Item> Field for Vec<T> {
	const NAME: &'static str = "a list";
	fn put(&self, out: &mut Vec<u8>) {
		(self.len() as u32).put(out);
		self.iter().for_each(|item| item.put(out));
	}
	fn get(from: &mut Cursor<'_>) -> Result<Self, WireError> {
		let count = u32::get(from)?;
		if count > T::MOST {
			return Err(WireError::TooMany(T::NAME, u64::from(count), T::MOST));
		}
		if count as usize * T::LEAST > from.left() {
			return Err(WireError::Ended(T::NAME));
		}
		(0..count).map(|_| T::get(from)).collect()
	}
}

/// A struct whose bytes are those of its fields, in order.
macro_rules! record {
	($(#[$doc:meta])* $name:ident, $label:literal { $($(#[$about:meta])* $field:ident: $type:ty),* $(,)? }) => {
		$(#[$doc])*
		#[derive(Debug, Clone, Default, PartialEq, Eq)]
		pub struct $name { $($(#[$about])* pub $field: $type),* }

		impl crate::Field for $name {
			const NAME: &'static str = $label;
			fn put(&self, out: &mut Vec<u8>) {
				$(crate::Field::put(&self.$field, out);)*
			}
			fn get(from: &mut fathom_stream::Cursor<'_>) -> Result<Self, crate::WireError> {
				Ok($name { $($field: crate::Field::get(from)?),* })
			}
		}
	};
}
pub(crate) use record;
