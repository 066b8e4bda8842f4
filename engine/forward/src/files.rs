//! Files that the server knows by handle, the end of those that are appended to, and the gaps in them.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use fathom_wire::{Gap, Handle, Wanted};

use crate::queue::{Key, Queue};
use crate::store::Object;
use crate::stripes::PEER_ROOT;
use crate::{Map, Set};

/// Files known at once, while nobody holds them, however many descriptors there are.
const MOST: usize = 4096;
/// Of the descriptors that this process may have, one in so many is a file's that nobody holds; each has up to four.
const SHARE: usize = 8;
/// Fewer are not worth a search.
const FEW: usize = 16;

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
	/// What the owner says with extents: its other one now means that the file was truncated, and `at` may be wrong.
	pub stamp: u64,
	/// The owner holds extents back for a truncation: it is asked again after a while.
	pub pauses: bool,
	/// The number of the question that `at` waits for.
	pub probe: u64,
	/// Appends that wait for an extent, in order.
	pub waiting: Vec<Key>,
	/// What became of extents, of which the owner does not know yet. That an append has ended comes behind what failed of it.
	pub outcomes: Vec<Gap>,
	/// The request to the owner that is under way.
	pub asking: Option<Asking>,
	/// Extents that are handed out and not done.
	pub outstanding: u32,
	/// Appends that came after a truncation that is not done, for each of these in order: they wait for its end to be given
	/// extents, as what was given before would leave zeros.
	pub behind_cuts: VecDeque<Vec<Key>>,
}

/// A request to the owner of a file's end.
#[derive(Default)]
pub struct Asking {
	pub wanted: Vec<Wanted>,
	pub outcomes: Vec<Gap>,
}

impl Asking {
	/// It only says that nobody appends any more.
	fn leaves(&self) -> bool {
		self.wanted.is_empty() && self.outcomes.is_empty()
	}
}

impl End {
	/// Nothing is under way, but maybe the word to the owner that nobody appends any more.
	pub fn is_quiet(&self) -> bool {
		self.waiting.is_empty()
			&& self.behind_cuts.is_empty()
			&& self.outcomes.is_empty()
			&& self.asking.as_ref().is_none_or(Asking::leaves)
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

pub struct Files {
	known: Map<Handle, File>,
	clock: u64,
	/// Files that nobody holds, at most; those that are held are as many as clients say.
	most_idle: usize,
	/// So many are known when it is looked again how many of them nobody holds.
	look_at: usize,
	/// Files that have lost their last name, which who looked them up before may make known after: until they are not.
	gone: Set<Handle>,
	/// Objects that are not held any more, so many times.
	pub left: Vec<(Arc<Object>, u32)>,
}

impl Files {
	/// `descriptors`: as many as this process may have.
	pub fn new(descriptors: usize) -> Files {
		let most_idle = (descriptors / SHARE).clamp(FEW, MOST);
		let (known, gone, left) = (Map::default(), Set::default(), Vec::new());
		Files { known, clock: 0, most_idle, look_at: most_idle, gone, left }
	}

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
		if object.is_of_another() || (object.is_writable() && !file.object.is_writable()) {
			file.object = object;
		}
		if self.known.len() > self.look_at {
			self.keep_idle(|_, most| most - most / 4);
		}
	}

	/// Descriptors run short: half of the files that nobody holds are forgotten.
	pub fn let_go(&mut self) {
		self.keep_idle(|idle, _| if idle > FEW { idle / 2 } else { 0 });
	}

	/// Of the files that nobody holds and nothing is done to, those used last stay: so many of these, of which there may
	/// be at most so many.
	fn keep_idle(&mut self, how_many: impl Fn(usize, usize) -> usize) {
		let is_idle = |(handle, file): &(&Handle, &File)| {
			file.is_idle() && ![Handle::ROOT, PEER_ROOT].contains(handle)
		};
		let idle = self.known.iter().filter(is_idle);
		let mut idle: Vec<(u64, Handle)> =
			idle.map(|(handle, file)| (file.used, *handle)).collect();
		let over = idle.len().saturating_sub(how_many(idle.len(), self.most_idle));
		idle.sort_unstable();
		idle.iter().take(over).for_each(|(_, handle)| drop(self.known.remove(handle)));
		let left = idle.len() - over;
		self.look_at = self.known.len() + self.most_idle.saturating_sub(left).max(FEW / 4);
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

#[cfg(test)]
mod tests {
	use super::*;
	use crate::object;
	use std::fs::{self, File as Opened};
	use std::os::fd::OwnedFd;

	fn learn(files: &mut Files, place: &std::path::Path, name: &str) -> Handle {
		let path = place.join(name);
		fs::write(&path, name).expect("a file");
		let opened = OwnedFd::from(Opened::open(&path).expect("the file"));
		let object = Object::from(object::Object::of(opened).expect("a handle").0);
		let handle = object.handle();
		files.learn(object, name.to_owned());
		handle
	}

	#[test]
	fn files_that_are_held_are_known_however_many_they_are_and_others_follow_the_descriptors() {
		let place = std::env::temp_dir().join(format!("fathom-files-{}", std::process::id()));
		fs::create_dir_all(&place).expect("a place");
		let mut files = Files::new(256); // 32 that nobody holds
		let held: Vec<Handle> =
			(0..200).map(|at| learn(&mut files, &place, &format!("h{at}"))).collect();
		let (known, last) = (files.len(), held[199]);
		assert!(known <= 32 + FEW && files.get(&last).is_some(), "{known}");
		let held: Vec<Handle> = (0..200)
			.map(|at| {
				let handle = learn(&mut files, &place, &format!("h{at}"));
				files.get(&handle).expect("what was just learnt").holds = 1;
				handle
			})
			.collect();
		for at in 0..200 {
			learn(&mut files, &place, &format!("i{at}"));
		}
		assert!(held.iter().all(|handle| files.get(handle).is_some()));
		assert!(files.len() <= 200 + 32 + FEW, "{}", files.len());
		files.let_go();
		files.let_go();
		assert!(files.len() <= 200 + FEW, "{}", files.len());
		assert!(held.iter().all(|handle| files.get(handle).is_some()));
		fs::remove_dir_all(&place).expect("the place");
	}
}
