//! Table `counters`: every call once, whether it has a row or only a counter record.

use std::collections::HashMap;

use crate::columns::{CallRow, has};

pub const NO_FILE: u32 = u32::MAX;
pub const NO_OP: u16 = u16::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Key {
	pub process: u32,
	/// Not the process's first thread.
	pub other_thread: bool,
	pub file: u32,
	pub op: u16,
	pub enclosing: u16,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
	pub calls: u64,
	pub recorded: u64,
	pub errors: u64,
	pub bytes: i64,
	pub time: i64,
	pub shortest: i64,
	pub longest: i64,
	pub first_start: i64,
	pub last_stop: i64,
}

impl Sum {
	fn add(&mut self, other: &Sum) {
		if self.calls == 0 {
			*self = *other;
			return;
		}
		self.calls += other.calls;
		self.recorded += other.recorded;
		self.errors += other.errors;
		self.bytes = self.bytes.saturating_add(other.bytes);
		self.time = self.time.saturating_add(other.time);
		self.shortest = self.shortest.min(other.shortest);
		self.longest = self.longest.max(other.longest);
		self.first_start = self.first_start.min(other.first_start);
		self.last_stop = self.last_stop.max(other.last_stop);
	}
}

const RECENT: usize = 64;

/// Sums of one process image.
#[derive(Debug)]
pub struct Counters {
	index: HashMap<Key, usize>,
	rows: Vec<(Key, Sum)>,
	/// Where keys that were used lately are: most calls repeat.
	recent: [u32; RECENT],
}

impl Default for Counters {
	fn default() -> Self {
		Counters { index: HashMap::new(), rows: Vec::new(), recent: [u32::MAX; RECENT] }
	}
}

impl Counters {
	#[inline]
	pub fn call(&mut self, process: u32, other_thread: bool, row: &CallRow, enclosing: u16) {
		let file = if row.valid & has::FILE != 0 { row.file } else { NO_FILE };
		let key = Key { process, other_thread, file, op: row.op, enclosing };
		let moved = row.valid & has::BYTES != 0 && row.bytes > 0 && row.error == 0;
		let sum = self.sum(&key);
		let first = sum.calls == 0;
		sum.calls += 1;
		sum.recorded += 1;
		sum.errors += u64::from(row.error != 0);
		sum.bytes = sum.bytes.saturating_add(if moved { row.bytes } else { 0 });
		sum.time = sum.time.saturating_add(row.duration);
		sum.longest = sum.longest.max(row.duration);
		sum.last_stop = sum.last_stop.max(row.start + row.duration);
		if first || row.duration < sum.shortest {
			sum.shortest = row.duration;
		}
		if first || row.start < sum.first_start {
			sum.first_start = row.start;
		}
	}

	pub fn add(&mut self, key: &Key, sum: &Sum) {
		self.sum(key).add(sum);
	}

	#[inline]
	fn sum(&mut self, key: &Key) -> &mut Sum {
		let hash = key.file.wrapping_mul(31) ^ u32::from(key.op) << 1 ^ u32::from(key.enclosing);
		let slot = hash as usize % RECENT;
		let recent = self.recent[slot] as usize;
		if self.rows.get(recent).is_some_and(|(known, _)| known == key) {
			return &mut self.rows[recent].1;
		}
		let rows = &mut self.rows;
		let at = *self.index.entry(*key).or_insert_with(|| {
			rows.push((*key, Sum::default()));
			rows.len() - 1
		});
		self.recent[slot] = at as u32;
		&mut self.rows[at].1
	}

	pub fn into_rows(self) -> Vec<(Key, Sum)> {
		self.rows
	}
}
