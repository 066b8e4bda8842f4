//! A map of bounded size for what other servers answered. When it is full it is emptied; entries are asked for again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most entries.
const MOST: usize = 16384;

pub struct BoundedMap<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for BoundedMap<K, V> {
	fn default() -> BoundedMap<K, V> {
		BoundedMap(Mutex::default())
	}
}

impl<K: Eq + Hash, V: Copy> BoundedMap<K, V> {
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
		let bounded = BoundedMap::default();
		(0..=MOST).for_each(|number| bounded.put(number, number + 1));
		assert_eq!((bounded.get(&0), bounded.get(&MOST)), (None, Some(MOST + 1)));
		assert!(bounded.map().len() <= MOST);
		bounded.forget(|number| *number == MOST);
		assert_eq!(bounded.get(&MOST), None);
	}
}
