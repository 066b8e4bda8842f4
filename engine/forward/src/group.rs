//! The servers that share the exported directory: which of them owns the end of which file, and how it is asked.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use fathom_wire::Handle;
use sha2::{Digest, Sha256};

use crate::Settings;
use crate::auth::Secrets;
use crate::peer::{Patience, Peer};
use crate::stripes::{Stripes, Striping};

/// Alone, or as the group's file lists them.
#[derive(Default)]
pub struct Group {
	servers: Vec<Arc<Peer>>,
	/// Which of them is this one; none of them, if it is before the only one.
	own_index: usize,
	/// They share no directory, but files.
	pub is_striping: bool,
	/// Of their list.
	digest: String,
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
		let digest = Sha256::digest(lines.join("\n"));
		let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
		let peer = |line: &&str| {
			let peer = Peer::new(line, secrets.clone(), name)?;
			Ok::<_, String>(Arc::new(peer.of_list(&digest)))
		};
		let servers = lines.iter().map(peer).collect::<Result<_, _>>()?;
		Ok(Group { servers, own_index, is_striping, digest })
	}

	/// Before another server, which owns all.
	pub fn before(address: &str, secrets: &Secrets, name: &str) -> Result<Group, String> {
		let peer = Peer::new(address, secrets.clone(), name)?.of_list("");
		Ok(Group { servers: vec![Arc::new(peer)], own_index: 1, ..Group::default() })
	}

	/// This server's number, and how many there are.
	pub fn numbers(&self) -> (u32, u32) {
		(self.own_index as u32, self.servers.len().max(self.own_index + 1) as u32)
	}

	/// What all servers that share a directory are started with, in short; None: none shares it.
	pub fn list(&self) -> Option<&str> {
		(!self.servers.is_empty() && !self.is_striping).then_some(self.digest.as_str())
	}

	/// May a server with this list ask this one? One before it has none.
	pub fn shares(&self, list: &[u8]) -> bool {
		list.is_empty() || list == self.digest.as_bytes()
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
	pub fn owner(&self, id: &Handle) -> Option<Arc<Peer>> {
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

/// A file's name among servers, which see it under different devices.
pub fn id_of(handle: Handle) -> Handle {
	let mut id = handle;
	id.0[8..16].fill(0);
	id
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
			Group { servers: (0..count).map(peer).collect(), own_index: count, ..Group::default() };
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
