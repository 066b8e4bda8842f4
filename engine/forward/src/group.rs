//! The servers that share the exported directory: which of them owns the end of which file, and how it is asked.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use fathom_record::Purpose;
use fathom_wire::{Handle, Reply, Request};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::Settings;
use crate::append_owner::{Answer, Asker, OwnerRequest, id_of};
use crate::auth::Secrets;
use crate::peer::{Patience, Peer};
use crate::server::{Done, Server, Trouble};
use crate::stripes::{Stripes, Striping, is_striped};

/// Alone, or as the group's file lists them.
#[derive(Default)]
pub struct Group {
	servers: Vec<Arc<Peer>>,
	/// Which of them is this one; none of them, if it is before the only one.
	own_index: usize,
	/// They share no directory, but files.
	is_striping: bool,
}

impl Group {
	/// A line per server, `unix:PATH` or `tcp:HOST:PORT`, the same file for all; one of them is this server's.
	pub fn read(
		path: &Path,
		own_addresses: &[String],
		secrets: &Secrets,
		name: &str,
		is_striping: bool,
	) -> Result<Group, String> {
		let place = path.display();
		let option = if is_striping { "stripe" } else { "group" };
		let text =
			fs::read_to_string(path).map_err(|error| format!("--{option} {place}: {error}"))?;
		let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
		let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
		let own_index =
			lines.iter().position(|line| own_addresses.iter().any(|address| address == line));
		let own_index = own_index.ok_or_else(|| {
			format!(
				"--{option} {place}: this server is not in it; add a line {}",
				own_addresses.join(" or ")
			)
		})?;
		let peer = |line: &&str| Peer::new(line, secrets.clone(), name).map(Arc::new);
		let servers = lines.iter().map(peer).collect::<Result<_, _>>()?;
		Ok(Group { servers, own_index, is_striping })
	}

	/// Before another server, which owns all.
	pub fn before(address: &str, secrets: &Secrets, name: &str) -> Result<Group, String> {
		let peer = Peer::new(address, secrets.clone(), name)?;
		Ok(Group { servers: vec![Arc::new(peer)], own_index: 1, is_striping: false })
	}

	/// This server's number, and how many there are.
	pub fn numbers(&self) -> (u32, u32) {
		(self.own_index as u32, self.servers.len().max(self.own_index + 1) as u32)
	}

	/// Who keeps a file's locks; None: this server.
	pub fn locker(&self, handle: &Handle) -> Option<Arc<Peer>> {
		self.owner(&id_of(*handle))
	}

	/// All of them, this one too.
	pub fn servers(&self) -> &[Arc<Peer>] {
		&self.servers
	}

	/// Who owns a file's end; None: this server.
	fn owner(&self, id: &Handle) -> Option<Arc<Peer>> {
		let owner = owner_among(&self.servers, id)?;
		(owner != self.own_index).then(|| self.servers[owner].clone())
	}
}

/// With a server that has what this one's clients ask for.
pub fn patience(settings: &Settings) -> Patience {
	let answer = settings.deadline.mul_f64(0.9); // so that its words come before our own time is over
	Patience { reach: settings.patience.min(answer), answer }
}

/// Rendezvous hashing: a server more or less moves only its share.
pub fn owner_among(servers: &[Arc<Peer>], id: &Handle) -> Option<usize> {
	let weight =
		|peer: &Arc<Peer>| Sha256::new().chain_update(&peer.address).chain_update(id.0).finalize();
	(0..servers.len()).max_by_key(|at| weight(&servers[*at]))
}

impl Group {
	/// Their directories are their own: files are striped over them.
	pub fn stripes(&self, striping: Striping, settings: &Settings) -> Stripes {
		Stripes::new(self.servers.clone(), striping, patience(settings))
	}

	pub fn hang_up(&self) {
		self.servers.iter().for_each(|peer| peer.hang_up());
	}
}

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	fn owners(count: usize) -> Vec<String> {
		let peer = |at: usize| {
			Arc::new(Peer::new(&format!("unix:/s{at}"), Secrets::default(), "").unwrap())
		};
		let group =
			Group { servers: (0..count).map(peer).collect(), own_index: count, is_striping: false };
		let mut files = (0..1000u64).map(|file| {
			let mut handle = Handle::ROOT;
			handle.0[16..24].copy_from_slice(&file.to_le_bytes());
			handle
		});
		files.by_ref().map(|handle| group.owner(&handle).unwrap().address.clone()).collect()
	}

	#[test]
	fn a_server_more_moves_only_its_share() {
		let (four, five) = (owners(4), owners(5));
		let moved = four.iter().zip(&five).filter(|(before, after)| before != after);
		let to: Vec<_> = moved.map(|(_, after)| after.as_str()).collect();
		assert!(to.iter().all(|to| *to == "unix:/s4"));
		assert!((150..250).contains(&to.len()), "{} of 1000 files moved", to.len());
		for server in 0..4 {
			let owns = four.iter().filter(|owner| **owner == format!("unix:/s{server}")).count();
			assert!((200..300).contains(&owns), "server {server} owns {owns} of 1000 files");
		}
	}
}
