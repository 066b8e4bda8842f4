//! Files that the server knows by handle, the end of those that are appended to, and the gaps in them.

use std::collections::HashMap;
use std::sync::Arc;

use fathom_wire::{Gap, Handle, Wanted};

use crate::directory::OWN_ROOT;
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

/// The end of a file that is appended to, as this server knows it; its owner hands out extents.
#[derive(Default)]
pub struct End {
	/// Not known: it is asked for before an extent is.
	pub at: Option<u64>,
	/// The number of the question that `at` waits for.
	pub probe: u64,
	/// Appends that wait for an extent, in order.
	pub waiting: Vec<Key>,
	/// Appends whose owner has not heard yet that they are done, and what it will be told.
	pub written: Vec<Key>,
	pub told: Vec<Gap>,
	/// The owner was asked: for these, and told of those.
	pub asking: Option<(Vec<Wanted>, Vec<Key>)>,
	/// Extents that are handed out and not done.
	pub outstanding: u32,
}

impl End {
	/// Nothing is under way.
	pub fn is_quiet(&self) -> bool {
		self.waiting.is_empty()
			&& self.told.is_empty()
			&& self.asking.is_none()
			&& self.outstanding == 0
	}
}

impl File {
	/// Whether somebody counts on the end staying where appends left it.
	pub fn is_appended(&self) -> bool {
		(self.end.at.is_some() && self.holds > 0) || !self.end.is_quiet()
	}
}

#[derive(Default)]
pub struct Files {
	known: HashMap<Handle, File>,
	clock: u64,
	/// Objects that are not held any more, so many times.
	pub left: Vec<(Arc<Object>, u32)>,
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
		let known = self.known.entry(object.handle());
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
		let mut used: Vec<(u64, Handle)> =
			idle.iter().map(|f| (f.used, f.object.handle())).collect();
		used.sort_unstable();
		for (_, handle) in
			used.iter().take(MOST / 4).filter(|(_, h)| ![Handle::ROOT, OWN_ROOT].contains(h))
		{
			self.known.remove(handle);
		}
	}

	pub fn add_root(&mut self, root: Arc<Object>) {
		let (path, queue, end) = (String::new(), Queue::default(), End::default());
		let handle = root.handle();
		let file = File { object: root, path, queue, holds: 1, end, used: 0 };
		self.known.insert(handle, file);
	}
}
