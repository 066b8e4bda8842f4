//! The thread that owns connections, clients and files. It never waits for a store or a peer: what blocks is given to
//! workers, what does not fit into a socket is kept until it does.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_ofi::Listener;
use fathom_wire::number::{flag, kind, limit, op, status};
use fathom_wire::{Extent, Handle, Header, Hints, Part, Reply, Request, WireError, expand};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::append_owner::{Answer, AppendOwner, Asker, Served};
use crate::auth::random;
use crate::cache::Cache;
use crate::client::{Arrival, Client, Pending};
use crate::coalesce::{Question, Resolution, Waiters};
use crate::connection::{Buffers, Connection, Received, Socket, Stage};
use crate::data::Count;
use crate::deadlock::{Cycle, DeadlockDetector};
use crate::files::Files;
use crate::group::Group;
use crate::ledger::Ledger;
use crate::listen::{
	group, listen_ofi, listen_tcp, listen_unix, raise_descriptor_limit, ready_tcp, stop_signals,
};
use crate::locks::Locks;
use crate::plugin_ops::PluginOps;
use crate::queue::{Key, Piece};
use crate::reaper::{Orphan, is_of_peer};
use crate::store::{Object, Store, errno_text};
use crate::workers::Workers;
use crate::writes::Accesses;
use crate::{Map, Settings};

/// Largest data that a request may carry itself.
pub const INLINE: usize = 16 << 10;
/// Largest part of the data that is moved at once: it stays in the processor's cache on its way.
const PIECE: usize = 256 << 10;
/// Less than this not yet sent: the next part of a read may be read.
pub const AHEAD: usize = 512 << 10;
/// More than this not yet sent: the connection's requests are not read.
const FULL: usize = 4 << 20;
/// Requests of a client that have an answer and are not done.
pub const UNFINISHED: usize = 4096;
/// So many requests after one that waits for a lock it is answered: the window would close.
const PARKED: u64 = limit::WINDOW as u64 / 2;
/// How often what has no event of its own is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Threads that ask other servers.
const CALLERS: usize = 16;
/// How long the end waits for what was accepted.
pub const DRAIN: Duration = Duration::from_secs(60);

const WAKEUP: u64 = 0;
const STOP: u64 = 1;
const UNIX: u64 = 2;
const TCP: u64 = 3;
const OFI: u64 = 4;
const FIRST: u64 = 16;

/// What came of work on the store.
pub enum Done {
	/// An answer; an object that was created or resolved for it, with its path.
	Simple(Key, Result<Reply, Trouble>, Option<(Object, String)>),
	/// The result of a coalesced lookup or open.
	Resolved(Question, Resolution),
	Attr(Vec<Key>, Result<Reply, Trouble>),
	/// An answer; true: there is more to ask for.
	Partial(Key, Result<(Reply, bool), Trouble>),
	Size(Handle, Key, Result<u64, Trouble>),
	Read(Key, ReadFrame),
	/// A block that is to be kept.
	Filled(Handle, u64, Option<Vec<u8>>),
	/// Pieces and what of them failed.
	Written(Handle, Vec<(Piece, Vec<(Extent, Trouble)>)>, Accesses),
	Synced(Key, Handle, Result<(), Trouble>),
	/// What a file's journal says, and whether it was there.
	Journal(Handle, Result<(Ledger, bool), Errno>),
	Journaled(Handle, Vec<Served>, Result<(), Errno>),
	/// What another server answered.
	Asked(Asker, Result<Answer, Trouble>),
	/// What an operation of a plug-in answered.
	Called(Key, Result<Vec<u8>, Trouble>),
	/// What another server answered about a lock that a client wants.
	Relayed(Key, Handle, u64, Result<Reply, Trouble>),
	/// A wait for a lock was followed.
	Followed(Key, bool, Option<Cycle>),
	/// What munged answered about a connection's client: our own credential, or why it is refused.
	CredentialChecked(u64, Header, Result<String, String>),
	/// Files were released at other servers, or closed.
	Released,
	/// The data of removed files.
	Freed(Vec<(Orphan, Result<(), Trouble>)>),
}

/// What was read: a frame whose data is in its place.
pub struct ReadFrame {
	pub frame: Vec<u8>,
	/// Of each part: bytes asked for and read.
	pub parts: Vec<(u64, u64)>,
	pub error: Option<(Extent, Trouble)>,
	/// Its data was compressed.
	pub compressed: bool,
	/// Bytes of the pool that it holds.
	pub held: usize,
}

/// Why something was not done.
#[derive(Debug, Clone)]
pub struct Trouble {
	pub errno: Errno,
	pub why: String,
	/// Another server was asked again after a connection was lost: it may have been done before.
	pub again: bool,
}

impl Trouble {
	pub fn new(errno: Errno, why: String) -> Trouble {
		Trouble { errno, why, again: false }
	}

	pub fn status(&self) -> u32 {
		self.errno.raw_os_error() as u32
	}
}

impl From<Errno> for Trouble {
	fn from(errno: Errno) -> Trouble {
		Trouble::new(errno, errno_text(errno))
	}
}

pub struct Server {
	pub settings: Settings,
	pub epoch: u64,
	/// Largest part of the data that is moved at once.
	pub piece: usize,
	pub pool_free: usize,
	pub connections: Map<u64, Connection>,
	pub clients: Map<u64, Client>,
	pub files: Files,
	pub owner: AppendOwner,
	pub locks: Locks,
	/// When owners of files are asked again for locks.
	pub relays: BTreeSet<(Instant, Key)>,
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
	resumed: Vec<u64>,
	epoll: std::os::fd::OwnedFd,
	next_connection: u64,
	draining: Option<Instant>,
	/// When another server last asked for something.
	pub last_peer_request: Instant,
	last_sweep: Instant,
}

/// Serve until SIGTERM or SIGINT, then write what was accepted. `ready` is told the addresses.
pub fn serve(settings: Settings, ready: impl FnOnce(&str)) -> Result<(), String> {
	raise_descriptor_limit();
	rustix::process::umask(rustix::fs::Mode::empty()); // clients have applied theirs
	let stop = stop_signals()?;
	let unix = settings.unix.as_deref().map(listen_unix).transpose()?;
	let tcp = settings.tcp.as_deref().map(|at| listen_tcp(at, &settings)).transpose()?;
	let ofi = settings.ofi.as_deref().map(|at| listen_ofi(at, &settings)).transpose()?;
	let mut server = Server::new(settings)?;
	server.watch_edges(WAKEUP, server.workers.wakeup())?;
	server.watch(STOP, &stop.as_fd())?;
	let others = server.callers.iter().chain([&server.misc_workers]);
	for workers in others.chain(&server.plugin_ops.workers) {
		server.watch_edges(WAKEUP, workers.wakeup())?;
	}
	let mut addresses = Vec::new();
	if let (Some(listener), Some(path)) = (&unix, &server.settings.unix) {
		server.watch(UNIX, &listener.as_fd())?;
		addresses.push(format!("unix:{}", path.display()));
	}
	if let Some(listener) = &tcp {
		server.watch(TCP, &listener.as_fd())?;
		let address = listener.local_addr().map_err(|error| error.to_string())?;
		addresses.push(format!("tcp:{address}"));
	}
	if let Some((listener, address)) = &ofi {
		server.watch(OFI, &listener.as_fd())?;
		addresses.push(address.clone());
	}
	let ofi = ofi.map(|(listener, _)| listener);
	server.find_removed()?;
	ready(&addresses.join(" "));
	let ended = server.run(unix.as_ref(), tcp.as_ref(), ofi.as_ref());
	if let Some(path) = &server.settings.unix {
		let _ = fs::remove_file(path);
	}
	server.last_words();
	server.connections.clear(); // before what they came by
	ended.and_then(|()| server.end_store())
}

impl Server {
	fn new(settings: Settings) -> Result<Server, String> {
		let group = group(&settings)?;
		let text = |trouble: Trouble| format!("{}: {}", settings.export, trouble.why);
		let store = Arc::new(Store::open(&settings, &group).map_err(text)?);
		let mut files = Files::default();
		store.roots().map_err(text)?.into_iter().for_each(|root| files.add_root(root));
		let text = |error: io::Error| error.to_string();
		let asks = !group.servers().is_empty();
		let callers = asks.then(|| Workers::start(CALLERS, store.clone()));
		let munge = settings.secrets.munge.as_ref();
		munge.map(|munge| munge.seal(b"")).transpose().map_err(|why| format!("--munge: {why}"))?;
		Ok(Server {
			group,
			callers: callers.transpose().map_err(text)?,
			misc_workers: Workers::start(1, store.clone()).map_err(text)?,
			plugin_ops: PluginOps::load(&settings, &store)?,
			epoch: u64::from_le_bytes(random()?),
			piece: PIECE.min(settings.pool),
			pool_free: settings.pool,
			connections: Map::default(),
			clients: Map::default(),
			files,
			owner: AppendOwner::new(store.journal_store(&settings)),
			locks: Locks::default(),
			relays: BTreeSet::new(),
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
			last_peer_request: Instant::now(),
			last_sweep: Instant::now(),
			settings,
		})
	}

	fn watch(&self, number: u64, what: &impl AsFd) -> Result<(), String> {
		let data = epoll::EventData::new_u64(number);
		epoll::add(&self.epoll, what, data, epoll::EventFlags::IN).map_err(errno_text)
	}

	/// Told once each time that it is written to.
	fn watch_edges(&self, number: u64, what: &impl AsFd) -> Result<(), String> {
		let data = epoll::EventData::new_u64(number);
		let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
		epoll::add(&self.epoll, what, data, edges).map_err(errno_text)
	}

	fn run(
		&mut self,
		unix: Option<&UnixListener>,
		tcp: Option<&TcpListener>,
		ofi: Option<&Listener>,
	) -> Result<(), String> {
		let mut events = Vec::with_capacity(256);
		loop {
			events.clear();
			let timeout = self.timeout();
			let space = rustix::buffer::spare_capacity(&mut events);
			match epoll::wait(&self.epoll, space, Some(&timeout)) {
				Ok(_) | Err(Errno::INTR) => {}
				Err(error) => return Err(errno_text(error)),
			}
			self.single_event = events.len() == 1;
			for event in &events {
				match event.data.u64() {
					WAKEUP => self.take_done(),
					STOP => self.drain(),
					UNIX => self.accept(|| {
						unix.map(|l| l.accept().map(|(socket, _)| Socket::Unix(socket)))
					}),
					TCP => self
						.accept(|| tcp.map(|l| l.accept().map(|(socket, _)| Socket::Tcp(socket)))),
					OFI => self.accept(|| ofi.map(|l| l.accept().map(Socket::Ofi))),
					connection => self.receive(connection),
				}
			}
			for connection in std::mem::take(&mut self.resumed) {
				self.receive(connection);
			}
			self.release_unheld();
			self.relay_again();
			self.follow_waits();
			self.expire();
			self.finish_inline();
			self.write_ready();
			if self.is_drained() {
				return Ok(());
			}
		}
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
			.chain(self.deadlocks.next())
			.min()
			.map_or(TICK, |due| due.saturating_duration_since(Instant::now()).min(TICK));
		let next = if self.resumed.is_empty() { next } else { Duration::ZERO };
		Timespec { tv_sec: next.as_secs() as i64, tv_nsec: i64::from(next.subsec_nanos()) + 1 }
	}

	fn accept(&mut self, mut next: impl FnMut() -> Option<io::Result<Socket>>) {
		while let Some(next) = next() {
			let socket = match next {
				Ok(socket) => socket,
				Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
				Err(_) => return,
			};
			let ready = match &socket {
				Socket::Unix(socket) => socket.set_nonblocking(true),
				Socket::Tcp(socket) => ready_tcp(socket, self.settings.lease),
				Socket::Ofi(_) => Ok(()),
			};
			let number = self.next_connection;
			if ready.is_ok() && self.watch(number, &socket).is_ok() {
				self.next_connection += 1;
				self.connections.insert(number, Connection::new(socket));
			}
		}
	}

	/// A connection can be read or written.
	fn receive(&mut self, number: u64) {
		let Some(connection) = self.connections.get(&number) else { return };
		if connection.waiting_out > 0 || matches!(connection.stage, Stage::Closing) {
			self.flush(number);
		}
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.begin_turn(&mut self.buffers);
		}
		loop {
			let Some(connection) = self.connections.get_mut(&number) else { return };
			if connection.waiting_out > FULL || matches!(connection.stage, Stage::Closing) {
				break;
			}
			match connection.receive(&mut self.buffers) {
				Received::Frame(header, body) => self.frame(number, &header, body),
				Received::Nothing => break,
				Received::Closed => return self.close(number),
				Received::Wrong(error, header) => self.protocol_error(number, header, &error),
			}
			self.finish_inline();
		}
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.end_turn(&mut self.buffers);
			self.count.bytes_in += std::mem::take(&mut connection.bytes_in);
		}
	}

	fn frame(&mut self, number: u64, header: &Header, body: Vec<u8>) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let known = match connection.stage {
			Stage::Known(client) => Some(client),
			_ => None,
		};
		match (header.kind, known) {
			(kind::DATA, Some(client)) if client == header.client => {
				connection.pulled = connection.pulled.saturating_sub(1);
				match self.decompressed_part(number, header, body) {
					Ok((at, body)) => self.data((client, header.seq), at, body),
					Err(error) => self.protocol_error(number, Some(*header), &error),
				}
			}
			(kind::REQUEST, _) => match Request::decode(header.op, &body) {
				Err(error) => self.protocol_error(number, Some(*header), &error),
				Ok((request, hints, at)) => match known {
					None => self.greet(number, header, request, &hints),
					Some(client) if client == header.client && header.seq > 0 => {
						self.request(number, header, request, hints, (body, at));
					}
					_ => self.protocol_error(
						number,
						Some(*header),
						&WireError::Impossible("a client"),
					),
				},
			},
			_ => self.protocol_error(
				number,
				Some(*header),
				&WireError::Impossible("a frame of that kind"),
			),
		}
	}

	/// Where a part of the data belongs, and the part behind 8 bytes, as it was before it was compressed.
	fn decompressed_part(
		&mut self,
		number: u64,
		header: &Header,
		body: Vec<u8>,
	) -> Result<(u64, Vec<u8>), WireError> {
		let part = Part::decode(&body)?;
		if header.flags & flag::COMPRESSED == 0 {
			return Ok((part.at, body));
		}
		if !self.connections.get(&number).is_some_and(|connection| connection.compresses) {
			return Err(WireError::Impossible("compressed"));
		}
		let mut plain = self.buffers.take(8 + self.piece);
		plain.extend(&body[..8]);
		expand(part.bytes, &mut plain, self.piece)?;
		Ok((part.at, plain))
	}

	fn request(
		&mut self,
		number: u64,
		header: &Header,
		request: Request,
		hints: Hints,
		data: (Vec<u8>, usize),
	) {
		let key = (header.client, header.seq);
		self.count.requests += 1;
		if self.repeated(number, header) {
			return;
		}
		let (Some(client), Some(connection)) =
			(self.clients.get_mut(&key.0), self.connections.get_mut(&number))
		else {
			return;
		};
		let retry = header.flags & flag::RETRY != 0;
		if client.unanswered() >= limit::WINDOW as usize {
			return self.protocol_error(
				number,
				Some(*header),
				&WireError::Impossible("so many requests"),
			);
		}
		if !retry && header.seq <= connection.last_seq {
			return self.protocol_error(
				number,
				Some(*header),
				&WireError::Impossible("an old seq"),
			);
		}
		let oldest = client.highest.saturating_sub(u64::from(limit::WINDOW));
		if retry && header.seq <= oldest {
			return self.refuse_request(number, header, status::FORGOTTEN, "too old to know");
		}
		if client.pending().len() >= UNFINISHED {
			let again = Errno::AGAIN.raw_os_error() as u32;
			return self.refuse_request(number, header, again, "too much is not written yet");
		}
		client.is_peer |= is_of_peer(&request, self.store.stripes.is_some());
		if self.draining.is_some()
			&& !client.is_peer
			&& !matches!(header.op, op::COMMIT | op::RELEASE | op::UNLOCK)
		{
			return self.refuse_request(number, header, status::DRAINING, "the server is ending");
		}
		if client.is_peer {
			self.last_peer_request = Instant::now();
		}
		connection.last_seq = connection.last_seq.max(header.seq);
		client.highest = client.highest.max(header.seq);
		let oldest = client.highest.saturating_sub(u64::from(limit::WINDOW));
		client.forget_answers(oldest);
		let parked = client.parked.first().copied();
		if let Some(seq) = parked.filter(|seq| key.1 - *seq >= PARKED) {
			self.unpark((key.0, seq), Errno::AGAIN);
		}
		if !self.try_fast_path(number, header, &request, &hints, &data.0[data.1..]) {
			self.accept_request(number, header, request, hints, data);
		}
	}

	/// A request whose answer may have to wait.
	fn accept_request(
		&mut self,
		number: u64,
		header: &Header,
		request: Request,
		hints: Hints,
		data: (Vec<u8>, usize),
	) {
		let key = (header.client, header.seq);
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		let arrived = Arrival::now();
		let due = arrived.at + deadline(header, &self.settings);
		let pending = Pending::new(*header, request.clone(), hints, number, arrived, due);
		client.begin(key.1, pending);
		self.deadlines.insert((due, key));
		if matches!(header.op, op::READ | op::WRITE | op::APPEND) {
			self.unfinished.insert((arrived.at, key));
		}
		self.begin(key, request, data);
	}

	/// Send what fits, and have epoll report when more does.
	pub fn flush(&mut self, number: u64) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let (before, owner) = (connection.waiting_out, connection.client);
		let (freed, alive) = connection.flush(&mut self.buffers);
		let after = connection.waiting_out;
		self.count.bytes_out += (before - after) as u64;
		let over = after == 0 && matches!(connection.stage, Stage::Closing);
		if alive && !over {
			let mut wanted = epoll::EventFlags::empty();
			wanted.set(epoll::EventFlags::IN, after <= FULL);
			wanted.set(epoll::EventFlags::OUT, after > 0);
			if connection.watched != wanted {
				connection.watched = wanted;
				connection.socket.watch(&self.epoll, number, wanted);
			}
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

	pub fn close(&mut self, number: u64) {
		self.leave(number);
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
			client.idle_since = Some(Instant::now());
			if ended && !client.is_peer {
				self.give_locks_back(id);
			}
		}
	}

	pub fn pending(&mut self, key: Key) -> Option<&mut Pending> {
		self.clients.get_mut(&key.0)?.find(key.1)
	}

	/// Requests whose deadline has passed, clients that are gone, peers that do not read.
	fn expire(&mut self) {
		let now = Instant::now();
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
		let gone = |c: &Client| c.idle_since.is_some_and(|since| now - since > lease);
		let gone: Vec<u64> =
			self.clients.iter().filter(|(_, c)| gone(c)).map(|(id, _)| *id).collect();
		gone.into_iter().for_each(|id| self.drop_client(id));
		self.free_removed();
		self.refresh_remote_locks();
	}

	fn drain(&mut self) {
		self.draining.get_or_insert_with(Instant::now);
		self.unpark_all();
	}

	fn is_drained(&self) -> bool {
		let Some(since) = self.draining else { return false };
		let idle = self.files.are_idle() && self.clients.values().all(|c| c.pending().is_empty());
		since.elapsed() > DRAIN || (idle && self.is_left_alone(since))
	}

	/// What is still under way after all that time may never end: then the store is left as it is.
	fn end_store(&self) -> Result<(), String> {
		match self.files.are_idle() {
			true => self.store.end().map_err(|trouble| trouble.why),
			false => Ok(()),
		}
	}

	/// Logs failures that no client knows of.
	fn last_words(&self) {
		for (id, client) in &self.clients {
			self.log_unreported(*id, client);
		}
	}

	pub fn log_unreported(&self, id: u64, client: &Client) {
		for failed in client.unreported() {
			eprintln!(
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

/// How long a request may take.
pub fn deadline(header: &Header, settings: &Settings) -> Duration {
	match header.deadline {
		0 => settings.deadline,
		some => Duration::from_millis(u64::from(some)),
	}
}
