//! Finds deadlocks of processes over the locks of several servers. A server sees at once who waits for whom on the files
//! whose locks it keeps. Beyond that it follows its clients' waits: it asks who is in the way, and all servers what those
//! wait for, and so on, as a probe that chases edges does (Chandy, Misra, Haas 1983), but the asker walks, and nobody keeps
//! a state for it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_wire::number::{limit, lock};
use fathom_wire::{Awaited, Claim, Handle, Holder, Reply, Request};
use rustix::io::Errno;

use crate::clock;
use crate::done::Done;
use crate::group::{id_of, owner_among};
use crate::locks::{Lock, LockOwner};
use crate::peer::{Patience, Peer, Question};
use crate::queue::Key;
use crate::server::Server;

/// A wait is followed when it has lasted so long: most are over before.
const LONG: Duration = Duration::from_millis(20);
/// Several in a cycle may find it at once. The one with the largest number fails with EDEADLK; another does so if the
/// cycle is still there later.
const YIELD: Duration = Duration::from_millis(80);
/// One that seemed to have an end is followed again as long as it lasts: what it leads to may have changed while it was looked at.
const AGAIN: Duration = Duration::from_millis(250);
/// A server that takes longer to answer has no part in a cycle.
const PATIENCE: Patience =
	Patience { reach: Duration::from_millis(500), answer: Duration::from_secs(1) };

/// Waits that are to be followed.
#[derive(Default)]
pub struct DeadlockDetector {
	/// From when on, and whether it gave way to another before.
	due: BTreeSet<(Instant, Key, bool)>,
	/// One at a time, so that a silent server keeps one thread only.
	is_following: bool,
}

impl DeadlockDetector {
	/// When there is something to do.
	pub fn next(&self) -> Option<Instant> {
		self.due.first().filter(|_| !self.is_following).map(|(due, ..)| *due)
	}
}

/// A cycle that a wait is part of.
#[derive(Debug, Clone, Copy)]
pub struct Cycle {
	/// It has the largest number of all in it.
	is_largest: bool,
}

impl Server {
	/// A request has begun to wait for a lock.
	pub fn follow_wait(&mut self, key: Key) {
		if self.callers.is_some() && self.wait_of(key).is_some() {
			self.deadlocks.due.insert((clock::now() + LONG, key, false));
		}
	}

	/// The lock that a process waits for by a request, as another server is asked about it.
	fn wait_of(&self, (client, seq): Key) -> Option<Awaited> {
		let known = self.clients.get(&client).filter(|known| known.parked.contains(&seq))?;
		let Request::Lock { handle, claim } = &known.pending().get(&seq)?.request else {
			return None;
		};
		(claim.flags & lock::PROCESS != 0).then(|| Awaited {
			handle: id_of(*handle),
			claim: Claim {
				client: if claim.client == 0 { client } else { claim.client },
				flags: lock::RELAYED,
				..claim.clone()
			},
			seq,
		})
	}

	/// Waits that have lasted.
	pub fn follow_waits(&mut self) {
		let now = clock::now();
		while self.deadlocks.next().is_some_and(|due| due <= now) {
			let Some((_, key, gave_way)) = self.deadlocks.due.pop_first() else { return };
			let (Some(wait), Some(callers)) = (self.wait_of(key), &self.callers) else { continue };
			let servers = self.group.servers().to_vec();
			let work = move || Done::Followed(key, gave_way, confirmed_cycle(&servers, &wait));
			callers.give(Default::default(), Box::new(move |_| work()));
			self.deadlocks.is_following = true;
		}
	}

	/// It is known whether a wait has an end.
	pub fn followed(&mut self, key: Key, gave_way: bool, cycle: Option<Cycle>) {
		self.deadlocks.is_following = false;
		match cycle {
			Some(cycle) if cycle.is_largest || gave_way => {
				self.unpark(key, Errno::DEADLK);
			}
			Some(_) => {
				self.deadlocks.due.insert((clock::now() + YIELD, key, true));
			}
			None => {
				self.deadlocks.due.insert((clock::now() + AGAIN, key, false));
			}
		}
	}

	/// Whose locks are in the way of one.
	pub fn begin_holders(&mut self, key: Key, handle: Handle, claim: &Claim) -> Result<(), Errno> {
		if claim.flags != lock::RELAYED {
			return Err(Errno::INVAL);
		}
		let wanted = Lock::claimed(claim, key.0)?;
		let mut owners: Vec<Holder> =
			self.locks.holders(id_of(handle), &wanted).into_iter().map(Holder::from).collect();
		owners.truncate(limit::HOLDERS as usize);
		self.answer(key, 0, &Reply::Holders { owners }, b"", 0);
		Ok(())
	}

	/// What processes wait for.
	pub fn begin_awaited(&mut self, key: Key, owners: &[Holder]) {
		let wanted: HashSet<LockOwner> = owners.iter().map(LockOwner::from).collect();
		let parked = |(id, client): (&u64, &crate::client::Client)| {
			client.parked.iter().map(|seq| (*id, *seq)).collect::<Vec<Key>>()
		};
		let waits = self.clients.iter().flat_map(parked).filter_map(|key| self.wait_of(key));
		let mut locks: Vec<_> =
			waits.filter(|wait| wanted.contains(&LockOwner::from(&wait.claim))).collect();
		locks.sort_by_key(|wait| (wait.claim.client, wait.claim.owner, wait.seq));
		locks.truncate(limit::HOLDERS as usize);
		self.answer(key, 0, &Reply::Awaited { locks }, b"", 0);
	}
}

impl From<&Claim> for LockOwner {
	fn from(claim: &Claim) -> LockOwner {
		LockOwner { client: claim.client, number: claim.owner }
	}
}

impl From<&Holder> for LockOwner {
	fn from(holder: &Holder) -> LockOwner {
		LockOwner { client: holder.client, number: holder.owner }
	}
}

impl From<LockOwner> for Holder {
	fn from(owner: LockOwner) -> Holder {
		Holder { client: owner.client, owner: owner.number }
	}
}

/// Seen twice with the same requests waiting in it: between the two all of them waited at once. Who waits gives no lock back, so
/// all its parts were there together.
fn confirmed_cycle(servers: &[Arc<Peer>], wait: &Awaited) -> Option<Cycle> {
	let seen = find_cycle(servers, wait)?;
	if find_cycle(servers, wait)? != seen {
		return None; // waits have begun or ended since
	}
	let largest = seen.iter().map(|wait| LockOwner::from(&wait.claim)).max();
	Some(Cycle { is_largest: largest == Some(LockOwner::from(&wait.claim)) })
}

/// The waits from the last of a cycle back to the one that is followed.
fn find_cycle(servers: &[Arc<Peer>], first: &Awaited) -> Option<Vec<Awaited>> {
	let start = LockOwner::from(&first.claim);
	// with the place of the one that waits for it
	let mut seen: Vec<(Awaited, usize)> = vec![(first.clone(), 0)];
	let mut visited = HashSet::from([start]);
	let mut round = 0..1;
	while !round.is_empty() && seen.len() < limit::HOLDERS as usize {
		let mut frontier: BTreeMap<LockOwner, usize> = BTreeMap::new();
		for at in round.clone() {
			for owner in in_the_way(servers, &seen[at].0) {
				if owner == start {
					return Some(path_back(&seen, at));
				}
				if visited.insert(owner) {
					frontier.insert(owner, at);
				}
			}
		}
		let waits = awaited_by(servers, &frontier);
		round = seen.len()..seen.len() + waits.len();
		seen.extend(waits);
	}
	None
}

fn path_back(seen: &[(Awaited, usize)], mut at: usize) -> Vec<Awaited> {
	let mut way = Vec::new();
	loop {
		let (wait, before) = &seen[at];
		way.push(wait.clone());
		if at == 0 {
			return way;
		}
		at = *before;
	}
}

fn in_the_way(servers: &[Arc<Peer>], wait: &Awaited) -> Vec<LockOwner> {
	let Some(keeper) = owner_among(servers, &wait.handle) else { return Vec::new() };
	let request = Request::Holders { handle: wait.handle, claim: wait.claim.clone() };
	match servers[keeper].seek(Question::of(&request), PATIENCE).map(|response| response.reply) {
		Ok(Reply::Holders { owners }) => owners.iter().map(LockOwner::from).collect(),
		_ => Vec::new(),
	}
}

fn awaited_by(
	servers: &[Arc<Peer>],
	frontier: &BTreeMap<LockOwner, usize>,
) -> Vec<(Awaited, usize)> {
	let owners: Vec<Holder> = frontier.keys().copied().map(Holder::from).collect();
	let parts = owners.chunks(limit::HOLDERS as usize);
	let questions: Vec<_> = parts.map(|part| Request::Awaited { owners: part.to_vec() }).collect();
	let mut waits = Vec::new();
	for (server, request) in servers.iter().flat_map(|s| questions.iter().map(move |q| (s, q))) {
		let response = server.seek(Question::of(request), PATIENCE).map(|response| response.reply);
		let Ok(Reply::Awaited { locks }) = response else { continue };
		waits.extend(locks.into_iter().filter_map(|wait| {
			let by = frontier.get(&LockOwner::from(&wait.claim)).copied()?;
			Some((wait, by))
		}));
	}
	waits
}
