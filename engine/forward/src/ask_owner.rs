//! The owner of a file's end is asked: this server itself, or another.

use std::time::Instant;

use fathom_record::Purpose;
use fathom_wire::{Handle, Reply, Request};
use rustix::io::Errno;

use crate::append_owner::{Answer, Asker, OwnerRequest};
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
		let deadline = Instant::now() + self.settings.patience;
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
	handle: Handle,
	asker: &Asker,
	ask: OwnerRequest,
	deadline: Instant,
) -> Result<Answer, Trouble> {
	let OwnerRequest { flags, size, wanted, outcomes } = ask;
	let count = wanted.len();
	let request = match asker {
		Asker::Gaps(_, from) => Request::Gaps { handle, from: *from },
		_ => Request::Reserve { handle, flags, size, wanted, outcomes },
	};
	let response = peer.call(&request, deadline)?;
	match response.reply {
		Reply::Reserve { offsets } if offsets.len() == count => Ok(Answer::Offsets(offsets)),
		Reply::Gaps { gaps } => Ok(Answer::Gaps(gaps, response.more)),
		_ => Err(Errno::PROTO.into()),
	}
}
