//! What ends: requests whose time is over, clients that are gone, the server itself.

use std::io;
use std::time::Instant;

use crate::client::Client;
use crate::clock;
use crate::connection::{Connection, Stage};
use crate::ended;
use crate::limits::{DRAIN, TICK};
use crate::server::Server;

impl Server {
	/// Requests whose deadline has passed, clients that are gone, peers that do not read.
	pub fn expire(&mut self) {
		let now = clock::now();
		while let Some((due, key)) = self.deadlines.first().copied() {
			if due > now {
				break;
			}
			self.deadlines.pop_first();
			if self.pending(key).is_some_and(|p| p.due <= now && p.answered().is_none()) {
				self.count.late += 1;
				self.answer_late(key);
			}
		}
		if now - self.last_sweep < TICK {
			return;
		}
		self.last_sweep = now;
		let lease = self.settings.lease;
		let stalled = |c: &Connection| {
			let waits = c.waiting_out > 0 || c.in_frame() || !matches!(c.stage, Stage::Known(_));
			waits && now - c.moved > lease
		};
		let connections = self.connections.iter().filter(|(_, c)| stalled(c));
		let stalled: Vec<u64> = connections.map(|(number, _)| *number).collect();
		stalled.into_iter().for_each(|number| self.close(number));
		self.drop_silent_peers(now);
		let gone = |c: &Client| c.idle_since.is_some_and(|since| now - since > lease);
		let gone: Vec<u64> =
			self.clients.iter().filter(|(_, c)| gone(c)).map(|(id, _)| *id).collect();
		gone.into_iter().for_each(|id| self.drop_client(id));
		self.free_removed();
		self.refresh_remote_locks();
		self.tell_given_up();
	}

	/// Another server that keeps locks here for its clients speaks in each quarter of a lease: one that hangs keeps them no longer
	/// than one that died. When it goes on it finds its connections closed.
	fn drop_silent_peers(&mut self, now: Instant) {
		let lease = self.settings.lease;
		let peers =
			self.clients.iter().filter(|(id, client)| client.is_peer && self.locks.has_asked(**id));
		let silent: Vec<u64> = peers
			.map(|(id, _)| *id)
			.filter(|id| {
				let mut own = self.connections.values().filter(|c| c.client == *id).peekable();
				own.peek().is_some() && own.all(|c| now - c.moved > lease)
			})
			.collect();
		for id in silent {
			let own = self.connections.iter().filter(|(_, c)| c.client == id);
			let own: Vec<u64> = own.map(|(number, _)| *number).collect();
			own.into_iter().for_each(|number| self.close(number));
			self.give_locks_back(id);
		}
	}

	pub fn drain(&mut self) {
		self.draining.get_or_insert_with(clock::now);
		self.unpark_all();
	}

	pub fn is_drained(&self) -> bool {
		let Some(since) = self.draining else { return false };
		clock::since(since) > DRAIN || (self.is_idle() && self.is_left_alone(since))
	}

	/// What is still under way after all that time may never end: then the store is left as it is.
	pub fn end_store(&self) -> Result<(), String> {
		if !self.is_idle() {
			return Ok(());
		}
		self.store.end().map_err(|trouble| trouble.why)?;
		let failed = self.clients.iter().filter(|(_, client)| client.may_not_know());
		let failed: Vec<u64> = failed.map(|(id, _)| *id).collect();
		// without that line clients take what was written for lost, and say so
		if self.count.accepted > 0 {
			let _ = self.store.note_end(&ended::line(self.epoch, &failed));
		}
		Ok(())
	}

	fn is_idle(&self) -> bool {
		self.files.are_idle() && self.clients.values().all(|c| c.pending().is_empty())
	}

	/// Logs failures that no client knows of.
	pub fn last_words(&self) {
		for (id, client) in &self.clients {
			self.log_unreported(*id, client);
		}
	}

	pub fn log_unreported(&self, id: u64, client: &Client) {
		for failed in client.unreported() {
			warn!(
				"fathom-engine: client {id:016x} ({}) was not told: bytes {} to {} of request {} were not written: {}",
				client.name,
				failed.offset,
				failed.offset.saturating_add(failed.length),
				failed.seq,
				io::Error::from_raw_os_error(failed.errno as i32),
			);
		}
	}
}
