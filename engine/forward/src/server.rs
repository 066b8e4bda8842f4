//! The thread that owns connections, clients and files. It never waits for a store or a peer: what blocks is given to
//! workers, what does not fit into a socket is kept until it does.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_wire::number::{flag, kind, limit, op, status};
use fathom_wire::{
	Extent, Failure, HEADER, Handle, Header, Hints, Part, Reply, Request, Text, WireError, encode,
};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::Settings;
use crate::auth::random;
use crate::client::{Arrival, Client, Early, Pending};
use crate::connection::{Buffers, Came, Connection, Socket, Stage};
use crate::data::Count;
use crate::files::Files;
use crate::freeing::{Doomed, is_of_peer};
use crate::group::Group;
use crate::journal::OWN;
use crate::ledger::Ledger;
use crate::owner::{Answer, Asker, Owner, Served};
use crate::queue::{Key, Piece};
use crate::store::{Data, Object, Store, said};
use crate::throttle::Throttle;
use crate::traced::{name_of, record};
use crate::workers::Workers;

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
/// How often what has no event of its own is looked at.
const TICK: Duration = Duration::from_millis(500);
/// Threads that ask other servers.
const CALLERS: usize = 16;
/// How long the end waits for what was accepted.
const DRAIN: Duration = Duration::from_secs(60);

const BELL: u64 = 0;
const STOP: u64 = 1;
const UNIX: u64 = 2;
const TCP: u64 = 3;
const FIRST: u64 = 16;

/// What came of work on the store.
pub enum Done {
	/// An answer; a file that was met on the way, with its path.
	Simple(Key, Result<Reply, Trouble>, Option<(Object, String)>),
	/// The same with flag more.
	Some(Key, Result<(Reply, bool), Trouble>),
	Size(Handle, Key, Result<u64, Trouble>),
	Read(Key, Got),
	/// Pieces and what of them failed; accesses of the store.
	Written(Handle, Vec<(Piece, Vec<(Extent, Trouble)>)>, u64),
	Synced(Key, Handle, Result<(), Trouble>),
	/// What a file's journal says, and whether it was there.
	Journal(Handle, Result<(Ledger, bool), Errno>),
	Journaled(Handle, Vec<Served>, Result<(), Errno>),
	/// What another server answered.
	Asked(Asker, Result<Answer, Trouble>),
	/// Other servers were told that a file is not held any more.
	LetGo,
	/// The data of removed files.
	Freed(Vec<(Doomed, Result<(), Trouble>)>),
}

/// What was read: a frame whose data is in its place.
pub struct Got {
	pub frame: Vec<u8>,
	/// Of each part: bytes asked for and read.
	pub parts: Vec<(u64, u64)>,
	pub error: Option<(Extent, Trouble)>,
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
		Trouble::new(errno, said(errno))
	}
}

/// Why a connection is ended.
pub struct Refusal {
	status: u32,
	what: String,
}

impl Refusal {
	pub fn new(status: u32, what: &str) -> Refusal {
		Refusal { status, what: what.to_owned() }
	}
}

pub struct Server {
	pub settings: Settings,
	pub epoch: u64,
	/// Largest part of the data that is moved at once.
	pub piece: usize,
	pub pool_free: usize,
	pub connections: HashMap<u64, Connection>,
	pub clients: HashMap<u64, Client>,
	pub files: Files,
	pub owner: Owner,
	pub workers: Workers<Done>,
	pub group: Group,
	/// Threads that wait for other servers; the store's never do, so no two servers wait for each other.
	pub callers: Option<Workers<Done>>,
	/// Striped files that were removed.
	pub doomed: Vec<Doomed>,
	/// Requests that wait for room in the pool.
	pub hungry: VecDeque<Key>,
	pub count: Count,
	/// Of requests that are not done.
	dues: BTreeSet<(Instant, Key)>,
	pub store: Arc<Store>,
	pub buffers: Buffers,
	/// What this thread did itself, with when it was begun; taken as what workers did is.
	pub done_here: VecDeque<(Instant, Done)>,
	/// Connections whose peers have read: requests that came meanwhile go on.
	resumed: Vec<u64>,
	epoll: std::os::fd::OwnedFd,
	next_connection: u64,
	draining: Option<Instant>,
	/// When another server last asked for something.
	pub heard: Instant,
	swept: Instant,
}

/// Serve until SIGTERM or SIGINT, then write what was accepted. `ready` is told the addresses.
pub fn serve(settings: Settings, ready: impl FnOnce(&str)) -> Result<(), String> {
	raise_descriptor_limit();
	rustix::process::umask(rustix::fs::Mode::empty()); // clients have applied theirs
	let stop = stop_signals()?;
	let unix = settings.unix.as_deref().map(listen_unix).transpose()?;
	let tcp = settings.tcp.as_deref().map(|at| listen_tcp(at, &settings)).transpose()?;
	let mut server = Server::new(settings)?;
	server.watch_edges(BELL, server.workers.bell())?;
	server.watch(STOP, &stop.as_fd())?;
	if let Some(callers) = &server.callers {
		server.watch_edges(BELL, callers.bell())?;
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
	server.find_removed()?;
	ready(&addresses.join(" "));
	let ended = server.run(unix.as_ref(), tcp.as_ref());
	if let Some(path) = &server.settings.unix {
		let _ = fs::remove_file(path);
	}
	server.last_words();
	ended
}

fn stop_signals() -> Result<UnixStream, String> {
	let text = |error: io::Error| format!("signals: {error}");
	let (stop, raised) = UnixStream::pair().map_err(text)?;
	for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
		let raised = raised.try_clone().map_err(text)?;
		signal_hook::low_level::pipe::register(signal, raised).map_err(text)?;
	}
	// a file that is larger than this user's limit is an errno of one write, not the server's end
	let ignored = Arc::new(std::sync::atomic::AtomicBool::new(false));
	signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored).map_err(text)?;
	Ok(stop)
}

/// A socket that only this user can connect to; one that a dead server left is taken over.
fn listen_unix(path: &Path) -> Result<UnixListener, String> {
	let text = |error: io::Error| format!("--unix {}: {error}", path.display());
	if UnixStream::connect(path).is_ok() {
		return Err(format!("--unix {}: a server listens there", path.display()));
	}
	let _ = fs::remove_file(path);
	let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
	let listener = UnixListener::bind(path);
	rustix::process::umask(mask);
	let listener = listener.map_err(text)?;
	fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(text)?;
	listener.set_nonblocking(true).map_err(text)?;
	Ok(listener)
}

fn listen_tcp(address: &str, settings: &Settings) -> Result<TcpListener, String> {
	if settings.token.is_none() {
		return Err(format!("--tcp {address}: others could connect; give --token FILE"));
	}
	let text = |error: io::Error| format!("--tcp {address}: {error}");
	let listener = TcpListener::bind(address).map_err(text)?;
	listener.set_nonblocking(true).map_err(text)?;
	Ok(listener)
}

/// A descriptor per client and file: as many as the system lets this user have.
fn raise_descriptor_limit() {
	use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
	let limit = getrlimit(Resource::Nofile);
	let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The servers that share the directory.
fn group(settings: &Settings) -> Result<Group, String> {
	let Some(path) = &settings.group else { return Ok(Group::default()) };
	let unix = settings.unix.as_ref().map(|path| format!("unix:{}", path.display()));
	let tcp = settings.tcp.as_ref().map(|address| format!("tcp:{address}"));
	let mine: Vec<String> = unix.into_iter().chain(tcp).collect();
	Group::read(path, &mine, settings.token.as_deref(), &settings.name, settings.striping.is_some())
}

impl Server {
	fn new(settings: Settings) -> Result<Server, String> {
		let place = settings.export.display().to_string();
		let throttle = settings.rates.map(Throttle::new);
		let group = group(&settings)?;
		let stripes = settings.striping.map(|striping| group.stripes(striping, &settings));
		let text = |trouble: Trouble| format!("{place}: {}", trouble.why);
		let store =
			Store::open(&settings.export, settings.data, throttle, stripes).map_err(text)?;
		let store = Arc::new(store);
		let mut files = Files::default();
		store.roots().map_err(text)?.into_iter().for_each(|root| files.add_root(root));
		let kept = settings.data == Data::Files;
		let journals = kept.then(|| settings.export.join(OWN).join("appends"));
		let text = |error: io::Error| error.to_string();
		let callers = settings.group.is_some().then(|| Workers::start(CALLERS, store.clone()));
		Ok(Server {
			group,
			callers: callers.transpose().map_err(text)?,
			epoch: u64::from_le_bytes(random()?),
			piece: PIECE.min(settings.pool),
			pool_free: settings.pool,
			connections: HashMap::new(),
			clients: HashMap::new(),
			files,
			owner: Owner::new(journals),
			workers: Workers::start(settings.workers, store.clone()).map_err(text)?,
			doomed: Vec::new(),
			store,
			hungry: VecDeque::new(),
			count: Count::default(),
			dues: BTreeSet::new(),
			buffers: Buffers::default(),
			done_here: VecDeque::new(),
			resumed: Vec::new(),
			epoll: epoll::create(epoll::CreateFlags::CLOEXEC).map_err(said)?,
			next_connection: FIRST,
			draining: None,
			heard: Instant::now(),
			swept: Instant::now(),
			settings,
		})
	}

	fn watch(&self, number: u64, what: &impl AsFd) -> Result<(), String> {
		let data = epoll::EventData::new_u64(number);
		epoll::add(&self.epoll, what, data, epoll::EventFlags::IN).map_err(said)
	}

	/// Told once each time that it is written to.
	fn watch_edges(&self, number: u64, what: &impl AsFd) -> Result<(), String> {
		let data = epoll::EventData::new_u64(number);
		let edges = epoll::EventFlags::IN | epoll::EventFlags::ET;
		epoll::add(&self.epoll, what, data, edges).map_err(said)
	}

	fn run(
		&mut self,
		unix: Option<&UnixListener>,
		tcp: Option<&TcpListener>,
	) -> Result<(), String> {
		let mut events = Vec::with_capacity(256);
		loop {
			events.clear();
			let timeout = self.timeout();
			let space = rustix::buffer::spare_capacity(&mut events);
			match epoll::wait(&self.epoll, space, Some(&timeout)) {
				Ok(_) | Err(Errno::INTR) => {}
				Err(error) => return Err(said(error)),
			}
			for event in &events {
				match event.data.u64() {
					BELL => self.take_done(),
					STOP => self.drain(),
					UNIX => self.accept(|| {
						unix.map(|l| l.accept().map(|(socket, _)| Socket::Unix(socket)))
					}),
					TCP => self
						.accept(|| tcp.map(|l| l.accept().map(|(socket, _)| Socket::Tcp(socket)))),
					connection => self.receive(connection),
				}
			}
			for connection in std::mem::take(&mut self.resumed) {
				self.receive(connection);
			}
			self.let_go();
			self.expire();
			self.finish_here();
			if self.is_drained() {
				return Ok(());
			}
		}
	}

	/// What workers and callers have done.
	fn take_done(&mut self) {
		let called = self.callers.as_mut().map(Workers::done).unwrap_or_default();
		for (began, done) in self.workers.done().into_iter().chain(called) {
			self.begun(&done, began);
			self.finish(done);
			self.finish_here();
		}
	}

	/// What this thread did itself; one after the other, as each may begin the next.
	fn finish_here(&mut self) {
		while let Some((began, done)) = self.done_here.pop_front() {
			self.begun(&done, began);
			self.finish(done);
		}
	}

	fn timeout(&self) -> Timespec {
		let next = self
			.dues
			.first()
			.map_or(TICK, |(due, _)| due.saturating_duration_since(Instant::now()).min(TICK));
		let next = if self.resumed.is_empty() { next } else { Duration::ZERO };
		Timespec { tv_sec: next.as_secs() as i64, tv_nsec: i64::from(next.subsec_nanos()) + 1 }
	}

	fn accept(&mut self, mut next: impl FnMut() -> Option<io::Result<Socket>>) {
		while let Some(Ok(socket)) = next() {
			let ready = match &socket {
				Socket::Unix(socket) => socket.set_nonblocking(true),
				Socket::Tcp(socket) => {
					socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true))
				}
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
		self.flush(number);
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.begin(&mut self.buffers);
		}
		loop {
			let Some(connection) = self.connections.get_mut(&number) else { return };
			if connection.waiting_out > FULL || matches!(connection.stage, Stage::Closing) {
				break;
			}
			match connection.receive(&mut self.buffers) {
				Came::Frame(header, body) => self.frame(number, &header, body),
				Came::Nothing => break,
				Came::Closed => return self.close(number),
				Came::Wrong(error, header) => self.wrong(number, header, &error),
			}
			self.finish_here();
		}
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.rest(&mut self.buffers);
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
				match Part::decode(&body) {
					Ok(part) => self.data((client, header.seq), part.at, body),
					Err(error) => self.wrong(number, Some(*header), &error),
				}
			}
			(kind::REQUEST, _) => match Request::decode(header.op, &body) {
				Err(error) => self.wrong(number, Some(*header), &error),
				Ok((request, hints, at)) => match known {
					None => self.greet(number, header, request),
					Some(client) if client == header.client && header.seq > 0 => {
						self.request(number, header, request, hints, (body, at));
					}
					_ => self.wrong(number, Some(*header), &WireError::Impossible("a client")),
				},
			},
			_ => self.wrong(number, Some(*header), &WireError::Impossible("a frame of that kind")),
		}
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
			return self.wrong(number, Some(*header), &WireError::Impossible("so many requests"));
		}
		if !retry && header.seq <= connection.last_seq {
			return self.wrong(number, Some(*header), &WireError::Impossible("an old seq"));
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
			&& !matches!(header.op, op::COMMIT | op::RELEASE)
		{
			return self.refuse_request(number, header, status::DRAINING, "the server is ending");
		}
		if client.is_peer {
			self.heard = Instant::now();
		}
		connection.last_seq = connection.last_seq.max(header.seq);
		client.highest = client.highest.max(header.seq);
		let oldest = client.highest.saturating_sub(u64::from(limit::WINDOW));
		client.forget_answers(oldest);
		let arrived = Arrival::now();
		let due = arrived.at + deadline(header, &self.settings);
		let pending = Pending::new(*header, request.clone(), hints, number, arrived, due);
		client.begin(key.1, pending);
		self.dues.insert((due, key));
		self.begin(key, request, data);
	}

	/// A request that was done is answered again; one that is being done goes on, for this connection.
	fn repeated(&mut self, number: u64, header: &Header) -> bool {
		let key = (header.client, header.seq);
		let Some(client) = self.clients.get_mut(&key.0) else { return false };
		if let Some(answer) = client.answers.get(&key.1).cloned() {
			self.count.repeated += 1;
			self.send(number, answer, 0);
			return true;
		}
		let Some(pending) = client.find(key.1) else { return false };
		self.count.repeated += 1;
		pending.connection = number;
		self.dues.remove(&(pending.due, key));
		pending.due = Instant::now() + deadline(header, &self.settings);
		self.dues.insert((pending.due, key));
		let answered = pending.answered().filter(|early| *early == Early::Accepted);
		client.set_answered(key.1, answered);
		self.pull_again(key);
		true
	}

	/// The answer to a request, kept for a retry if the request changed something.
	pub fn answer(&mut self, key: Key, flags: u32, reply: &Reply, data: &[u8], held: usize) {
		let mut frame = vec![0; HEADER];
		frame.extend(reply.encode(&Hints::default()));
		frame.extend(data);
		self.answer_frame(key, flags, frame, held);
	}

	/// The same with the reply in its frame.
	pub fn answer_frame(&mut self, key: Key, flags: u32, frame: Vec<u8>, held: usize) {
		let crc = self.pending(key).map_or(0, |p| p.header.flags & flag::BODY_CRC);
		self.end(key, flags | crc, status::OK, frame, held);
	}

	/// What failed: `range` of which file.
	pub fn fail(&mut self, key: Key, errno: Errno, range: (u64, u64)) {
		self.fail_with(key, errno.raw_os_error() as u32, range, &said(errno));
	}

	pub fn fail_with(&mut self, key: Key, status: u32, range: (u64, u64), why: &str) {
		let Some(pending) = self.pending(key) else { return };
		let (name, handle) = (name_of(pending.header.op), pending.handle);
		let said_path = match &pending.request {
			Request::Lookup { path, .. } | Request::Open { path, .. } => Some(path),
			Request::Rename { path, .. } | Request::Link { path, .. } => Some(path),
			Request::Unlink { path, .. } | Request::Mkdir { path, .. } => Some(path),
			Request::Rmdir { path, .. } | Request::Symlink { path, .. } => Some(path),
			_ => None,
		};
		let said_path = said_path.map(|path| String::from_utf8_lossy(&path.0).into_owned());
		let path = self.files.get(&handle).map(|file| file.path.clone()).unwrap_or_default();
		let path = [path, said_path.unwrap_or_default()].join("/");
		let path = path.trim_matches('/');
		let what = format!("{name} {path} on server {}: {why}", self.settings.name);
		let mut frame = vec![0; HEADER];
		frame.extend(encode(&failure(&what, range, Hints::default())));
		self.end(key, 0, status, frame, 0);
	}

	fn end(&mut self, key: Key, flags: u32, status: u32, mut frame: Vec<u8>, held: usize) {
		let Some(client) = self.clients.get_mut(&key.0) else { return self.free(held) };
		let Some(pending) = client.end(key.1) else { return self.free(held) };
		self.dues.remove(&(pending.due, key));
		record(&mut self.files, &pending, status);
		Header { flags, status, ..reply_header(&pending.header) }.seal(&mut frame);
		if changes(pending.header.op) && pending.answered() != Some(Early::Accepted) {
			client.answers.insert(key.1, frame.clone());
		}
		match pending.answered() {
			None => self.send(pending.connection, frame, held),
			Some(_) => self.free(held),
		}
	}

	/// An answer before the request is done.
	pub fn answer_early(&mut self, key: Key, early: Early, status: u32, body: &[u8]) {
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		let Some(pending) = client.find(key.1) else { return };
		let frame = Header { status, ..reply_header(&pending.header) }.frame(body);
		let connection = pending.connection;
		client.set_answered(key.1, Some(early));
		if early == Early::Accepted {
			client.answers.insert(key.1, frame.clone());
		}
		self.send(connection, frame, 0);
	}

	fn refuse_request(&mut self, number: u64, header: &Header, status: u32, what: &str) {
		let body = encode(&failure(what, (0, 0), Hints::default()));
		self.send(number, Header { status, ..reply_header(header) }.frame(&body), 0);
	}

	/// A frame that breaks the protocol: said, and the connection ends.
	fn wrong(&mut self, number: u64, header: Option<Header>, error: &WireError) {
		let status = Errno::PROTO.raw_os_error() as u32;
		match header {
			Some(header) => self.refuse(number, &header, &Refusal::new(status, &error.to_string())),
			None => self.close(number),
		}
	}

	pub fn refuse(&mut self, number: u64, header: &Header, refusal: &Refusal) {
		self.refuse_request(number, header, refusal.status, &refusal.what);
		self.leave(number);
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.stage = Stage::Closing;
		}
		self.flush(number);
	}

	pub fn send(&mut self, number: u64, frame: Vec<u8>, held: usize) {
		match self.connections.get_mut(&number) {
			Some(connection) => {
				connection.send(frame, held);
				self.flush(number);
			}
			None => self.free(held),
		}
	}

	/// Send what fits, and ask to be told when more does.
	fn flush(&mut self, number: u64) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let before = connection.waiting_out;
		let (freed, alive) = connection.flush(&mut self.buffers);
		let after = connection.waiting_out;
		let over = after == 0 && matches!(connection.stage, Stage::Closing);
		if alive && !over {
			let mut wanted = epoll::EventFlags::empty();
			wanted.set(epoll::EventFlags::IN, after <= FULL);
			wanted.set(epoll::EventFlags::OUT, after > 0);
			if connection.watched != wanted {
				connection.watched = wanted;
				let data = epoll::EventData::new_u64(number);
				let _ = epoll::modify(&self.epoll, &connection.socket, data, wanted);
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
		self.free(freed);
	}

	/// Reads that waited for what was read before them to be sent.
	fn read_behind(&mut self, number: u64) {
		let readers = self.connections.get_mut(&number).map(|c| std::mem::take(&mut c.readers));
		readers.into_iter().flatten().for_each(|key| self.read_on(key));
	}

	fn close(&mut self, number: u64) {
		self.leave(number);
		if let Some(connection) = self.connections.remove(&number) {
			let _ = epoll::delete(&self.epoll, &connection.socket);
			self.free(connection.held());
			connection.readers.iter().for_each(|key| self.read_on(*key));
		}
	}

	/// The connection is its client's no more.
	fn leave(&mut self, number: u64) {
		let Some(connection) = self.connections.get_mut(&number) else { return };
		let Stage::Known(id) = connection.stage else { return };
		connection.stage = Stage::Closing;
		if let Some(client) = self.clients.get_mut(&id) {
			client.connections = client.connections.saturating_sub(1);
			if client.connections == 0 {
				client.alone = Some(Instant::now());
			}
		}
	}

	pub fn pending(&mut self, key: Key) -> Option<&mut Pending> {
		self.clients.get_mut(&key.0)?.find(key.1)
	}

	/// Requests whose deadline has passed, clients that are gone, peers that do not read.
	fn expire(&mut self) {
		let now = Instant::now();
		while let Some((due, key)) = self.dues.first().copied() {
			if due > now {
				break;
			}
			self.dues.pop_first();
			if self.pending(key).is_some_and(|p| p.due <= now && p.answered().is_none()) {
				self.count.late += 1;
				self.late(key);
			}
		}
		if now - self.swept < TICK {
			return;
		}
		self.swept = now;
		let lease = self.settings.lease;
		let stalled = |c: &Connection| {
			let waits = c.waiting_out > 0 || c.in_frame() || !matches!(c.stage, Stage::Known(_));
			waits && now - c.moved > lease
		};
		let connections = self.connections.iter().filter(|(_, c)| stalled(c));
		let stalled: Vec<u64> = connections.map(|(number, _)| *number).collect();
		stalled.into_iter().for_each(|number| self.close(number));
		let gone = |c: &Client| c.alone.is_some_and(|since| now - since > lease);
		let gone: Vec<u64> =
			self.clients.iter().filter(|(_, c)| gone(c)).map(|(id, _)| *id).collect();
		gone.into_iter().for_each(|id| self.bury(id));
		self.free_removed();
	}

	fn drain(&mut self) {
		self.draining.get_or_insert_with(Instant::now);
	}

	fn is_drained(&self) -> bool {
		let Some(since) = self.draining else { return false };
		let idle = self.files.are_idle() && self.clients.values().all(|c| c.pending().is_empty());
		since.elapsed() > DRAIN || (idle && self.is_left_alone(since))
	}

	/// What nobody was told is in the log at least.
	fn last_words(&self) {
		for (id, client) in &self.clients {
			self.log_untold(*id, client);
		}
	}

	pub fn log_untold(&self, id: u64, client: &Client) {
		for failed in client.untold() {
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
fn deadline(header: &Header, settings: &Settings) -> Duration {
	match header.deadline {
		0 => settings.deadline,
		some => Duration::from_millis(u64::from(some)),
	}
}

/// The reply to a request, with status 0.
pub fn reply_header(request: &Header) -> Header {
	Header {
		kind: kind::REPLY,
		op: request.op,
		client: request.client,
		seq: request.seq,
		..Header::default()
	}
}

pub fn failure(what: &str, (offset, length): (u64, u64), hints: Hints) -> Failure {
	Failure { offset, length, what: Text::from(what), hints }
}

/// Whether a request changes something, so that it must not be done twice.
fn changes(op: u16) -> bool {
	!matches!(
		op,
		op::PING
			| op::STATUS
			| op::LOOKUP
			| op::GETATTR
			| op::READDIR
			| op::READLINK
			| op::STATFS
			| op::READ
			| op::GAPS
	)
}
