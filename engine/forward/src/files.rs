//! Files that the server knows by handle, the end of those that are appended to, and the gaps in them.

use std::collections::hash_map::Entry;

use std::sync::Arc;

use fathom_wire::{Gap, Handle, Wanted};

use crate::directory::OWN_ROOT;
use crate::queue::{Key, Queue};
use crate::store::Object;
use crate::{Map, Set};

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
	/// Appends that are done, of which the owner does not know yet, and the outcomes to be reported.
	pub written: Vec<Key>,
	pub outcomes: Vec<Gap>,
	/// The request to the owner that is under way: wanted extents, and appends whose outcomes it reports.
	pub asking: Option<(Vec<Wanted>, Vec<Key>)>,
	/// Extents that are handed out and not done.
	pub outstanding: u32,
}

impl End {
	/// Nothing is under way, but maybe the word to the owner that nobody appends any more.
	pub fn is_quiet(&self) -> bool {
		let leaves =
			|(wanted, written): &(Vec<Wanted>, Vec<Key>)| wanted.is_empty() && written.is_empty();
		self.waiting.is_empty()
			&& self.outcomes.is_empty()
			&& self.asking.as_ref().is_none_or(leaves)
			&& self.outstanding == 0
	}
}

impl File {
	/// Nobody holds it, and nothing is being done to it.
	fn is_idle(&self) -> bool {
		self.holds == 0 && self.queue.is_empty() && !self.is_appended()
	}

	/// Whether somebody counts on the end staying where appends left it.
	pub fn is_appended(&self) -> bool {
		(self.end.at.is_some() && self.holds > 0) || !self.end.is_quiet()
	}
}

#[derive(Default)]
pub struct Files {
	known: Map<Handle, File>,
	clock: u64,
	/// Files that have lost their last name, which who looked them up before may make known after: until they are not.
	gone: Set<Handle>,
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
		let idle: Vec<_> = self.known.values().filter(|file| file.is_idle()).collect();
		let mut used: Vec<(u64, Handle)> =
			idle.iter().map(|f| (f.used, f.object.handle())).collect();
		used.sort_unstable();
		for (_, handle) in
			used.iter().take(MOST / 4).filter(|(_, h)| ![Handle::ROOT, OWN_ROOT].contains(h))
		{
			self.known.remove(handle);
		}
	}

	/// Files have lost their last names.
	pub fn lose(&mut self, handles: &[Handle]) {
		self.gone.extend(handles);
	}

	/// Of files without a name, those among these that nobody uses: they are known no more.
	pub fn end(&mut self, handles: &[Handle]) -> Vec<Arc<Object>> {
		let mut ended = Vec::new();
		for handle in handles.iter().filter(|handle| self.gone.contains(handle)) {
			if let Entry::Occupied(file) = self.known.entry(*handle)
				&& file.get().is_idle()
			{
				ended.push(file.remove().object);
			}
		}
		ended
	}

	/// The same of all.
	pub fn end_all(&mut self) -> Vec<Arc<Object>> {
		let all: Vec<Handle> = self.gone.iter().copied().collect();
		let ended = self.end(&all);
		self.gone.retain(|handle| self.known.contains_key(handle));
		ended
	}

	pub fn add_root(&mut self, root: Arc<Object>) {
		let (path, queue, end) = (String::new(), Queue::default(), End::default());
		let handle = root.handle();
		let file = File { object: root, path, queue, holds: 1, end, used: 0 };
		self.known.insert(handle, file);
	}
}
