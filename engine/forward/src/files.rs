//! Files that the server knows by handle, the end of those that are appended to, and the gaps in them.

use std::collections::HashMap;
use std::sync::Arc;

use fathom_wire::{Gap, Handle};

use crate::queue::{Key, Queue};
use crate::store::Object;

/// Files known at once, while nobody holds them.
const MOST: usize = 4096;

pub struct File {
	pub object: Arc<Object>,
	/// As it was last looked up, for messages.
	pub path: String,
	pub queue: Queue,
	/// By how many opens it is held.
	pub holds: u32,
	pub end: End,
	used: u64,
}

/// The end of a file that is appended to.
#[derive(Default)]
pub struct End {
	/// Not known: the next append asks for the size first.
	pub at: Option<u64>,
	/// Appends that wait for it to be known, in order.
	pub waiting: Vec<Key>,
	/// Extents that are handed out and not done.
	pub outstanding: u32,
}

impl End {
	/// An extent at the end; and the gap before it.
	pub fn reserve(&mut self, length: u64, align: u64) -> Option<(u64, Option<Gap>)> {
		let end = self.at?;
		let offset = end.checked_next_multiple_of(align.max(1))?;
		let next = offset.checked_add(length).filter(|next| i64::try_from(*next).is_ok())?;
		self.at = Some(next);
		let gap = Gap { offset: end, length: offset - end, ..Gap::default() };
		Some((offset, (offset > end).then_some(gap)))
	}
}

impl File {
	/// Whether somebody counts on the end staying where appends left it.
	pub fn is_appended(&self) -> bool {
		(self.end.at.is_some() && self.holds > 0)
			|| self.end.outstanding > 0
			|| !self.end.waiting.is_empty()
	}
}

#[derive(Default)]
pub struct Files {
	known: HashMap<Handle, File>,
	/// Gaps by file, in order of discovery.
	gaps: HashMap<Handle, Vec<Gap>>,
	clock: u64,
}

impl Files {
	pub fn get(&mut self, handle: &Handle) -> Option<&mut File> {
		self.clock += 1;
		let file = self.known.get_mut(handle)?;
		file.used = self.clock;
		Some(file)
	}

	pub fn len(&self) -> usize {
		self.known.len()
	}

	pub fn are_idle(&self) -> bool {
		self.known.values().all(|file| file.queue.is_empty())
	}

	pub fn learn(&mut self, object: Object, path: String) {
		self.clock += 1;
		let used = self.clock;
		let known = self.known.entry(object.handle);
		let object = Arc::new(object);
		let file = known.or_insert_with(|| File {
			object: object.clone(),
			path: String::new(),
			queue: Queue::default(),
			holds: 0,
			end: End::default(),
			used,
		});
		(file.path, file.used) = (path, used);
		if object.is_writable() && !file.object.is_writable() {
			file.object = object;
		}
		self.forget();
	}

	/// When there are too many, a quarter goes: those not used for longest.
	fn forget(&mut self) {
		if self.known.len() <= MOST {
			return;
		}
		let idle = |file: &File| file.holds == 0 && file.queue.is_empty() && !file.is_appended();
		let idle: Vec<_> = self.known.values().filter(|file| idle(file)).collect();
		let mut used: Vec<(u64, Handle)> = idle.iter().map(|f| (f.used, f.object.handle)).collect();
		used.sort_unstable();
		for (_, handle) in used.iter().take(MOST / 4).filter(|(_, h)| *h != Handle::ROOT) {
			self.known.remove(handle);
		}
	}

	pub fn add_root(&mut self, root: Arc<Object>) {
		let (path, queue, end) = (String::new(), Queue::default(), End::default());
		let file = File { object: root, path, queue, holds: 1, end, used: 0 };
		self.known.insert(Handle::ROOT, file);
	}

	pub fn add_gap(&mut self, handle: Handle, gap: Gap) {
		self.gaps.entry(handle).or_default().push(gap);
	}

	/// Gaps that end behind an offset, in order of offset; at most so many, and whether there are more.
	pub fn gaps(&self, handle: &Handle, from: u64, most: usize) -> (Vec<Gap>, bool) {
		let all = self.gaps.get(handle).into_iter().flatten();
		let mut found: Vec<Gap> =
			all.filter(|gap| gap.offset + gap.length > from).cloned().collect();
		found.sort_by_key(|gap| gap.offset);
		let more = found.len() > most;
		found.truncate(most);
		(found, more)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn extents_follow_each_other_and_alignment_leaves_a_gap() {
		let mut end = End { at: Some(10), ..End::default() };
		assert_eq!(end.reserve(5, 0), Some((10, None)));
		let (offset, gap) = end.reserve(5, 16).unwrap();
		assert_eq!((offset, gap.map(|g| (g.offset, g.length))), (16, Some((15, 1))));
		assert_eq!(end.reserve(1, 1).unwrap().0, 21);
		assert_eq!(end.reserve(u64::MAX, 1), None);
		assert_eq!(End::default().reserve(1, 1), None);
	}
}
