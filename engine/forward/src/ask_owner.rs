//! The owner of a file's end is asked: this server itself, or another.

use std::time::Instant;

use fathom_record::Purpose;
use fathom_wire::{Handle, Reply, Request};
use rustix::io::Errno;

use crate::append_owner::{Answer, Asker, OwnerRequest};
use crate::clock;
use crate::done::Done;
use crate::group::id_of;
use crate::peer::Peer;
use crate::server::Server;
use crate::stripes::is_striped;
use crate::trouble::Trouble;

impl Server {
	/// Ask the owner of a file's end, this server or another.
	pub fn ask_owner(&mut self, handle: Handle, asker: Asker, ask: OwnerRequest) {
		let id = id_of(handle);
		if self.group.is_striping && !is_striped(&handle) {
			return self.serve_as_owner(id, asker, ask); // a data file: who answers for it never asks on
		}
		let (Some(peer), Some(callers)) = (self.group.owner(&id), &self.callers) else {
			return self.serve_as_owner(id, asker, ask);
		};
		#[cfg(test)]
		if let Some(asks) = &mut self.simulated_asks {
			return asks.push((peer.address.clone(), id, asker, ask));
		}
		let deadline = clock::now() + self.settings.patience;
		callers.give(
			Purpose::default(),
			Box::new(move |_| {
				let answer = ask_peer(&peer, id, &asker, ask, deadline);
				Done::Asked(asker, answer)
			}),
		);
	}
}

fn ask_peer(
	peer: &Peer,
	id: Handle,
	asker: &Asker,
	ask: OwnerRequest,
	deadline: Instant,
) -> Result<Answer, Trouble> {
	let count = ask.wanted.len();
	let response = peer.call(&question(id, asker, ask), deadline)?;
	answer(count, response.reply, response.more)
}

pub fn question(handle: Handle, asker: &Asker, ask: OwnerRequest) -> Request {
	let OwnerRequest { flags, size, stamp, wanted, outcomes } = ask;
	match asker {
		Asker::Gaps(_, from) => Request::Gaps { handle, from: *from },
		_ => Request::Reserve { handle, flags, size, stamp, wanted, outcomes },
	}
}

/// To so many appends.
pub fn answer(count: usize, reply: Reply, more: bool) -> Result<Answer, Trouble> {
	match reply {
		Reply::Reserve { stamp, offsets } if offsets.len() == count => {
			Ok(Answer::Offsets(offsets, stamp))
		}
		Reply::Gaps { gaps } => Ok(Answer::Gaps(gaps, more)),
		_ => Err(Errno::PROTO.into()),
	}
}
