//! The forwarding server: many clients' I/O, done on one directory. docs/forwarding.md says what is promised,
//! docs/forwarding-protocol.md how it is asked for.

#[macro_use(warn)]
extern crate fathom_stream;

mod accesses;
mod answers;
mod append_owner;
mod appends;
mod ask_owner;
mod asked_by;
mod auth;
mod bounded_map;
mod cache;
mod cached;
mod callers;
mod ceph;
mod claim;
mod client;
mod clock;
mod coalesce;
mod commits;
mod connection;
mod data;
mod deadlock;
mod directory;
mod done;
mod ended;
mod ending;
mod fast_path;
mod files;
mod found_again;
mod given_up;
mod group;
mod intents;
mod journal;
mod layout;
mod ledger;
mod limits;
mod listen;
mod lists;
mod locking;
mod locks;
mod names;
mod object;
mod overlaps;
mod peer;
mod plugin_ops;
mod portions;
mod probe_backoff;
mod pulls;
mod queue;
mod reads;
mod reaper;
mod receiving;
mod recording;
mod remote;
mod remote_locks;
mod removed;
mod sending;
mod server;
mod session;
mod sieving;
#[cfg(test)]
mod simulation;
mod store;
mod striped;
mod stripes;
mod throttle;
mod traced;
mod trouble;
mod truncations;
mod upstream_store;
mod workers;
mod writes;
mod xattrs;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use auth::Secrets;
pub use fathom_munge::Munge;
pub use peer::status;
pub use recording::record;
pub use remote::Remote;
pub use server::serve;
pub use store::Data;
pub use stripes::Striping;
pub use throttle::Rates;

/// What is exported.
pub enum Export {
	Directory(PathBuf),
	/// A directory of a CephFS, by Ceph's configuration (None: where Ceph looks) and as client.ID.
	Cephfs {
		path: PathBuf,
		conf: Option<PathBuf>,
		id: String,
	},
	#[cfg(test)]
	Simulated(std::sync::Arc<simulation::disk::Disk>),
	/// What the server at this address exports (unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT), by what it is shown.
	Server(String, Secrets),
}

impl fmt::Display for Export {
	fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			#[cfg(test)]
			Export::Simulated(_) => write!(to, "simulated"),
			Export::Directory(path) => write!(to, "{}", path.display()),
			Export::Cephfs { path, .. } => write!(to, "cephfs:{}", path.display()),
			Export::Server(address, _) => write!(to, "{address}"),
		}
	}
}

/// The settings of a server.
pub struct Settings {
	pub export: Export,
	/// Unix socket to listen on.
	pub unix: Option<PathBuf>,
	/// TCP address to listen on; asks for a proof.
	pub tcp: Option<String>,
	/// The same over libfabric: `:ADDRESS:PORT` or `+PROVIDER:ADDRESS:PORT`.
	pub ofi: Option<String>,
	pub secrets: Secrets,
	pub name: String,
	pub workers: usize,
	/// Bytes of buffers.
	pub pool: usize,
	/// Bytes of them that one client may hold.
	pub client_pool: usize,
	/// Files that one client may hold open.
	pub client_files: usize,
	/// How long a client without connections is kept.
	pub lease: Duration,
	/// Of requests that name none.
	pub deadline: Duration,
	/// Lists the servers that share the directory, this one among them.
	pub group: Option<PathBuf>,
	/// Each of them has a directory of its own, and files are striped over them.
	pub striping: Option<Striping>,
	/// Where programs see files that no directory of this machine has.
	pub mount: Option<PathBuf>,
	/// How long another server may take to answer.
	pub patience: Duration,
	/// Bytes of blocks that are read ahead and kept, 0: none.
	pub cache: usize,
	pub data: Data,
	/// Libraries whose operations clients may call.
	pub plugins: Vec<PathBuf>,
	pub rates: Option<Rates>,
}

/// Looked up some ten times a request; keys come from our own user only.
type Map<K, V> = std::collections::HashMap<K, V, HashState>;
type Set<K> = std::collections::HashSet<K, HashState>;
#[cfg(not(test))]
type HashState = ahash::RandomState;
#[cfg(test)]
type HashState = simulation::SameHashes;
