//! Another server, as worker threads ask it: each call waits for its answer, and no longer than its deadline. A
//! connection that is lost, or a server that starts anew, is handled by asking again under the same number.

use std::ffi::CStr;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fathom_munge::Munge;
use fathom_record::Caller;
use fathom_wire::number::{flag, frame, hint, kind, limit, status};
use fathom_wire::{
	Failure, HEADER, Header, Hello, Hints, Pull, Reply, Request, Session, WireError, decode,
};
use rustix::io::Errno;

use crate::auth::{CLIENT, Challenge, SERVER, Secrets, random};
use crate::callers::caller_hints;
use crate::connection::{Socket, connect_unix};
use crate::layout::cut;
use crate::limits::INLINE;
use crate::trouble::Trouble;

/// The first pause before a lost connection is tried again, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));
/// How long one that was away may take to say hello, which a server does before all else.
const HELLO: Duration = Duration::from_secs(1);

pub struct Peer {
	pub address: String,
	secrets: Secrets,
	/// This server, as the peer's client.
	id: u64,
	key: [u8; 16],
	name: String,
	/// What hello says besides.
	greeting: Hints,
	seq: AtomicU64,
	idle: Mutex<Vec<Link>>,
	/// The last question had no answer in time: before the next it must say hello.
	away: AtomicBool,
	/// Epoch of the server that answered last; 0: none yet.
	epoch: AtomicU64,
	/// Its epoch has changed since: it was started anew.
	restarted: AtomicBool,
	/// When it last answered.
	last_answer: Mutex<Option<Instant>>,
}

/// A request to a peer, with the data of a write, and the clients' calls that it serves.
#[derive(Clone, Copy)]
pub struct Question<'a> {
	pub request: &'a Request,
	pub data: &'a [&'a [u8]],
	/// The first is the one that it serves; of a write, in the order of their bytes.
	pub callers: &'a [Caller],
	/// The path by which programs know the file.
	pub known_as: Option<&'a CStr>,
	pub flags: u32,
	/// Hints besides those of the callers.
	pub hints: &'a Hints,
}

const NO_HINTS: &Hints = &Hints(Vec::new());

impl<'a> Question<'a> {
	pub fn of(request: &'a Request) -> Question<'a> {
		let (data, callers, known_as) = (&[][..], &[][..], None);
		Question { request, data, callers, known_as, flags: 0, hints: NO_HINTS }
	}
}

/// How long a server that cannot be reached is looked for, and how long one that can may take.
#[derive(Clone, Copy)]
pub struct Patience {
	pub reach: Duration,
	pub answer: Duration,
}

/// What a peer answered.
pub struct Response {
	pub reply: Reply,
	pub hints: Hints,
	pub data: Vec<u8>,
	/// There is more to ask for.
	pub more: bool,
}

/// Why there is no answer: the connection, or what the peer says.
enum CallError {
	Connection(io::Error),
	/// Others of this server asked so much meanwhile that what became of it is not known any more.
	Forgotten,
	Refused(Trouble),
}

impl From<io::Error> for CallError {
	fn from(error: io::Error) -> CallError {
		CallError::Connection(error)
	}
}

impl From<Errno> for CallError {
	fn from(errno: Errno) -> CallError {
		CallError::Refused(errno.into())
	}
}

impl From<WireError> for CallError {
	fn from(error: WireError) -> CallError {
		CallError::Refused(Trouble::new(Errno::PROTO, error.to_string()))
	}
}

impl Peer {
	pub fn new(address: &str, secrets: Secrets, name: &str) -> Result<Peer, String> {
		Ok(Peer {
			address: address.to_owned(),
			secrets,
			id: u64::from_le_bytes(random()?) | 1,
			key: random()?,
			name: name.to_owned(),
			greeting: Hints::default(),
			seq: AtomicU64::new(0),
			idle: Mutex::new(Vec::new()),
			away: AtomicBool::new(false),
			epoch: AtomicU64::new(0),
			restarted: AtomicBool::new(false),
			last_answer: Mutex::new(None),
		})
	}

	/// It is asked by a server that was started with the list of this digest.
	pub fn of_list(mut self, list: &str) -> Peer {
		self.greeting = Hints::default().with(hint::LIST, list.as_bytes());
		self
	}

	/// Ask, and wait for the answer. What is wrong names this peer.
	pub fn call(&self, request: &Request, deadline: Instant) -> Result<Response, Trouble> {
		self.put(Question::of(request), deadline)
	}

	/// The same with data or flags.
	pub fn put(&self, question: Question<'_>, deadline: Instant) -> Result<Response, Trouble> {
		self.ask(question, (deadline, deadline))
	}

	/// Was the server started anew since this was asked last? Then what it had only accepted is lost.
	pub fn started_anew(&self) -> bool {
		self.restarted.swap(false, Ordering::Relaxed)
	}

	/// Which of the servers at this address it is.
	pub fn epoch(&self) -> u64 {
		self.epoch.load(Ordering::Relaxed)
	}

	fn answered(&self) {
		if let Ok(mut last_answer) = self.last_answer.lock() {
			*last_answer = Some(Instant::now());
		}
	}

	/// It has answered nothing for so long.
	pub fn is_silent_for(&self, time: Duration) -> bool {
		self.last_answer
			.lock()
			.is_ok_and(|last_answer| last_answer.is_none_or(|at| at.elapsed() > time))
	}

	/// It was not reached when it was last sought.
	pub fn is_away(&self) -> bool {
		self.away.load(Ordering::Relaxed)
	}

	/// The same of a server that has its own patience; one that was away is not waited for again.
	pub fn seek(&self, question: Question<'_>, patience: Patience) -> Result<Response, Trouble> {
		if self.is_away() {
			self.look_again(HELLO.min(patience.reach))?;
		}
		let now = Instant::now();
		self.ask(question, (now + patience.reach, now + patience.answer))
	}

	/// One that was away may be back.
	fn look_again(&self, most: Duration) -> Result<(), Trouble> {
		match self.connect(Instant::now() + most) {
			Ok(link) => {
				self.put_back(link);
				self.away.store(false, Ordering::Relaxed);
				Ok(())
			}
			Err(CallError::Refused(trouble)) => Err(self.with_address(trouble)),
			Err(CallError::Forgotten) => Err(self.with_address(Errno::PROTO.into())),
			Err(CallError::Connection(error)) => Err(self.unreachable(&error)),
		}
	}

	/// Until when it may be away, and until when it may take to answer.
	fn ask(
		&self,
		mut question: Question<'_>,
		(reach, deadline): (Instant, Instant),
	) -> Result<Response, Trouble> {
		let (mut seq, mut pause, mut again) = (None, PAUSE.0, false);
		loop {
			let mut sent = false;
			let outcome = self.link(deadline).and_then(|mut link| {
				// larger than any before on this connection, as it was taken after it
				let seq = *seq.get_or_insert_with(|| self.seq.fetch_add(1, Ordering::Relaxed) + 1);
				sent = true;
				let response = link.ask((self.id, seq), question, deadline)?;
				self.put_back(link);
				Ok(response)
			});
			let error = match outcome {
				Ok(response) => {
					self.away.store(false, Ordering::Relaxed);
					self.answered();
					return Ok(response);
				}
				Err(CallError::Refused(trouble)) => {
					self.away.store(false, Ordering::Relaxed);
					self.answered();
					return Err(self.with_address(Trouble { again, ..trouble }));
				}
				Err(CallError::Forgotten) => {
					(seq, again) = (None, true);
					question.flags &= !flag::RETRY;
					continue;
				}
				Err(CallError::Connection(error)) => error,
			};
			again |= sent;
			self.hang_up(); // the others are lost with it
			if Instant::now() + pause >= reach.min(deadline) {
				self.away.store(true, Ordering::Relaxed);
				return Err(Trouble { again, ..self.unreachable(&error) });
			}
			question.flags |= flag::RETRY;
			thread::sleep(pause);
			pause = (pause * 2).min(PAUSE.1);
		}
	}

	fn unreachable(&self, error: &io::Error) -> Trouble {
		let errno = match Errno::from_io_error(error) {
			Some(Errno::AGAIN) | None => Errno::TIMEDOUT,
			Some(errno) => errno,
		};
		self.with_address(match error.get_ref() {
			Some(words) => Trouble::new(errno, words.to_string()),
			None => errno.into(),
		})
	}

	/// A connection for the next question.
	fn put_back(&self, link: Link) {
		if let Ok(mut idle) = self.idle.lock() {
			idle.push(link);
		}
	}

	/// Close the connections that nobody uses.
	pub fn hang_up(&self) {
		if let Ok(mut idle) = self.idle.lock() {
			idle.clear();
		}
	}

	fn with_address(&self, trouble: Trouble) -> Trouble {
		Trouble { why: format!("server {}: {}", self.address, trouble.why), ..trouble }
	}

	/// A connection that nobody uses.
	fn link(&self, deadline: Instant) -> Result<Link, CallError> {
		match self.idle.lock().ok().and_then(|mut idle| idle.pop()) {
			Some(link) => Ok(link),
			None => self.connect(deadline),
		}
	}

	fn connect(&self, deadline: Instant) -> Result<Link, CallError> {
		let socket = match self.address.split_once(':') {
			Some(("unix", path)) => Socket::Unix(connect_unix(Path::new(path), left(deadline)?)?),
			Some(("tcp", place)) => {
				let resolved = place.to_socket_addrs()?.next();
				let resolved = resolved.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
				let socket = TcpStream::connect_timeout(&resolved, left(deadline)?)?;
				socket.set_nodelay(true)?;
				Socket::Tcp(socket)
			}
			_ => {
				let place = self.address.strip_prefix("ofi");
				let place = place.ok_or_else(|| CallError::Refused(Errno::INVAL.into()))?;
				Socket::Ofi(fathom_ofi::Link::connect(place, left(deadline)?)?)
			}
		};
		let mut link = Link { socket };
		self.greet(&mut link, deadline)?;
		Ok(link)
	}

	fn greet(&self, link: &mut Link, deadline: Instant) -> Result<(), CallError> {
		let nonce: [u8; 32] = random().map_err(|why| refused(&why))?;
		let version = frame::VERSION as u16;
		let name = self.name.as_str().into();
		let hello = Hello { lowest: version, highest: version, key: self.key, nonce, name };
		let id = (self.id, 0);
		let hello = Request::Hello { hello };
		let hello = Question { hints: &self.greeting, ..Question::of(&hello) };
		let server = match link.exchange(id, hello, deadline)? {
			Ok(response) => return self.note_epoch(&response),
			Err((status::AUTH, failure)) => failure.hints,
			Err((status, failure)) => return Err(refusal_of(status, &failure)),
		};
		let nonce_of_server = server.value(hint::NONCE).and_then(|nonce| nonce.try_into().ok());
		let takes_munge = server.has(hint::MUNGE);
		let Some(server) = nonce_of_server else { return Err(Errno::PROTO.into()) };
		let challenge = Challenge { server, client: nonce, id: self.id };
		match &self.secrets {
			Secrets { munge: Some(munge), .. } if takes_munge => {
				self.show_user(link, munge, &challenge, deadline)
			}
			Secrets { token: Some(token), .. } => {
				self.show_token(link, token, &challenge, deadline)
			}
			_ if takes_munge => {
				Err(refused("it asks for a token or munge: give --token FILE or --munge"))
			}
			_ => Err(refused("it asks for a token: give --token FILE")),
		}
	}

	fn show_token(
		&self,
		link: &mut Link,
		token: &[u8],
		challenge: &Challenge,
		deadline: Instant,
	) -> Result<(), CallError> {
		let proof = challenge.proof(token, CLIENT).try_into().unwrap_or_default();
		let auth = Request::Auth { proof };
		let response = link.ask((self.id, 0), Question::of(&auth), deadline)?;
		let proof = response.hints.value(hint::PROOF).unwrap_or_default();
		if !challenge.holds(token, SERVER, proof) {
			return Err(refused("it does not know the token"));
		}
		self.note_epoch(&response)
	}

	fn show_user(
		&self,
		link: &mut Link,
		munge: &Munge,
		challenge: &Challenge,
		deadline: Instant,
	) -> Result<(), CallError> {
		let credential = munge.seal(&challenge.statement(CLIENT)).map_err(|why| refused(&why))?;
		let request = Request::Munge { credential: credential.as_str().into() };
		let response = link.ask((self.id, 0), Question::of(&request), deadline)?;
		let Reply::Munge { credential, .. } = &response.reply else {
			return Err(Errno::PROTO.into());
		};
		let checked = munge.check(&credential.0, &challenge.statement(SERVER));
		checked.map_err(|why| refused(&why))?;
		self.note_epoch(&response)
	}

	fn note_epoch(&self, response: &Response) -> Result<(), CallError> {
		let (Reply::Hello { session: Session { epoch, .. } }
		| Reply::Auth { session: Session { epoch, .. } }
		| Reply::Munge { session: Session { epoch, .. }, .. }) = &response.reply
		else {
			return Ok(());
		};
		let before = self.epoch.swap(*epoch, Ordering::Relaxed);
		if before != 0 && before != *epoch {
			self.restarted.store(true, Ordering::Relaxed);
		}
		Ok(())
	}
}

/// How a server is: its counters as JSON. `address`: unix:PATH, tcp:HOST:PORT or ofi:HOST:PORT.
pub fn status(address: &str, secrets: Secrets, patience: Duration) -> Result<String, String> {
	let peer = Peer::new(address, secrets, "fathom-engine forward-status")?;
	let response = peer.call(&Request::Status {}, Instant::now() + patience);
	response
		.map(|response| String::from_utf8_lossy(&response.data).into_owned())
		.map_err(|trouble| trouble.why)
}

fn refused(why: &str) -> CallError {
	CallError::Refused(Trouble::new(Errno::ACCESS, why.to_owned()))
}

/// Time until a deadline; none left is an error, as a zero timeout would be for ever.
fn left(deadline: Instant) -> io::Result<Duration> {
	let left = deadline.saturating_duration_since(Instant::now());
	if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn refusal_of(status: u32, failure: &Failure) -> CallError {
	let why = String::from_utf8_lossy(&failure.what.0).into_owned();
	match status {
		// it ends, and may be back
		status::DRAINING => CallError::Connection(Errno::SHUTDOWN.into()),
		status::FORGOTTEN => CallError::Forgotten,
		status::AUTH.. => CallError::Refused(Trouble::new(Errno::ACCESS, why)),
		errno => CallError::Refused(Trouble::new(Errno::from_raw_os_error(errno as i32), why)),
	}
}

/// The bytes that a pull asks for, as the body of a frame.
fn pulled_part(data: &[&[u8]], pull: Pull) -> Vec<u8> {
	let mut body = pull.at.to_le_bytes().to_vec();
	let from = pull.at as usize;
	let some = cut(data, (from, from.saturating_add(pull.length as usize)));
	some.iter().for_each(|part| body.extend_from_slice(part));
	body
}

struct Link {
	socket: Socket,
}

impl Link {
	fn ask(
		&mut self,
		key: (u64, u64),
		question: Question<'_>,
		deadline: Instant,
	) -> Result<Response, CallError> {
		let answered = self.exchange(key, question, deadline)?;
		answered.map_err(|(status, failure)| refusal_of(status, &failure))
	}

	/// A request and its answer, or the status and the words in which it was refused.
	fn exchange(
		&mut self,
		(client, seq): (u64, u64),
		question: Question<'_>,
		deadline: Instant,
	) -> Result<Result<Response, (u32, Failure)>, CallError> {
		let Question { request, data, callers, known_as, flags, hints: more } = question;
		let caller = callers.first().copied().unwrap_or_default();
		let mut hints = caller_hints(if data.is_empty() { &[] } else { callers }, known_as);
		hints.0.extend_from_slice(&more.0);
		let most = u128::from(u32::MAX);
		let deadline_ms = left(deadline)?.as_millis().clamp(1, most) as u32;
		let pulled = data.iter().map(|part| part.len()).sum::<usize>() > INLINE;
		let header = Header {
			kind: kind::REQUEST,
			op: request.op(),
			flags: flags | if pulled { flag::PULL } else { 0 },
			client,
			seq,
			deadline: deadline_ms,
			call_stream: caller.stream,
			call_seq: caller.seq,
			..Header::default()
		};
		let mut body = request.encode(&hints);
		if !pulled {
			data.iter().for_each(|part| body.extend_from_slice(part));
		}
		self.send(&header.frame(&body), deadline)?;
		let mut read = Vec::new();
		loop {
			let (header, body) = self.receive(deadline)?;
			if header.seq != seq {
				continue; // of a request that was given up
			}
			match header.kind {
				kind::PULL => {
					let part = Header { kind: kind::DATA, ..header };
					self.send(&part.frame(&pulled_part(data, decode(&body)?)), deadline)?;
				}
				kind::DATA => read.extend_from_slice(body.get(8..).unwrap_or_default()),
				_ if header.status != status::OK => {
					return Ok(Err((header.status, decode(&body)?)));
				}
				_ => {
					let (reply, hints, at) = Reply::decode(header.op, &body)?;
					read.extend_from_slice(&body[at..]);
					let more = header.flags & flag::MORE != 0;
					return Ok(Ok(Response { reply, hints, data: read, more }));
				}
			}
		}
	}

	fn send(&mut self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
		while !bytes.is_empty() {
			self.socket.set_timeout(left(deadline)?)?;
			match self.socket.write(bytes) {
				Ok(sent) => bytes = &bytes[sent..],
				Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
				Err(error) => return Err(error),
			}
		}
		Ok(())
	}

	fn receive(&mut self, deadline: Instant) -> Result<(Header, Vec<u8>), CallError> {
		let mut head = [0; HEADER];
		self.fill(&mut head, deadline)?;
		let header = Header::decode(&head)?;
		let mut body = vec![0; header.body.min(limit::BODY) as usize];
		self.fill(&mut body, deadline)?;
		header.check_body(&body)?;
		Ok((header, body))
	}

	fn fill(&mut self, mut into: &mut [u8], deadline: Instant) -> io::Result<()> {
		while !into.is_empty() {
			self.socket.set_timeout(left(deadline)?)?;
			match self.socket.read(into) {
				Ok(0) => return Err(io::ErrorKind::ConnectionReset.into()),
				Ok(got) => into = &mut into[got..],
				Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
				Err(error) => return Err(error),
			}
		}
		Ok(())
	}
}

#[cfg(test)]
mod tests {
	use std::os::unix::net::UnixListener;
	use std::path::PathBuf;
	use std::sync::mpsc::channel;

	use super::*;

	/// A server that hangs: connections are taken by the kernel, and nobody says anything.
	struct Hung {
		listener: UnixListener,
		path: PathBuf,
	}

	impl Drop for Hung {
		fn drop(&mut self) {
			let _ = std::fs::remove_file(&self.path);
		}
	}

	fn hung(name: &str) -> (Hung, Peer) {
		let name = format!("fathom-{name}-{}", std::process::id());
		let path = std::env::temp_dir().join(name);
		let _ = std::fs::remove_file(&path);
		let listener = UnixListener::bind(&path).unwrap();
		let peer =
			Peer::new(&format!("unix:{}", path.display()), Secrets::default(), "test").unwrap();
		(Hung { listener, path }, peer)
	}

	fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
		let (done, receiver) = channel();
		thread::spawn(move || done.send(work()));
		receiver.recv_timeout(Duration::from_secs(60)).expect("it is waited for without end")
	}

	#[test]
	fn a_server_that_hangs_is_waited_for_once() {
		let (_hung, peer) = hung("waited-once");
		let hour = Duration::from_secs(3600);
		peer.away.store(true, Ordering::Relaxed);
		let response = in_time(move || {
			let ping = Request::Ping {};
			peer.seek(Question::of(&ping), Patience { reach: hour, answer: hour }).err()
		});
		assert_eq!(response.map(|trouble| trouble.errno), Some(Errno::TIMEDOUT));
	}

	#[test]
	fn a_server_that_takes_no_connection_is_not_waited_for_without_end() {
		let (hung, peer) = hung("full");
		rustix::net::listen(&hung.listener, 0).unwrap();
		let _first = std::os::unix::net::UnixStream::connect(&hung.path).unwrap();
		let due = Instant::now() + Duration::from_millis(100);
		let response = in_time(move || peer.call(&Request::Ping {}, due).err());
		assert_eq!(response.map(|trouble| trouble.errno), Some(Errno::TIMEDOUT));
	}
}
