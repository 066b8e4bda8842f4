//! What the descriptors of an image are, as far as it was read.

use std::collections::HashMap;

use fathom_stream::Object;

#[derive(Debug, Default)]
pub struct Descriptors {
	/// The latest of each path.
	pub opened: HashMap<String, u32>,
	/// By object: is it known to be no socket, pipe or queue of events?
	named: Vec<bool>,
}

impl Descriptors {
	const MOST: usize = 1 << 20; // of a larger number nobody knows whose it is

	pub fn add(&mut self, object: &Object<'_>) {
		let index = object.object as usize;
		if index < Self::MOST && !is_nameless(object.name) {
			self.named.resize(self.named.len().max(index + 1), false);
			self.named[index] = true;
		}
	}

	/// May it be one? A thread's calls can be read before another's definition.
	#[inline]
	pub fn may_be_nameless(&self, object: u32) -> bool {
		let index = object as usize;
		index != 0 && index < Self::MOST && !self.named.get(index).copied().unwrap_or(false)
	}
}

pub fn is_nameless(name: &[u8]) -> bool {
	["socket:", "pipe:", "anon_inode:"].iter().any(|kind| name.starts_with(kind.as_bytes()))
}
