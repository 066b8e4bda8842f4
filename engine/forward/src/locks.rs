//! Who has locked what: locks of ranges and of whole files, by the rules of Linux's fcntl and flock. What waits is granted in
//! the order in which it came, as soon as nothing is in its way.

use std::collections::{BTreeSet, HashSet};

use fathom_wire::number::{limit, lock, mode};
use fathom_wire::{Claim, Handle};
use rustix::io::Errno;

use crate::Map;
use crate::queue::Key;

/// Locks of one owner are not in each other's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockOwner {
	/// Its end is the lock's.
	pub client: u64,
	pub number: u64,
}

/// A lock, held or wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
	pub owner: LockOwner,
	pub exclusive: bool,
	/// First and last byte.
	pub first: u64,
	pub last: u64,
	pub pid: u32,
	/// Who asked: with its end the lock ends too.
	pub asker: u64,
}

impl Lock {
	/// What a client claims; EINVAL where that cannot be.
	pub fn claimed(claim: &Claim, asker: u64) -> Result<Lock, Errno> {
		let client = if claim.client == 0 { asker } else { claim.client };
		let most = i64::MAX as u64;
		let last = match claim.length {
			0 => Some(most),
			length => claim.start.checked_add(length - 1),
		};
		let own = lock::WAIT | lock::WHOLE | lock::PROCESS;
		let relayed = claim.flags & lock::RELAYED != 0;
		let known = if relayed { lock::WHOLE | lock::RELAYED | lock::ALL } else { own };
		let last = last.filter(|last| claim.start <= *last && *last <= most).ok_or(Errno::INVAL)?;
		if claim.flags & !known != 0 || claim.mode > mode::EXCLUSIVE {
			return Err(Errno::INVAL);
		}
		Ok(Lock {
			owner: LockOwner { client, number: claim.owner },
			exclusive: claim.mode == mode::EXCLUSIVE,
			first: claim.start,
			last,
			pid: claim.pid,
			asker: if relayed { asker } else { client },
		})
	}

	/// The lock as a reply to a client names it.
	pub fn to_claim(self, flags: u32) -> Claim {
		let end = self.last == i64::MAX as u64;
		Claim {
			client: self.owner.client,
			owner: self.owner.number,
			flags,
			mode: if self.exclusive { mode::EXCLUSIVE } else { mode::SHARED },
			pid: self.pid,
			start: self.first,
			length: if end { 0 } else { self.last - self.first + 1 },
		}
	}

	fn meets(&self, other: &Lock) -> bool {
		self.first <= other.last && other.first <= self.last
	}

	fn is_in_the_way_of(&self, other: &Lock) -> bool {
		self.owner != other.owner && (self.exclusive || other.exclusive) && self.meets(other)
	}

	/// The same kind of lock of the same owner, with no byte between.
	fn continues(&self, other: &Lock) -> bool {
		self.owner == other.owner
			&& self.exclusive == other.exclusive
			&& self.first <= other.last.saturating_add(1)
			&& other.first <= self.last.saturating_add(1)
	}
}

/// How many locks each client has.
#[derive(Default)]
struct Counts(Map<u64, usize>);

impl Counts {
	fn of(&self, client: u64) -> usize {
		self.0.get(&client).copied().unwrap_or(0)
	}

	/// A client's `before` locks became `after` locks.
	fn change(&mut self, client: u64, before: usize, after: usize) {
		match self.of(client) + after - before {
			0 => self.0.remove(&client),
			count => self.0.insert(client, count),
		};
	}
}

/// Locks of one kind on a file. Those of an owner never meet.
#[derive(Default)]
struct Table {
	held: Vec<Lock>,
}

impl Table {
	fn in_the_way<'a>(&'a self, wanted: &'a Lock) -> impl Iterator<Item = &'a Lock> {
		self.held.iter().filter(|held| held.is_in_the_way_of(wanted))
	}

	/// These bytes are the owner's no more.
	fn clear(&mut self, range: &Lock, counts: &mut Counts) {
		let before = self.held.len();
		let mut retained = Vec::with_capacity(self.held.len() + 1);
		for held in self.held.drain(..) {
			if held.owner != range.owner || !held.meets(range) {
				retained.push(held);
				continue;
			}
			if held.first < range.first {
				retained.push(Lock { last: range.first - 1, ..held });
			}
			if held.last > range.last {
				retained.push(Lock { first: range.last + 1, ..held });
			}
		}
		self.held = retained;
		counts.change(range.owner.client, before, self.held.len());
	}

	/// They are, in this mode; nothing is in the way.
	fn set(&mut self, mut wanted: Lock, counts: &mut Counts) {
		self.clear(&wanted, counts);
		let before = self.held.len();
		self.held.retain(|held| {
			let joined = held.continues(&wanted);
			if joined {
				wanted.first = wanted.first.min(held.first);
				wanted.last = wanted.last.max(held.last);
			}
			!joined
		});
		self.held.push(wanted);
		counts.change(wanted.owner.client, before, self.held.len());
	}

	/// Those of a client, and those that it asked for, are given back.
	fn leave(&mut self, client: u64, counts: &mut Counts) {
		self.held.retain(|lock| {
			let left = lock.owner.client == client || lock.asker == client;
			if left {
				counts.change(lock.owner.client, 1, 0);
			}
			!left
		});
	}
}

/// A lock that is wanted, and by which request.
struct Waiting {
	key: Key,
	lock: Lock,
	flags: u32,
}

#[derive(Default)]
struct File {
	ranges: Table,
	wholes: Table,
	waiting: Vec<Waiting>,
}

impl File {
	fn table(&mut self, flags: u32) -> &mut Table {
		if flags & lock::WHOLE != 0 { &mut self.wholes } else { &mut self.ranges }
	}

	fn tables(&mut self) -> [&mut Table; 2] {
		[&mut self.ranges, &mut self.wholes]
	}

	fn is_over(&self) -> bool {
		self.ranges.held.is_empty() && self.wholes.held.is_empty() && self.waiting.is_empty()
	}

	/// What waits and can be had now: also what can since one of them made its owner's own lock a weaker one.
	fn grant(&mut self, counts: &mut Counts) -> Vec<Key> {
		let mut granted = self.grant_some(counts);
		while let some @ [_, ..] = &self.grant_some(counts)[..] {
			granted.extend(some);
		}
		granted
	}

	fn grant_some(&mut self, counts: &mut Counts) -> Vec<Key> {
		let mut granted = Vec::new();
		for waiting in std::mem::take(&mut self.waiting) {
			let table = self.table(waiting.flags);
			if table.in_the_way(&waiting.lock).next().is_some() {
				self.waiting.push(waiting);
				continue;
			}
			table.set(waiting.lock, counts);
			granted.push(waiting.key);
		}
		granted
	}
}

/// How a request for a lock went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
	Granted,
	/// It is in the list of granted ones, or will be in a later list.
	Waits,
	Busy,
	/// Its owner would wait for itself.
	Deadlock,
	/// The client has too many.
	Full,
}

/// Of all files.
#[derive(Default)]
pub struct Locks {
	files: Map<Handle, File>,
	counts: Counts,
}

impl Locks {
	/// A lock is wanted. What others waited for and have now is added to `granted`.
	pub fn lock(
		&mut self,
		id: Handle,
		(key, wanted, flags): (Key, Lock, u32),
		granted: &mut Vec<Key>,
	) -> Outcome {
		if self.counts.of(wanted.owner.client) >= limit::LOCKS as usize {
			return Outcome::Full;
		}
		let file = self.files.entry(id).or_default();
		if flags & lock::WHOLE != 0 {
			// as flock does: what the owner had is given back before it is known whether the other mode can be had
			let same =
				|held: &Lock| held.owner == wanted.owner && held.exclusive == wanted.exclusive;
			if !file.wholes.held.iter().any(same) {
				file.wholes.clear(&wanted, &mut self.counts);
			}
		}
		let table = file.table(flags);
		let is_free = table.in_the_way(&wanted).next().is_none();
		let outcome = match is_free {
			true => {
				table.set(wanted, &mut self.counts);
				Outcome::Granted
			}
			false if flags & lock::WAIT == 0 => Outcome::Busy,
			false if flags & lock::PROCESS != 0 && self.waits_for_itself(id, &wanted) => {
				Outcome::Deadlock
			}
			false => {
				let file = self.files.entry(id).or_default();
				file.waiting.push(Waiting { key, lock: wanted, flags });
				Outcome::Waits
			}
		};
		self.settle(id, granted);
		outcome
	}

	/// Bytes are given back.
	pub fn unlock(&mut self, id: Handle, range: &Lock, flags: u32, granted: &mut Vec<Key>) {
		if let Some(file) = self.files.get_mut(&id) {
			file.table(flags).clear(range, &mut self.counts);
			self.settle(id, granted);
		}
	}

	/// What is in the way of a lock; of several, the first in the file, as whoever asks goes on behind it.
	pub fn in_the_way(&mut self, id: Handle, wanted: &Lock, flags: u32) -> Option<Lock> {
		let file = self.files.get_mut(&id)?;
		file.table(flags).in_the_way(wanted).min_by_key(|held| held.first).copied()
	}

	/// Who has ranges that are in the way of one.
	pub fn holders(&self, id: Handle, wanted: &Lock) -> Vec<LockOwner> {
		let Some(file) = self.files.get(&id) else { return Vec::new() };
		let owners: BTreeSet<LockOwner> =
			file.ranges.in_the_way(wanted).map(|held| held.owner).collect();
		owners.into_iter().collect()
	}

	/// A request waits no more.
	pub fn give_up(&mut self, id: Handle, key: Key) {
		if let Some(file) = self.files.get_mut(&id) {
			file.waiting.retain(|waiting| waiting.key != key);
			self.settle(id, &mut Vec::new());
		}
	}

	pub fn has(&self, client: u64) -> bool {
		self.counts.of(client) > 0
	}

	/// Another server that has asked for locks of its clients.
	pub fn has_asked(&self, server: u64) -> bool {
		let held = |file: &File| {
			let mut all = file.ranges.held.iter().chain(&file.wholes.held);
			all.any(|lock| lock.asker == server)
		};
		self.files.values().any(held)
	}

	/// All locks of a client are given back.
	pub fn leave(&mut self, client: u64, granted: &mut Vec<Key>) {
		let ids: Vec<Handle> = self.files.keys().copied().collect();
		ids.into_iter().for_each(|id| self.leave_file(id, client, granted));
	}

	/// Those on one file.
	pub fn leave_file(&mut self, id: Handle, client: u64, granted: &mut Vec<Key>) {
		let Some(file) = self.files.get_mut(&id) else { return };
		file.tables().into_iter().for_each(|table| table.leave(client, &mut self.counts));
		self.settle(id, granted);
	}

	/// Whoever can have what it waits for has it; a file without locks is forgotten.
	fn settle(&mut self, id: Handle, granted: &mut Vec<Key>) {
		let Some(file) = self.files.get_mut(&id) else { return };
		granted.append(&mut file.grant(&mut self.counts));
		if file.is_over() {
			self.files.remove(&id);
		}
	}

	/// Would this owner wait for one that waits, maybe by way of others, for it?
	fn waits_for_itself(&self, id: Handle, wanted: &Lock) -> bool {
		let Some(file) = self.files.get(&id) else { return false };
		let mut next: Vec<LockOwner> =
			file.ranges.in_the_way(wanted).map(|held| held.owner).collect();
		let mut visited = HashSet::new();
		while let Some(owner) = next.pop() {
			if owner == wanted.owner {
				return true;
			}
			if visited.insert(owner) {
				next.extend(self.awaited_by(owner));
			}
		}
		false
	}

	/// For whose locks a process waits.
	fn awaited_by(&self, owner: LockOwner) -> impl Iterator<Item = LockOwner> {
		let waits = move |waiting: &&Waiting| {
			waiting.lock.owner == owner && waiting.flags & lock::PROCESS != 0
		};
		self.files.values().flat_map(move |file| {
			let waiting = file.waiting.iter().filter(waits);
			waiting.flat_map(|waiting| file.ranges.in_the_way(&waiting.lock).map(|held| held.owner))
		})
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	const BYTES: usize = 16;
	const OWNERS: usize = 5;
	const FILES: usize = 2;

	fn lock_of(owner: usize, exclusive: bool, first: u64, length: u64) -> Lock {
		let claim = Claim {
			owner: owner as u64,
			mode: if exclusive { mode::EXCLUSIVE } else { mode::SHARED },
			start: first,
			length,
			..Claim::default()
		};
		Lock::claimed(&claim, 1 + owner as u64 % 2).unwrap()
	}

	fn id(file: usize) -> Handle {
		Handle([file as u8; 32])
	}

	/// The mode of each byte for each owner, the last byte standing for all behind it; what waits, in order.
	#[derive(Default)]
	struct Plain {
		bytes: [[[[u8; BYTES]; OWNERS]; 2]; FILES],
		waiting: Vec<(Key, usize, Lock, u32)>,
	}

	fn span(lock: &Lock) -> std::ops::RangeInclusive<usize> {
		lock.first as usize..=(lock.last as usize).min(BYTES - 1)
	}

	impl Plain {
		fn table(&mut self, file: usize, flags: u32) -> &mut [[u8; BYTES]; OWNERS] {
			&mut self.bytes[file][usize::from(flags & lock::WHOLE != 0)]
		}

		fn others(&mut self, file: usize, wanted: &Lock, flags: u32) -> Vec<usize> {
			let table = self.table(file, flags);
			let modes = |owner: usize| span(wanted).map(move |byte| (owner, byte));
			let others = (0..OWNERS).filter(|owner| *owner as u64 != wanted.owner.number);
			let most = if wanted.exclusive { 0 } else { mode::SHARED };
			let blocks = |(owner, byte): (usize, usize)| table[owner][byte] > most;
			others.filter(|owner| modes(*owner).any(blocks)).collect()
		}

		fn set(&mut self, file: usize, wanted: &Lock, flags: u32, value: u8) {
			let owner = wanted.owner.number as usize;
			let range = span(wanted);
			self.table(file, flags)[owner][range].fill(value);
		}

		fn settle(&mut self) -> Vec<Key> {
			let before = self.waiting.len();
			let mut granted = Vec::new();
			for (key, file, wanted, flags) in std::mem::take(&mut self.waiting) {
				if self.others(file, &wanted, flags).is_empty() {
					self.set(file, &wanted, flags, 1 + u8::from(wanted.exclusive));
					granted.push(key);
				} else {
					self.waiting.push((key, file, wanted, flags));
				}
			}
			if self.waiting.len() < before {
				granted.extend(self.settle());
			}
			granted
		}

		/// Can `owner` be reached from those that are in the way, over processes that wait?
		fn is_cycle(&mut self, file: usize, wanted: &Lock) -> bool {
			let mut reached = self.others(file, wanted, 0);
			for _ in 0..OWNERS {
				for (_, file, lock, flags) in self.waiting.clone() {
					let waits = reached.contains(&(lock.owner.number as usize));
					if waits && flags & lock::PROCESS != 0 {
						reached.extend(self.others(file, &lock, flags));
					}
				}
			}
			reached.contains(&(wanted.owner.number as usize))
		}

		fn lock(&mut self, file: usize, key: Key, wanted: &Lock, flags: u32) -> Outcome {
			let value = 1 + u8::from(wanted.exclusive);
			let had = self.table(file, flags)[wanted.owner.number as usize][0];
			if flags & lock::WHOLE != 0 && had != value {
				self.set(file, wanted, flags, 0);
			}
			if self.others(file, wanted, flags).is_empty() {
				self.set(file, wanted, flags, value);
				return Outcome::Granted;
			}
			if flags & lock::WAIT == 0 {
				return Outcome::Busy;
			}
			if flags & lock::PROCESS != 0 && self.is_cycle(file, wanted) {
				return Outcome::Deadlock;
			}
			self.waiting.push((key, file, *wanted, flags));
			Outcome::Waits
		}
	}

	#[test]
	fn locks_are_those_of_a_table_of_all_bytes() {
		let (mut locks, mut plain) = (Locks::default(), Plain::default());
		let mut random = fastrand::Rng::with_seed(54321);
		let mut next = |below: u64| random.u64(..below);
		let mut seen = [0; 4];
		for seq in 0..40_000 {
			let (file, owner) = (next(FILES as u64) as usize, next(OWNERS as u64) as usize);
			let (first, whole) = (next(BYTES as u64 - 1), next(6) == 0);
			let length = if next(5) == 0 { 0 } else { 1 + next(BYTES as u64 - 1 - first) };
			let (first, length) = if whole { (0, 0) } else { (first, length) };
			let wanted = lock_of(owner, next(2) == 0, first, length);
			let kind = if whole { lock::WHOLE } else { next(2) as u32 * lock::PROCESS };
			let key = (wanted.owner.client, seq);
			let mut granted = Vec::new();
			match next(16) {
				0 => {
					locks.leave(wanted.owner.client, &mut granted);
					let same_client = |other: &usize| 1 + *other as u64 % 2 == wanted.owner.client;
					for (owner, file) in (0..OWNERS)
						.filter(same_client)
						.flat_map(|o| (0..FILES).map(move |f| (o, f)))
					{
						(0..2).for_each(|kind| plain.bytes[file][kind][owner] = [0; BYTES]);
					}
				}
				1 if !plain.waiting.is_empty() => {
					let at = next(plain.waiting.len() as u64) as usize;
					let (key, file, ..) = plain.waiting.remove(at);
					locks.give_up(id(file), key);
				}
				2..7 => {
					locks.unlock(id(file), &wanted, kind, &mut granted);
					plain.set(file, &wanted, kind, 0);
				}
				7..9 => {
					let conflict = locks.in_the_way(id(file), &wanted, kind);
					let others = plain.others(file, &wanted, kind);
					assert_eq!(conflict.is_none(), others.is_empty());
					if let Some(conflict) = conflict {
						assert!(others.contains(&(conflict.owner.number as usize)));
						let value = 1 + u8::from(conflict.exclusive);
						let owner = conflict.owner.number as usize;
						let mut bytes = plain.table(file, kind)[owner][span(&conflict)].iter();
						assert!(bytes.all(|byte| *byte == value));
					}
				}
				way => {
					let flags = kind | if way < 12 { lock::WAIT } else { 0 };
					let outcome = locks.lock(id(file), (key, wanted, flags), &mut granted);
					assert_eq!(outcome, plain.lock(file, key, &wanted, flags), "step {seq}");
					seen[match outcome {
						Outcome::Granted => 0,
						Outcome::Waits => 1,
						Outcome::Busy => 2,
						_ => 3,
					}] += 1;
				}
			}
			let mut expected = plain.settle();
			expected.sort_unstable();
			granted.sort_unstable();
			assert_eq!(granted, expected, "step {seq}");
		}
		assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
		plain.waiting.iter().for_each(|(key, file, ..)| locks.give_up(id(*file), *key));
		(1..=2).for_each(|client| locks.leave(client, &mut Vec::new()));
		assert!(locks.files.is_empty() && locks.counts.0.is_empty());
	}

	#[test]
	fn a_client_has_a_bounded_number_of_locks() {
		let mut locks = Locks::default();
		let most = u64::from(limit::LOCKS);
		let mut take = |at: u64| {
			let wanted = lock_of(0, true, 2 * at, 1);
			locks.lock(id(at as usize % 200), ((1, at), wanted, 0), &mut Vec::new())
		};
		assert!((0..most).all(|at| take(at) == Outcome::Granted));
		assert_eq!(take(most), Outcome::Full);
		locks.unlock(id(0), &lock_of(0, true, 0, 1), 0, &mut Vec::new());
		let wanted = lock_of(0, true, 0, 1);
		assert_eq!(locks.lock(id(0), ((1, 0), wanted, 0), &mut Vec::new()), Outcome::Granted);
	}
}
