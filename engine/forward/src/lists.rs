//! What lists of pieces cost beside their data. A request of 4,096 pieces takes half a MiB however few bytes it has; where
//! all take too much, connections of those who have some are not read until it is less.

use fathom_wire::Request;

use crate::client::{Client, Doing};
use crate::pulls::is_pulled;
use crate::server::Server;

/// Bytes of a piece: in the request, in the order of its file, on its way to the store.
const PIECE: usize = 160;
/// Fewer pieces are nothing beside the rest of a request.
const FEW: usize = 16;
/// Bytes that all lists may take.
const MOST: usize = 16 << 20;

/// Bytes that a request's list takes.
pub fn list_bytes(request: &Request) -> usize {
	match request {
		Request::Write { extents, .. } | Request::Read { extents, .. } if extents.len() > FEW => {
			extents.len() * PIECE
		}
		_ => 0,
	}
}

impl Server {
	/// A request with such a list begins.
	pub fn list_begins(&mut self, client: u64, bytes: usize) {
		self.list_bytes += bytes;
		if let Some(client) = self.clients.get_mut(&client) {
			client.list_bytes += bytes;
		}
	}

	/// It is done: who waited for that goes on.
	pub fn list_ends(&mut self, client: u64, bytes: usize) {
		self.list_bytes -= bytes;
		let Some(client) = self.clients.get_mut(&client) else { return };
		client.list_bytes -= bytes;
		let (has_none, all_go_on) = (client.list_bytes == 0, self.list_bytes <= MOST);
		if self.crowded.is_empty() || !(has_none || all_go_on) {
			return;
		}
		for number in self.crowded.iter().copied().collect::<Vec<u64>>() {
			if self.crowds(number) {
				continue;
			}
			self.crowded.remove(&number);
			self.resumed.push(number);
			self.watch_input(number);
		}
	}

	/// Whether the connection is not to be read now. What its client has sent can be done without more from it: else it would
	/// wait for itself.
	pub fn crowds(&self, number: u64) -> bool {
		if self.list_bytes <= MOST {
			return false;
		}
		let client = self.connections.get(&number).and_then(|c| self.clients.get(&c.client));
		client.is_some_and(|client| client.list_bytes > 0 && !awaits_data(client))
	}
}

/// Some of its writes' data is to come yet.
fn awaits_data(client: &Client) -> bool {
	client.pending().values().any(|pending| match &pending.doing {
		Doing::Writing(writing) => is_pulled(pending) && writing.got < writing.total,
		_ => false,
	})
}
