//! The thread that owns connections, clients and files. It never waits for a store or a peer: what blocks is given to
//! workers, what does not fit into a socket is kept until it does.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_wire::Handle;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::append_owner::AppendOwner;
use crate::asked_by::Relayed;
use crate::auth::random;
use crate::cache::Cache;
use crate::client::Client;
use crate::clock;
use crate::coalesce::{Question, Waiters};
use crate::connection::{Buffers, Connection};
use crate::data::Count;
use crate::deadlock::DeadlockDetector;
use crate::done::Done;
use crate::ended::Ended;
use crate::files::Files;
use crate::given_up::GivenUp;
use crate::group::Group;
use crate::intents::Intents;
use crate::limits::{CALLERS, PIECE, TICK};
use crate::listen::{Listeners, OFI, TCP, UNIX, group, raise_descriptor_limit, stop_signals};
use crate::locks::Locks;
use crate::plugin_ops::PluginOps;
use crate::queue::Key;
use crate::reaper::Orphan;
use crate::store::Store;
use crate::trouble::{Trouble, errno_text};
use crate::truncations::Pausing;
use crate::workers::Workers;
use crate::{Map, Settings};

pub const WAKEUP: u64 = 0;
pub const STOP: u64 = 1;
const FIRST: u64 = 16;

pub struct Server {
	pub settings: Settings,
	pub epoch: u64,
	/// Servers of this directory that have written all that they had accepted.
	pub ended: Ended,
	/// None: changes of names are not remembered over a restart.
	pub intents: Option<Arc<Intents>>,
	/// Changes of names that other servers have asked for.
	pub relayed: Relayed,
	/// Largest part of the data that is moved at once.
	pub piece: usize,
	pub pool_free: usize,
	pub connections: Map<u64, Connection>,
	/// Those that have not proved who they are, oldest first.
	pub strangers: BTreeSet<u64>,
	/// Descriptors that this process may have.
	pub descriptors: usize,
	/// Until when no connection is taken, as there is no room for it.
	pub full_until: Option<Instant>,
	pub clients: Map<u64, Client>,
	pub files: Files,
	pub owner: AppendOwner,
	pub given_up: GivenUp,
	pub locks: Locks,
	/// When owners of files are asked again for locks.
	pub relays: BTreeSet<(Instant, Key)>,
	/// When owners of files' ends are asked again for extents, or for a truncation.
	pub pauses: BTreeSet<(Instant, Pausing)>,
	pub deadlocks: DeadlockDetector,
	pub workers: Workers<Done>,
	pub group: Group,
	/// Threads that wait for other servers; the store's never do, so no two servers wait for each other.
	pub callers: Option<Workers<Done>>,
	/// A thread for work that may wait, but not for the store: it asks munged, and begins and ends recording.
	pub misc_workers: Workers<Done>,
	/// Operations of plug-ins.
	pub plugin_ops: PluginOps,
	/// Striped files that were removed.
	pub orphans: Vec<Orphan>,
	/// Requests that wait for room in the pool, by their arrival.
	pub waiting_for_pool: BTreeSet<(Instant, Key)>,
	/// All with data that are not done, by their arrival.
	pub unfinished: BTreeSet<(Instant, Key)>,
	/// Bytes that the oldest request took beyond the pool.
	pub overdrawn: usize,
	/// Bytes of the pool that each client holds.
	pub used: Map<u64, usize>,
	/// Requests of clients that hold their share of it, by client.
	pub over_quota: Map<u64, BTreeSet<(Instant, Key)>>,
	pub count: Count,
	pub cache: Cache,
	/// Bytes that lists of pieces take, and connections that are not read until it is less.
	pub list_bytes: usize,
	pub crowded: BTreeSet<u64>,
	/// Lookups and opens under way, each with all requests that share it.
	pub coalesced: Map<Question, Waiters>,
	/// When requests are late that are not done.
	pub deadlines: BTreeSet<(Instant, Key)>,
	pub store: Arc<Store>,
	pub buffers: Buffers,
	/// One connection alone has something to say in this round.
	pub single_event: bool,
	/// Files with data that came in this round and may be written without waiting.
	pub ready_to_write: BTreeSet<Handle>,
	/// What this thread did itself, with when it was begun; taken as what workers did is.
	pub done_inline: VecDeque<(Instant, Done)>,
	/// Connections whose peers have read: requests that came meanwhile go on.
	pub resumed: Vec<u64>,
	pub epoll: std::os::fd::OwnedFd,
	pub next_connection: u64,
	pub draining: Option<Instant>,
	/// When another server last asked for something.
	pub last_peer_request: Instant,
	pub last_sweep: Instant,
	/// What other servers are to be asked, by a simulation.
	#[cfg(test)]
	pub simulated_asks: Option<Vec<crate::simulation::Ask>>,
}

/// Serve until SIGTERM or SIGINT, then write what was accepted. `ready` is told the addresses.
pub fn serve(settings: Settings, ready: impl FnOnce(&str)) -> Result<(), String> {
	let descriptors = raise_descriptor_limit();
	rustix::process::umask(rustix::fs::Mode::empty()); // clients have applied theirs
	let stop = stop_signals()?;
	let listeners = Listeners::open(&settings)?;
	let mut server = Server::new(settings, descriptors)?;
	server.watch_edges(WAKEUP, server.workers.wakeup())?;
	server.watch(STOP, &stop.as_fd())?;
	let others = server.callers.iter().chain([&server.misc_workers]);
	for workers in others.chain(&server.plugin_ops.workers) {
		server.watch_edges(WAKEUP, workers.wakeup())?;
	}
	for (number, listener) in listeners.all() {
		server.watch(number, &listener)?;
	}
	let addresses = listeners.addresses(&server.settings)?;
	server.find_removed()?;
	ready(&addresses.join(" "));
	let ended = server.run(&listeners);
	if let Some(path) = &server.settings.unix {
		let _ = fs::remove_file(path);
	}
	server.last_words();
	server.connections.clear(); // before what they came by
	ended.and_then(|()| server.end_store())
}
impl Server {
	pub fn new(settings: Settings, descriptors: usize) -> Result<Server, String> {
		let group = group(&settings)?;
		let text = |trouble: Trouble| format!("{}: {}", settings.export, trouble.why);
		let store = Arc::new(Store::open(&settings, &group).map_err(text)?);
		let mut files = Files::new(descriptors);
		store.roots().map_err(text)?.into_iter().for_each(|root| files.add_root(root));
		let journals = store.journal_store(&settings).map_err(|trouble| trouble.why)?;
		let of_export = |why: String| format!("{}/{why}", settings.export);
		let records = store.record_store(&group).map_err(text)?;
		let intents = records.map(Intents::open).transpose().map_err(of_export)?;
		let ended = store.ended().map_err(of_export)?;
		let text = |error: io::Error| error.to_string();
		let asks = !group.servers().is_empty();
		let threads = |most: usize| most.min(settings.workers * most); // none: a simulation does the work
		let callers = asks.then(|| Workers::start(threads(CALLERS), store.clone()));
		let munge = settings.secrets.munge.as_ref();
		munge.map(|munge| munge.seal(b"")).transpose().map_err(|why| format!("--munge: {why}"))?;
		Ok(Server {
			group,
			callers: callers.transpose().map_err(text)?,
			misc_workers: Workers::start(threads(1), store.clone()).map_err(text)?,
			plugin_ops: PluginOps::load(&settings, &store)?,
			epoch: u64::from_le_bytes(random()?),
			intents: intents.map(Arc::new),
			relayed: Relayed::default(),
			ended,
			piece: PIECE.min(settings.pool),
			pool_free: settings.pool,
			connections: Map::default(),
			strangers: BTreeSet::new(),
			descriptors,
			full_until: None,
			clients: Map::default(),
			files,
			owner: AppendOwner::new(journals)?,
			given_up: GivenUp::default(),
			locks: Locks::default(),
			relays: BTreeSet::new(),
			pauses: BTreeSet::new(),
			deadlocks: DeadlockDetector::default(),
			workers: Workers::start(settings.workers, store.clone()).map_err(text)?,
			orphans: Vec::new(),
			store,
			waiting_for_pool: BTreeSet::new(),
			unfinished: BTreeSet::new(),
			overdrawn: 0,
			used: Map::default(),
			over_quota: Map::default(),
			count: Count::default(),
			cache: Cache::new(settings.cache),
			list_bytes: 0,
			crowded: BTreeSet::new(),
			coalesced: Map::default(),
			deadlines: BTreeSet::new(),
			buffers: Buffers::default(),
			single_event: false,
			ready_to_write: BTreeSet::new(),
			done_inline: VecDeque::new(),
			resumed: Vec::new(),
			epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(errno_text)?,
			next_connection: FIRST,
			draining: None,
			last_peer_request: clock::now(),
			last_sweep: clock::now(),
			#[cfg(test)]
			simulated_asks: (settings.workers == 0).then(Vec::new),
			settings,
		})
	}

	pub fn watch(&self, number: u64, what: &impl AsFd) -> Result<(), String> {
		let data = epoll::EventData::new_u64(number);
		epoll::add(&self.epoll, what, data, epoll::EventFlags::IN).map_err(errno_text)
	}

	/// Told once each time that it is written to.
	fn watch_edges(&self, number: u64, what: &impl AsFd) -> Result<(), String> {
		let data = epoll::EventData::new_u64(number);
		let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
		epoll::add(&self.epoll, what, data, edges).map_err(errno_text)
	}

	fn run(&mut self, listeners: &Listeners) -> Result<(), String> {
		let mut events = Vec::with_capacity(256);
		loop {
			events.clear();
			let timeout = self.timeout();
			let space = rustix::buffer::spare_capacity(&mut events);
			match epoll::wait(&self.epoll, space, Some(&timeout)) {
				Ok(_) | Err(Errno::INTR) => {}
				Err(error) => return Err(errno_text(error)),
			}
			if self.round(listeners, events.iter().map(|event| event.data.u64())) {
				return Ok(());
			}
		}
	}

	/// What has happened, and all that follows from it. True: the server has ended.
	pub fn round(
		&mut self,
		listeners: &Listeners,
		events: impl ExactSizeIterator<Item = u64>,
	) -> bool {
		self.single_event = events.len() == 1;
		for event in events {
			match event {
				WAKEUP => self.take_done(),
				STOP => self.drain(),
				number @ (UNIX | TCP | OFI) => self.accept(listeners, number),
				connection => self.receive(connection),
			}
		}
		for connection in std::mem::take(&mut self.resumed) {
			self.receive(connection);
		}
		self.release_unheld();
		self.spare_descriptors();
		self.accept_again(listeners);
		self.relay_again();
		self.ask_owners_again();
		self.follow_waits();
		self.expire();
		self.finish_inline();
		self.write_ready();
		self.is_drained()
	}

	/// What workers and callers have done.
	fn take_done(&mut self) {
		let others = self.callers.iter_mut().chain([&mut self.misc_workers]);
		let others = others.chain(&mut self.plugin_ops.workers);
		let others: Vec<_> = others.flat_map(Workers::done).collect();
		for (began, done) in self.workers.done().into_iter().chain(others) {
			self.begun(&done, began);
			self.finish(done);
			self.finish_inline();
		}
	}

	/// What this thread did itself; one after the other, as each may begin the next.
	pub fn finish_inline(&mut self) {
		while let Some((began, done)) = self.done_inline.pop_front() {
			self.begun(&done, began);
			self.finish(done);
		}
	}

	fn timeout(&self) -> Timespec {
		let first = [&self.deadlines, &self.relays]
			.into_iter()
			.filter_map(BTreeSet::first)
			.map(|(due, _)| *due);
		let next = first
			.chain(self.pauses.first().map(|(due, _)| *due))
			.chain(self.deadlocks.next())
			.min()
			.map_or(TICK, |due| due.saturating_duration_since(clock::now()).min(TICK));
		let next = if self.resumed.is_empty() { next } else { Duration::ZERO };
		Timespec { tv_sec: next.as_secs() as i64, tv_nsec: i64::from(next.subsec_nanos()) + 1 }
	}
}
