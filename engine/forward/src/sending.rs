//! What goes out, and the end of a connection.

use rustix::event::epoll;

use crate::clock;
use crate::connection::Stage;
use crate::limits::{AHEAD, FULL};
use crate::server::Server;

impl Server {
	/// Send what fits, and have epoll report when more does.
	pub fn flush(&mut self, number: u64) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let (before, owner) = (connection.waiting_out, connection.client);
		let (freed, alive) = connection.flush(&mut self.buffers);
		let after = connection.waiting_out;
		self.count.bytes_out += (before - after) as u64;
		let over = after == 0 && matches!(connection.stage, Stage::Closing);
		if alive && !over {
			self.watch_input(number);
		} else {
			self.close(number);
		}
		if before > FULL && after <= FULL {
			self.resumed.push(number);
		}
		if after <= AHEAD {
			self.read_behind(number);
		}
		self.free(owner, freed);
	}

	/// Reads that waited for what was read before them to be sent.
	fn read_behind(&mut self, number: u64) {
		let readers = self.connections.get_mut(&number).map(|c| std::mem::take(&mut c.readers));
		readers.into_iter().flatten().for_each(|key| self.read_on(key));
	}

	/// What is to be told of a connection. One that is not read is told of once, as its end would be again and again.
	pub fn watch_input(&mut self, number: u64) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let crowded = self.crowded.contains(&number);
		let mut wanted = epoll::EventFlags::empty();
		wanted.set(epoll::EventFlags::IN, connection.waiting_out <= FULL && !crowded);
		wanted.set(epoll::EventFlags::OUT, connection.waiting_out > 0);
		wanted.set(epoll::EventFlags::ET, crowded);
		if connection.watched != wanted {
			connection.watched = wanted;
			connection.socket.watch(&self.epoll, number, wanted);
		}
	}

	pub fn close(&mut self, number: u64) {
		self.leave(number);
		self.crowded.remove(&number);
		self.strangers.remove(&number);
		if let Some(connection) = self.connections.remove(&number) {
			self.count.bytes_in += connection.bytes_in;
			let _ = epoll::delete(&self.epoll, &connection.socket);
			self.free(connection.client, connection.held());
			connection.readers.iter().for_each(|key| self.read_on(*key));
		}
	}

	/// The connection is its client's no more.
	pub fn leave(&mut self, number: u64) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let Stage::Known(id) = connection.stage else { return };
		connection.stage = Stage::Closing;
		let ended = connection.peer_closed;
		let Some(client) = self.clients.get_mut(&id) else { return };
		client.connections = client.connections.saturating_sub(1);
		if client.connections == 0 {
			client.idle_since = Some(clock::now());
			if ended && !client.is_peer {
				self.give_locks_back(id);
			}
		}
	}
}
