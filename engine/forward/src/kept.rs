//! What is kept in mind of what others were asked: when there is too much, all of it is forgotten, and asked for again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kept at once.
const MOST: usize = 16384;

pub struct Kept<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Kept<K, V> {
	fn default() -> Kept<K, V> {
		Kept(Mutex::default())
	}
}

impl<K: Eq + Hash, V: Copy> Kept<K, V> {
	/// Each entry is whole, whatever became of a thread that held the lock.
	fn map(&self) -> MutexGuard<'_, HashMap<K, V>> {
		self.0.lock().unwrap_or_else(PoisonError::into_inner)
	}

	pub fn get(&self, key: &K) -> Option<V> {
		self.map().get(key).copied()
	}

	pub fn put(&self, key: K, value: V) {
		let mut map = self.map();
		if map.len() >= MOST {
			map.clear();
		}
		map.insert(key, value);
	}

	pub fn forget(&self, which: impl Fn(&K) -> bool) {
		self.map().retain(|key, _| !which(key));
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_is_kept_is_bounded() {
		let kept = Kept::default();
		(0..=MOST).for_each(|number| kept.put(number, number + 1));
		assert_eq!((kept.get(&0), kept.get(&MOST)), (None, Some(MOST + 1)));
		assert!(kept.map().len() <= MOST);
		kept.forget(|number| *number == MOST);
		assert_eq!(kept.get(&MOST), None);
	}
}
