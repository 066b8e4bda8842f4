//! One connection: bytes in to frames, frames to bytes out, without ever waiting.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_wire::number::{kind, limit};
use fathom_wire::{HEADER, Header, WireError};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::auth::Challenge;
use crate::clock;
use crate::queue::Key;

/// Bytes that are read at once where it is not known what they are.
const ROOM: usize = 64 << 10;
/// Reads from a connection before it is another's turn.
const TURN: u32 = 16;
/// Bytes of buffers that are kept for the next frame.
const SPARE: usize = 16 << 20;

/// Memory that all connections use in turn.
#[derive(Default)]
pub struct Buffers {
	/// What was just read.
	read: Vec<u8>,
	/// Of large bodies: their pages are there already.
	spare: Vec<Vec<u8>>,
	spare_bytes: usize,
}

impl Buffers {
	/// Empty, with room for so many bytes at least.
	pub fn take(&mut self, bytes: usize) -> Vec<u8> {
		let mut buffer = self.reuse(bytes);
		buffer.clear();
		buffer
	}

	/// So many bytes, of any value.
	pub fn take_filled(&mut self, bytes: usize) -> Vec<u8> {
		let mut buffer = self.reuse(bytes);
		buffer.resize(bytes, 0);
		buffer
	}

	fn reuse(&mut self, bytes: usize) -> Vec<u8> {
		let fits = |spare: &Vec<u8>| (bytes..=2 * bytes).contains(&spare.capacity());
		let Some(at) = self.spare.iter().rposition(fits) else {
			return Vec::with_capacity(bytes);
		};
		let buffer = self.spare.swap_remove(at);
		self.spare_bytes -= buffer.capacity();
		buffer
	}

	/// It is needed no more; small ones are not worth keeping.
	pub fn give_back(&mut self, buffer: Vec<u8>) {
		let bytes = buffer.capacity();
		if bytes >= ROOM && self.spare_bytes + bytes <= SPARE {
			self.spare_bytes += bytes;
			self.spare.push(buffer);
		}
	}
}

pub enum Socket {
	Unix(UnixStream),
	Tcp(TcpStream),
	Ofi(fathom_ofi::Link),
}

impl AsFd for Socket {
	fn as_fd(&self) -> BorrowedFd<'_> {
		match self {
			Socket::Unix(socket) => socket.as_fd(),
			Socket::Tcp(socket) => socket.as_fd(),
			Socket::Ofi(link) => link.as_fd(),
		}
	}
}

impl Socket {
	/// Its other end is closed, whatever is still to be read; over libfabric that is not known.
	pub fn is_left(&self) -> bool {
		let (Socket::Unix(_) | Socket::Tcp(_)) = self else { return false };
		let mut polled = [PollFd::new(self, PollFlags::RDHUP)];
		poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
	}

	pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
		match self {
			Socket::Unix(socket) => socket.read(into),
			Socket::Tcp(socket) => socket.read(into),
			Socket::Ofi(link) => link.read(into),
		}
	}

	pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
		match self {
			Socket::Unix(socket) => socket.write(bytes),
			Socket::Tcp(socket) => socket.write(bytes),
			Socket::Ofi(link) => link.write(bytes),
		}
	}

	/// Behind what there is, as far as there is room.
	fn read_spare(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
		match self {
			Socket::Unix(socket) => Ok(rustix::io::read(socket, spare_capacity(into))?),
			Socket::Tcp(socket) => Ok(rustix::io::read(socket, spare_capacity(into))?),
			Socket::Ofi(link) => link.read_spare(into),
		}
	}

	/// What epoll is to tell of it.
	pub fn watch(&mut self, epoll: &OwnedFd, number: u64, wanted: EventFlags) {
		match self {
			Socket::Ofi(link) => {
				link.watch(wanted.contains(EventFlags::IN), wanted.contains(EventFlags::OUT));
			}
			socket => {
				let data = epoll::EventData::new_u64(number);
				let _ = epoll::modify(epoll, socket, data, wanted);
			}
		}
	}

	/// How long one read or write may wait.
	pub fn set_timeout(&mut self, most: Duration) -> io::Result<()> {
		let some = Some(most);
		match self {
			Socket::Unix(s) => s.set_read_timeout(some).and_then(|()| s.set_write_timeout(some)),
			Socket::Tcp(s) => s.set_read_timeout(some).and_then(|()| s.set_write_timeout(some)),
			Socket::Ofi(link) => {
				link.set_patience(most);
				Ok(())
			}
		}
	}
}

/// A server that accepts nothing, as its queue is full, is waited for so long.
pub fn connect_unix(path: &Path, most: Duration) -> io::Result<UnixStream> {
	use rustix::net::sockopt::{Timeout, set_socket_timeout};
	use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
	let (stream, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
	let socket = rustix::net::socket_with(AddressFamily::UNIX, stream, flags, None)?;
	set_socket_timeout(&socket, Timeout::Send, Some(most))?;
	rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
	Ok(socket.into())
}

/// How far a connection is.
pub enum Stage {
	/// It has not said hello, or a proof is asked for.
	New(Option<Box<Challenge>>),
	/// munged is asked whose credential it showed.
	Asking,
	/// Of this client.
	Known(u64),
	/// What is queued is sent, then it ends.
	Closing,
}

pub struct Connection {
	pub socket: Socket,
	pub stage: Stage,
	/// Whose it is or was; 0: nobody said so yet.
	pub client: u64,
	/// Key shown in hello.
	pub key: [u8; 16],
	pub name: String,
	/// Its data may be compressed, both ways.
	pub compresses: bool,
	/// Another server said hello.
	pub is_server: bool,
	/// Bytes that were received and are not counted yet.
	pub bytes_in: u64,
	/// Largest new seq on this connection.
	pub last_seq: u64,
	/// Data frames that were asked for and have not come.
	pub pulled: u32,
	/// Bytes that are not parsed yet: a part of a frame, or frames for which the peer has to read first.
	received: Vec<u8>,
	parsed: usize,
	/// Reads that it may still do in this turn; none after one that got all there was.
	reads: u32,
	/// A body that does not lie in `received` as a whole.
	body: Option<Frame>,
	/// Frames to send, and how many bytes of the pool each holds.
	out: VecDeque<(Vec<u8>, usize)>,
	front_sent: usize,
	pub waiting_out: usize,
	/// What epoll tells of it.
	pub watched: EventFlags,
	/// Reads that go on when some of that is sent.
	pub readers: Vec<Key>,
	/// The peer has gone.
	peer_gone: bool,
	/// It closed the connection, or died; of one that broke that is not known.
	pub peer_closed: bool,
	/// When the peer last took or gave a byte.
	pub moved: Instant,
	pub began: Instant,
}

/// A header and the body behind it, or what has come of it.
type Frame = (Header, Vec<u8>);

/// What came of looking at a connection.
pub enum Received {
	Frame(Header, Vec<u8>),
	Nothing,
	Closed,
	Wrong(WireError, Option<Header>),
}

impl Connection {
	pub fn new(socket: Socket) -> Connection {
		Connection {
			socket,
			stage: Stage::New(None),
			client: 0,
			key: [0; 16],
			name: String::new(),
			compresses: false,
			is_server: false,
			bytes_in: 0,
			last_seq: 0,
			pulled: 0,
			received: Vec::new(),
			parsed: 0,
			reads: 0,
			body: None,
			out: VecDeque::new(),
			front_sent: 0,
			waiting_out: 0,
			watched: EventFlags::IN,
			readers: Vec::new(),
			peer_gone: false,
			peer_closed: false,
			moved: clock::now(),
			began: clock::now(),
		}
	}

	/// It is this connection's turn: it may read again.
	pub fn begin_turn(&mut self, buffers: &mut Buffers) {
		self.reads = TURN;
		if self.received.is_empty() {
			self.received = std::mem::take(&mut buffers.read);
		}
	}

	/// Its turn is over. What is left is kept in memory of its own.
	pub fn end_turn(&mut self, buffers: &mut Buffers) {
		let mut read = std::mem::take(&mut self.received);
		if read.capacity() >= ROOM {
			self.received = read[self.parsed..].to_vec();
			read.clear();
			buffers.read = read;
		} else {
			read.drain(..self.parsed);
			self.received = read;
		}
		self.parsed = 0;
	}

	/// The next frame, if it has all come; one read gets as many as there are.
	pub fn receive(&mut self, buffers: &mut Buffers) -> Received {
		loop {
			match self.next_frame(buffers) {
				Ok(None) if self.reads == 0 || !self.read() => return self.none_or_closed(),
				Ok(None) => {}
				Ok(Some((header, body))) => {
					return match header.check_body(&body) {
						Ok(()) => Received::Frame(header, body),
						Err(error) => Received::Wrong(error, Some(header)),
					};
				}
				Err((error, header)) => return Received::Wrong(error, header),
			}
		}
	}

	/// A whole frame of what was read.
	fn next_frame(
		&mut self,
		buffers: &mut Buffers,
	) -> Result<Option<Frame>, (WireError, Option<Header>)> {
		if self.body.is_none() {
			let Some((head, after)) = self.received[self.parsed..].split_first_chunk::<HEADER>()
			else {
				return Ok(None);
			};
			let header = Header::decode(head).map_err(|error| (error, None))?;
			let most = self.body_limit(&header);
			if header.body > most {
				return Err((WireError::Body(header.body, most), Some(header)));
			}
			self.parsed += HEADER;
			let wanted = header.body as usize;
			if after.len() >= wanted {
				let body = after[..wanted].to_vec();
				self.parsed += wanted;
				return Ok(Some((header, body)));
			}
			let mut body = buffers.take(wanted);
			body.extend_from_slice(after);
			self.parsed = self.received.len();
			self.body = Some((header, body));
		}
		let whole = |(header, body): &Frame| body.len() >= header.body as usize;
		if !self.body.as_ref().is_some_and(whole) {
			return Ok(None);
		}
		let frame = self.body.take().map(|(header, mut body)| {
			// a buffer may be larger than its body: then the next frame's first bytes are in it
			self.received.extend(body.drain(header.body as usize..));
			(header, body)
		});
		Ok(frame)
	}

	/// Some bytes, of the body that is awaited or of frames to come. False: there are none now.
	fn read(&mut self) -> bool {
		let room = match &mut self.body {
			Some((_, body)) => body,
			None => {
				self.received.drain(..self.parsed);
				self.parsed = 0;
				self.received.reserve(ROOM);
				&mut self.received
			}
		};
		let wanted = room.capacity() - room.len();
		let got = self.socket.read_spare(room);
		let all = got.as_ref().is_ok_and(|bytes| *bytes < wanted);
		self.reads = if all { 0 } else { self.reads - 1 };
		self.note_read(got).is_some()
	}

	/// Longest body that is taken: of data only what was pulled, of strangers little.
	fn body_limit(&self, header: &Header) -> u32 {
		match self.stage {
			Stage::New(_) | Stage::Asking => 8 << 10,
			_ if header.kind == kind::DATA => {
				if self.pulled > 0 {
					limit::BODY
				} else {
					0
				}
			}
			_ => 256 << 10,
		}
	}

	fn note_read(&mut self, got: io::Result<usize>) -> Option<usize> {
		match got {
			Ok(0) => (self.peer_gone, self.peer_closed) = (true, true),
			Ok(bytes) => {
				self.moved = clock::now();
				self.bytes_in += bytes as u64;
				return Some(bytes);
			}
			Err(error) if error.kind() == io::ErrorKind::Interrupted => return Some(0),
			Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
			Err(_) => self.broke(),
		}
		None
	}

	/// Nothing lies between us and who has a Unix socket: it is closed.
	fn broke(&mut self) {
		self.peer_gone = true;
		self.peer_closed = matches!(self.socket, Socket::Unix(_));
	}

	fn none_or_closed(&self) -> Received {
		if self.peer_gone { Received::Closed } else { Received::Nothing }
	}

	pub fn send(&mut self, frame: Vec<u8>, held: usize) {
		if self.out.is_empty() {
			self.moved = clock::now();
		}
		self.waiting_out += frame.len();
		self.out.push_back((frame, held));
	}

	/// Send what can be sent: bytes of the pool that are free again, and whether the peer is there.
	pub fn flush(&mut self, buffers: &mut Buffers) -> (usize, bool) {
		let mut freed = 0;
		while let Some((frame, held)) = self.out.front() {
			match self.socket.write(&frame[self.front_sent..]) {
				Ok(bytes) => {
					self.moved = clock::now();
					self.waiting_out -= bytes;
					self.front_sent += bytes;
					if self.front_sent == frame.len() {
						freed += *held;
						self.front_sent = 0;
						self.out
							.pop_front()
							.into_iter()
							.for_each(|(frame, _)| buffers.give_back(frame));
					}
				}
				Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
				Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
				Err(_) => {
					self.broke();
					return (freed, false);
				}
			}
		}
		(freed, true)
	}

	/// Bytes of the pool that its frames hold.
	pub fn held(&self) -> usize {
		self.out.iter().map(|(_, held)| held).sum()
	}

	/// Frames may have come behind the last one.
	pub fn has_more(&self) -> bool {
		self.reads > 0 || self.parsed < self.received.len()
	}

	/// A frame of which a part has come.
	pub fn in_frame(&self) -> bool {
		!self.received.is_empty() || self.body.is_some()
	}
}
