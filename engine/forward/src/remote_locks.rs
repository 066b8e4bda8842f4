//! Locks of files that another server of the group owns. It is asked without waiting, by a thread that asks servers, and again
//! after a pause while a client waits; so no thread waits for a lock, and the owner knows whose end ends it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use fathom_record::Purpose;
use fathom_wire::number::lock;
use fathom_wire::{Claim, Handle, Reply, Request};
use rustix::io::Errno;

use crate::client::Doing;
use crate::clock;
use crate::connection::Stage;
use crate::done::Done;
use crate::group::id_of;
use crate::peer::Peer;
use crate::queue::Key;
use crate::server::Server;
use crate::trouble::Trouble;

/// Between two questions for a lock that somebody else has; doubles.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(128));

/// A request for a lock of another server's file.
#[derive(Default)]
pub struct Relaying {
	/// The owner is being asked.
	asking: bool,
	/// It is asked no more: what is answered if the lock cannot be had now.
	last: Option<(u32, String)>,
	pause: Duration,
}

/// Files of other servers on which a client may have locks: with the owner's epoch, 0 until it granted one.
pub type RemoteLocks = HashMap<Handle, (Arc<Peer>, u64)>;

impl Server {
	/// A claim is sent on to the owner of the file.
	pub fn relay(&mut self, key: Key, peer: Arc<Peer>) {
		let Some(pending) = self.pending(key) else { return };
		let (Request::Lock { handle, claim }
		| Request::Unlock { handle, claim }
		| Request::Locked { handle, claim }) = &pending.request
		else {
			return;
		};
		let (id, mut claim) = (id_of(*handle), claim.clone());
		if claim.client == 0 {
			claim.client = key.0;
		}
		claim.flags = claim.flags & lock::WHOLE | lock::RELAYED;
		let request = match pending.request {
			Request::Lock { .. } => Request::Lock { handle: id, claim: claim.clone() },
			Request::Unlock { .. } => Request::Unlock { handle: id, claim: claim.clone() },
			_ => Request::Locked { handle: id, claim: claim.clone() },
		};
		let pause = match &pending.doing {
			Doing::Relaying(relaying) => (relaying.pause * 2).min(PAUSE.1),
			_ => PAUSE.0,
		};
		pending.doing = Doing::Relaying(Relaying { asking: true, last: None, pause });
		if let (Request::Lock { .. }, Some(client)) =
			(&request, self.clients.get_mut(&claim.client))
		{
			client.remote_locks.entry(id).or_insert_with(|| (peer.clone(), 0));
		}
		let deadline = clock::now() + self.settings.patience;
		self.call(move || {
			let answer = peer.call(&request, deadline).map(|answer| answer.reply);
			Done::Relayed(key, id, claim.client, answer)
		});
	}

	fn call(&self, work: impl FnOnce() -> Done + Send + 'static) {
		if let Some(callers) = &self.callers {
			callers.give(Purpose::default(), Box::new(move |_| work()));
		}
	}

	/// The owner of a file has answered.
	pub fn relayed(&mut self, key: Key, id: Handle, client: u64, answer: Result<Reply, Trouble>) {
		if matches!(answer, Ok(Reply::Lock {})) {
			self.note_remote_lock(id, client);
		}
		let Some(pending) = self.pending(key) else { return };
		let waits = matches!(&pending.request, Request::Lock { claim, .. } if claim.flags & lock::WAIT != 0);
		let Doing::Relaying(relaying) = &mut pending.doing else { return };
		relaying.asking = false;
		let (last, pause) = (relaying.last.take(), relaying.pause);
		match answer {
			Ok(reply) => {
				self.leave_park(key);
				self.answer(key, 0, &reply, b"", 0);
			}
			Err(trouble) if trouble.errno == Errno::AGAIN && waits => match last {
				None => {
					self.park(key);
					self.relays.insert((clock::now() + pause, key));
				}
				Some((status, why)) => {
					self.leave_park(key);
					self.fail_with(key, status, (0, 0), &why);
				}
			},
			Err(trouble) => {
				self.leave_park(key);
				self.fail_with(key, trouble.status(), (0, 0), &trouble.why);
			}
		}
	}

	/// A lock that a client has on another server; if the client has ended meanwhile, it is given back.
	fn note_remote_lock(&mut self, id: Handle, client: u64) {
		let Some(known) = self.clients.get_mut(&client) else { return };
		if let Some((peer, epoch)) = known.remote_locks.get_mut(&id)
			&& *epoch == 0
		{
			*epoch = peer.epoch();
		}
		if known.connections == 0 {
			self.give_locks_back(client);
		}
	}

	/// Locks that are asked for again.
	pub fn relay_again(&mut self) {
		let now = clock::now();
		while let Some((due, key)) = self.relays.first().copied().filter(|(due, _)| *due <= now) {
			self.relays.remove(&(due, key));
			let Some(pending) = self.pending(key) else { continue };
			let handle = pending.handle;
			let pausing = matches!(&pending.doing, Doing::Relaying(relaying) if !relaying.asking);
			if let (true, Some(peer)) = (pausing, self.group.locker(&handle)) {
				self.relay(key, peer);
			}
		}
	}

	/// A request for a lock waits no more: it ends with the next answer, or (false) at once.
	pub fn relay_ends(&mut self, key: Key, status: u32, why: &str) -> bool {
		match self.pending(key).map(|pending| &mut pending.doing) {
			Some(Doing::Relaying(relaying)) if relaying.asking => {
				relaying.last.get_or_insert_with(|| (status, why.to_owned()));
			}
			_ => return false,
		}
		true
	}

	/// The owners of files give back what a client has there.
	pub fn give_back_remote_locks(&mut self, client: u64) {
		let Some(known) = self.clients.get_mut(&client) else { return };
		let deadline = clock::now() + self.settings.patience;
		for (handle, (peer, _)) in std::mem::take(&mut known.remote_locks) {
			let flags = lock::RELAYED | lock::ALL;
			let claim = Claim { client, flags, ..Claim::default() };
			self.call(move || {
				// one that cannot be told finds out: this server asks it no more
				let _ = peer.call(&Request::Unlock { handle, claim }, deadline);
				Done::Released
			});
		}
	}

	/// Owners of files hear from this server while its clients may have locks there. One that was started anew, or was not
	/// reached for a lease, has none any more: these clients lose all, and hear of it as they come back.
	pub fn refresh_remote_locks(&mut self) {
		let lease = self.settings.lease;
		let mut quiet: HashMap<String, Arc<Peer>> = HashMap::new();
		let mut lost = Vec::new();
		for (id, client) in &self.clients {
			for (peer, epoch) in client.remote_locks.values().filter(|(_, epoch)| *epoch != 0) {
				if peer.epoch() != *epoch || peer.is_silent_for(lease) {
					lost.push(*id);
				} else if peer.is_silent_for(lease / 4) {
					quiet.insert(peer.address.clone(), peer.clone());
				}
			}
		}
		for peer in quiet.into_values() {
			let deadline = clock::now() + lease / 4;
			self.call(move || {
				let _ = peer.call(&Request::Ping {}, deadline);
				Done::Released
			});
		}
		lost.dedup();
		lost.into_iter().for_each(|client| self.lose_locks(client));
	}

	fn lose_locks(&mut self, client: u64) {
		warn!(
			"fathom-engine: client {client:016x} has lost its locks: the server that kept them was away"
		);
		let of =
			|c: &crate::connection::Connection| matches!(c.stage, Stage::Known(id) if id == client);
		let numbers = self.connections.iter().filter(|(_, connection)| of(connection));
		let numbers: Vec<u64> = numbers.map(|(number, _)| *number).collect();
		self.give_locks_back(client);
		numbers.into_iter().for_each(|number| self.close(number));
	}
}
