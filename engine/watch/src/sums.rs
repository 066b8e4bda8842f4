//! Calls, summed by what tells them apart. Numbers are the process image's own.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// In [`Key::enclosing`]: its call has not ended, and no row says what it is.
pub const OPEN: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
	pub op: u32,
	pub object: u32,
	/// Of the outermost call around it; 0: not known.
	pub site: u32,
	/// Op + 1 of the nearest call around it; 0: none.
	pub enclosing: u32,
	/// Some call around it is I/O too: its time is part of that one's.
	pub inner: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
	pub calls: u64,
	pub errors: u64,
	pub bytes: u64,
	pub ticks: u64,
}

impl Sum {
	/// Wraps where 2^64 bytes are not enough: a test's fields may be any numbers.
	pub fn add(&mut self, other: &Sum) {
		self.calls += other.calls;
		self.errors += other.errors;
		self.bytes = self.bytes.wrapping_add(other.bytes);
		self.ticks = self.ticks.wrapping_add(other.ticks);
	}

	/// What was added since `before`.
	pub fn since(&self, before: &Sum) -> Sum {
		Sum {
			calls: self.calls.saturating_sub(before.calls),
			errors: self.errors.saturating_sub(before.errors),
			bytes: self.bytes.saturating_sub(before.bytes),
			ticks: self.ticks.saturating_sub(before.ticks),
		}
	}
}

/// Keys are small numbers that no stranger chooses: a multiplication tells them apart.
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
	fn write(&mut self, bytes: &[u8]) {
		for &byte in bytes {
			self.write_u64(u64::from(byte));
		}
	}

	fn write_u8(&mut self, value: u8) {
		self.write_u64(u64::from(value));
	}

	fn write_u32(&mut self, value: u32) {
		self.write_u64(u64::from(value));
	}

	fn write_u64(&mut self, value: u64) {
		self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
	}

	fn finish(&self) -> u64 {
		self.0 ^ self.0 >> 29
	}
}

pub type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// A bounded number of sums: what finds no place of its own is added to its op's.
#[derive(Debug, Default)]
pub struct Sums {
	rows: Table<Key, Sum>,
}

const MOST: usize = 1 << 16;

impl Sums {
	pub fn add(&mut self, key: Key, sum: &Sum) {
		if let Some(row) = self.rows.get_mut(&key) {
			row.add(sum);
			return;
		}
		let key = if self.rows.len() < MOST { key } else { Key { object: 0, site: 0, ..key } };
		self.rows.entry(key).or_default().add(sum);
	}

	pub fn is_empty(&self) -> bool {
		self.rows.is_empty()
	}

	pub fn drain(&mut self) -> impl Iterator<Item = (Key, Sum)> + '_ {
		self.rows.drain()
	}
}
