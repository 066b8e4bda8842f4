//! One connection: bytes in to frames, frames to bytes out, without ever waiting.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fathom_wire::number::{kind, limit};
use fathom_wire::{HEADER, Header, WireError};

use crate::auth::Challenge;

pub enum Socket {
	Unix(UnixStream),
	Tcp(TcpStream),
}

impl AsFd for Socket {
	fn as_fd(&self) -> BorrowedFd<'_> {
		match self {
			Socket::Unix(socket) => socket.as_fd(),
			Socket::Tcp(socket) => socket.as_fd(),
		}
	}
}

impl Socket {
	pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
		match self {
			Socket::Unix(socket) => socket.read(into),
			Socket::Tcp(socket) => socket.read(into),
		}
	}

	pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
		match self {
			Socket::Unix(socket) => socket.write(bytes),
			Socket::Tcp(socket) => socket.write(bytes),
		}
	}

	/// How long one read or write may wait.
	pub fn set_timeout(&self, most: Duration) -> io::Result<()> {
		let most = Some(most);
		match self {
			Socket::Unix(s) => s.set_read_timeout(most).and_then(|()| s.set_write_timeout(most)),
			Socket::Tcp(s) => s.set_read_timeout(most).and_then(|()| s.set_write_timeout(most)),
		}
	}
}

/// How far a connection is.
pub enum Stage {
	/// Nothing was said yet, or the token is asked for.
	New(Option<Box<Challenge>>),
	/// Of this client.
	Known(u64),
	/// What is queued is sent, then it ends.
	Closing,
}

pub struct Connection {
	pub socket: Socket,
	pub stage: Stage,
	/// Key shown in hello.
	pub key: [u8; 16],
	pub name: String,
	/// Largest new seq on this connection.
	pub last_seq: u64,
	/// Data frames that were asked for and have not come.
	pub pulled: u32,
	head: [u8; HEADER],
	head_got: usize,
	body: Option<(Header, Vec<u8>)>,
	/// Frames to send, and how many bytes of the pool each holds.
	out: VecDeque<(Vec<u8>, usize)>,
	sent: usize,
	pub waiting_out: usize,
	/// The peer has gone.
	over: bool,
	/// When the peer last took or gave a byte.
	pub moved: Instant,
}

/// What came of looking at a connection.
pub enum Came {
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
			key: [0; 16],
			name: String::new(),
			last_seq: 0,
			pulled: 0,
			head: [0; HEADER],
			head_got: 0,
			body: None,
			out: VecDeque::new(),
			sent: 0,
			waiting_out: 0,
			over: false,
			moved: Instant::now(),
		}
	}

	/// The next frame, if it has all come. A body's memory grows as its bytes come.
	pub fn receive(&mut self) -> Came {
		loop {
			if let Some((header, body)) = &mut self.body {
				let (header, wanted) = (*header, header.body as usize);
				if body.len() == wanted {
					let body = std::mem::take(body);
					self.body = None;
					return match header.check_body(&body) {
						Ok(()) => Came::Frame(header, body),
						Err(error) => Came::Wrong(error, Some(header)),
					};
				}
				let had = body.len();
				body.resize(wanted.min(had + (256 << 10)), 0);
				let got = self.socket.read(&mut body[had..]);
				body.truncate(had + *got.as_ref().unwrap_or(&0));
				match self.took(got) {
					Some(_) => continue,
					None => return self.none_or_closed(),
				}
			}
			let got = self.socket.read(&mut self.head[self.head_got..]);
			let Some(bytes) = self.took(got) else { return self.none_or_closed() };
			self.head_got += bytes;
			if self.head_got == HEADER {
				self.head_got = 0;
				match Header::decode(&self.head) {
					Ok(header) if header.body > self.most(&header) => {
						return Came::Wrong(WireError::Body(header.body), Some(header));
					}
					Ok(header) => self.body = Some((header, Vec::new())),
					Err(error) => return Came::Wrong(error, None),
				}
			}
		}
	}

	/// Longest body that is taken: of data only what was pulled, of strangers little.
	fn most(&self, header: &Header) -> u32 {
		match self.stage {
			Stage::New(_) => 8 << 10,
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

	fn took(&mut self, got: io::Result<usize>) -> Option<usize> {
		match got {
			Ok(0) => self.over = true,
			Ok(bytes) => {
				self.moved = Instant::now();
				return Some(bytes);
			}
			Err(error) if error.kind() == io::ErrorKind::Interrupted => return Some(0),
			Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
			Err(_) => self.over = true,
		}
		None
	}

	fn none_or_closed(&self) -> Came {
		if self.over { Came::Closed } else { Came::Nothing }
	}

	pub fn send(&mut self, frame: Vec<u8>, held: usize) {
		if self.out.is_empty() {
			self.moved = Instant::now();
		}
		self.waiting_out += frame.len();
		self.out.push_back((frame, held));
	}

	/// Send what can be sent: bytes of the pool that are free again, and whether the peer is there.
	pub fn flush(&mut self) -> (usize, bool) {
		let mut freed = 0;
		while let Some((frame, held)) = self.out.front() {
			match self.socket.write(&frame[self.sent..]) {
				Ok(bytes) => {
					self.moved = Instant::now();
					self.waiting_out -= bytes;
					self.sent += bytes;
					if self.sent == frame.len() {
						freed += held;
						self.sent = 0;
						self.out.pop_front();
					}
				}
				Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
				Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
				Err(_) => return (freed, false),
			}
		}
		(freed, true)
	}

	/// Bytes of the pool that its frames hold.
	pub fn held(&self) -> usize {
		self.out.iter().map(|(_, held)| held).sum()
	}

	/// A frame of which a part has come.
	pub fn in_frame(&self) -> bool {
		self.head_got > 0 || self.body.is_some()
	}
}
