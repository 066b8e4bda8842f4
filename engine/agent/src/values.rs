//! One round's numbers, and where the system's files are read from.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub const BYTES: &str = "bytes";
pub const NS: &str = "ns";
pub const COUNT: &str = "count";

/// Whose number it is: a process image's, or, with instance 0, the node's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Owner {
	pub instance: u64,
	pub pid: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
	pub owner: Owner,
	pub what: Cow<'static, str>,
	pub device: String,
	pub unit: &'static str,
}

#[derive(Debug, Default)]
pub struct Values {
	pub owner: Owner,
	pub list: Vec<(Key, i64)>,
}

impl Values {
	pub fn add(&mut self, what: &'static str, unit: &'static str, value: u64) {
		self.of_device(what, "", unit, value);
	}

	pub fn of_device(
		&mut self,
		what: impl Into<Cow<'static, str>>,
		device: &str,
		unit: &'static str,
		value: u64,
	) {
		let key = Key { owner: self.owner, what: what.into(), device: device.to_owned(), unit };
		self.list.push((key, i64::try_from(value).unwrap_or(i64::MAX)));
	}
}

/// The root of the system's files: `/`, or a tree of a test's own.
#[derive(Debug, Clone)]
pub struct Root(pub PathBuf);

impl Root {
	/// A file's text; empty when it is not there, as most are on most systems.
	pub fn read(&self, path: impl AsRef<Path>) -> String {
		let mut bytes = Vec::new();
		if let Ok(mut file) = File::open(self.0.join(path)) {
			// What was read before an error counts: a process may end in between.
			let _ = file.read_to_end(&mut bytes);
		}
		String::from_utf8_lossy(&bytes).into_owned()
	}

	/// Names in a directory, in order.
	pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
		let entries = std::fs::read_dir(self.0.join(path)).into_iter().flatten().flatten();
		let mut names: Vec<String> =
			entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
		names.sort();
		names
	}
}

/// The `n`-th word as a number.
pub fn number(words: &[&str], n: usize) -> Option<u64> {
	words.get(n)?.parse().ok()
}

/// Ticks of the kernel's accounting as ns.
pub fn ticks(count: u64) -> u64 {
	count.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// What `sample` finds in `fixtures/NAME`, by name and device.
#[cfg(test)]
pub fn fixture(
	name: &str,
	sample: impl Fn(&Root, &mut Values),
) -> std::collections::HashMap<(&'static str, &'static str), (i64, &'static str)> {
	let root = Root(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name));
	let mut values = Values::default();
	sample(&root, &mut values);
	let leaked = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
	let row =
		|(key, value): (Key, i64)| ((leaked(&key.what), leaked(&key.device)), (value, key.unit));
	values.list.into_iter().map(row).collect()
}
