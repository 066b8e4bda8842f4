//! Requests for locks. One that waits is a request without an answer, no thread: it is answered when it is granted, at its
//! deadline, or when its client's window would close over it; who still wants the lock asks again.

use fathom_wire::number::{lock, mode, status};
use fathom_wire::{Claim, Handle, Reply};
use rustix::io::Errno;

use crate::client::Doing;
use crate::group::id_of;
use crate::locks::{Lock, Outcome};
use crate::queue::Key;
use crate::server::Server;

impl Server {
	/// What a request claims, and on which file. None: its owner, another server, is asked.
	fn claimed(&mut self, key: Key, handle: Handle, claim: &Claim) -> Result<Option<Lock>, Errno> {
		if let Some(pending) = self.pending(key) {
			pending.handle = handle;
		}
		let relayed = claim.flags & lock::RELAYED != 0;
		let lock = Lock::claimed(claim, key.0)?;
		// another client's end must be seen here to be the lock's
		if !relayed && self.clients.get(&lock.owner.client).is_none_or(|c| c.connections == 0) {
			return Err(Errno::NOLCK);
		}
		match self.group.locker(&handle).filter(|_| !relayed) {
			Some(peer) => {
				self.relay(key, peer);
				Ok(None)
			}
			None => Ok(Some(lock)),
		}
	}

	pub fn begin_lock(&mut self, key: Key, handle: Handle, claim: &Claim) -> Result<(), Errno> {
		if claim.mode == mode::NONE {
			return Err(Errno::INVAL);
		}
		if claim.flags & lock::RELAYED == 0 {
			self.object(key, handle)?;
		}
		let Some(lock) = self.claimed(key, handle, claim)? else { return Ok(()) };
		let mut granted = Vec::new();
		let outcome = self.locks.lock(id_of(handle), (key, lock, claim.flags), &mut granted);
		match outcome {
			Outcome::Granted => self.answer(key, 0, &Reply::Lock {}, b"", 0),
			Outcome::Waits => {
				self.set_doing(key, Doing::Locking);
				self.park(key);
			}
			Outcome::Busy => return Err(Errno::AGAIN),
			Outcome::Deadlock => return Err(Errno::DEADLK),
			Outcome::Full => return Err(Errno::NOLCK),
		}
		self.granted(granted);
		Ok(())
	}

	pub fn begin_unlock(&mut self, key: Key, handle: Handle, claim: &Claim) -> Result<(), Errno> {
		let Some(range) = self.claimed(key, handle, claim)? else { return Ok(()) };
		let mut granted = Vec::new();
		if claim.flags & lock::ALL != 0 {
			self.locks.leave_file(id_of(handle), range.owner.client, &mut granted);
		} else {
			self.locks.unlock(id_of(handle), &range, claim.flags, &mut granted);
		}
		self.answer(key, 0, &Reply::Unlock {}, b"", 0);
		self.granted(granted);
		Ok(())
	}

	pub fn begin_locked(&mut self, key: Key, handle: Handle, claim: &Claim) -> Result<(), Errno> {
		let Some(wanted) = self.claimed(key, handle, claim)? else { return Ok(()) };
		let conflict = self.locks.in_the_way(id_of(handle), &wanted, claim.flags);
		let claim = conflict.map(|lock| lock.to_claim(claim.flags)).unwrap_or_default();
		self.answer(key, 0, &Reply::Locked { claim }, b"", 0);
		Ok(())
	}

	/// It is one of those that wait; who waits for room in the pool does not wait for it.
	pub fn park(&mut self, key: Key) {
		if let Some(at) = self.pending(key).map(|pending| pending.arrived.at) {
			self.unfinished.remove(&(at, key));
		}
		if self.clients.get_mut(&key.0).is_some_and(|client| client.parked.insert(key.1)) {
			self.follow_wait(key);
		}
		self.resume_waiting_for_pool();
	}

	/// Requests that waited have their locks.
	fn granted(&mut self, granted: Vec<Key>) {
		for key in granted {
			self.leave_park(key);
			self.answer(key, 0, &Reply::Lock {}, b"", 0);
		}
	}

	pub fn leave_park(&mut self, key: Key) {
		if let Some(client) = self.clients.get_mut(&key.0) {
			client.parked.remove(&key.1);
		}
	}

	/// A request that waits for a lock is answered without it. False: it is none.
	pub fn unpark(&mut self, key: Key, errno: Errno) -> bool {
		self.unpark_with(key, errno.raw_os_error() as u32, &crate::trouble::errno_text(errno))
	}

	fn unpark_with(&mut self, key: Key, status: u32, why: &str) -> bool {
		if self.relay_ends(key, status, why) {
			return true;
		}
		let Some(pending) = self.pending(key) else { return false };
		let (Doing::Locking | Doing::Relaying(_), handle) = (&pending.doing, pending.handle) else {
			return false;
		};
		self.leave_park(key);
		self.locks.give_up(id_of(handle), key);
		self.fail_with(key, status, (0, 0), why);
		true
	}

	/// The server ends.
	pub fn unpark_all(&mut self) {
		let of = |(id, client): (&u64, &crate::client::Client)| {
			client.parked.iter().map(|seq| (*id, *seq)).collect::<Vec<Key>>()
		};
		let parked: Vec<Key> = self.clients.iter().flat_map(of).collect();
		for key in parked {
			self.unpark_with(key, status::DRAINING, "the server is ending");
		}
	}

	/// A client has ended, or is gone for a lease: its locks are given back. It learns so if it comes back.
	pub fn give_locks_back(&mut self, id: u64) {
		let parked = self.clients.get(&id).map(|client| client.parked.clone()).unwrap_or_default();
		for seq in parked {
			self.unpark((id, seq), Errno::CONNRESET);
		}
		if let Some(client) = self.clients.get_mut(&id) {
			client.forget_locks();
		}
		let mut granted = Vec::new();
		self.locks.leave(id, &mut granted);
		self.granted(granted);
		self.give_back_remote_locks(id);
	}

	/// A client may have locks.
	pub fn is_locking(&self, id: u64) -> bool {
		self.locks.has(id) || self.clients.get(&id).is_some_and(|c| !c.remote_locks.is_empty())
	}
}
