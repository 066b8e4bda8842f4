//! A client as the protocol's page describes it: it repeats what has no answer over connections and servers, under one number.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use fathom_wire::number::{flag, frame, hint, kind, op, status};
use fathom_wire::{HEADER, Handle, Header, Hello, Hints, Pull, Reply, Request, Text, decode};
use rustix::io::Errno;

use crate::trouble::STALE;

/// A request without an answer.
pub struct Sent {
	pub request: Request,
	data: Vec<u8>,
	flags: u32,
	hints: Hints,
	/// Of its files.
	paths: Vec<(Handle, String)>,
	says_paths: bool,
	/// It may have been sent before.
	begun: bool,
	/// How often it was answered that it is late.
	late: u32,
}

/// How often a request that is late is asked for again: then it has failed, or nobody knows.
const LATE: u32 = 5;

/// What a program hears.
#[derive(Debug)]
pub enum Heard {
	Answer {
		seq: u64,
		answer: Result<(Reply, Vec<u8>), u32>,
	},
	/// `lost`: the epoch of the server before, which is gone and has not written all that it had accepted. `unlocked`: it keeps no
	/// lock of this client.
	Connected {
		lost: Option<u64>,
		unlocked: bool,
	},
}

pub struct Client {
	pub id: u64,
	/// This end, and the server's number of the other one.
	pub link: Option<(UnixStream, u64)>,
	greeted: bool,
	was_connected: bool,
	epoch: u64,
	seq: u64,
	pub pending: BTreeMap<u64, Sent>,
	/// Frames to send, each of which request.
	pub out: VecDeque<(u64, Vec<u8>)>,
	came: Vec<u8>,
	/// The server has closed the connection.
	ended: bool,
	/// It says no paths: to files that a server does not know it goes on by opening them.
	pub is_pathless: bool,
}

impl Client {
	pub fn new(id: u64) -> Client {
		Client {
			id,
			link: None,
			greeted: false,
			was_connected: false,
			epoch: 0,
			seq: 0,
			pending: BTreeMap::new(),
			out: VecDeque::new(),
			came: Vec::new(),
			ended: false,
			is_pathless: false,
		}
	}

	/// A new request; `paths`: of the files that it names.
	pub fn ask(
		&mut self,
		request: Request,
		data: &[u8],
		(flags, hints): (u32, Hints),
		paths: &[(Handle, &str)],
	) -> u64 {
		self.seq += 1;
		let paths = if self.is_pathless { &[] } else { paths };
		let paths = paths.iter().map(|(handle, path)| (*handle, (*path).to_owned())).collect();
		let sent = Sent {
			request,
			data: data.to_vec(),
			flags,
			hints,
			paths,
			says_paths: false,
			begun: false,
			late: 0,
		};
		self.pending.insert(self.seq, sent);
		if self.greeted {
			self.send(self.seq);
		}
		self.seq
	}

	/// It has requests on a file that may come again with its path; an open would let others pass them.
	pub fn is_busy_with(&self, path: &str) -> bool {
		self.pending.values().flat_map(|sent| &sent.paths).any(|(_, busy)| busy == path)
	}

	fn send(&mut self, seq: u64) {
		let Some(sent) = self.pending.get_mut(&seq) else { return };
		let mut hints = sent.hints.clone();
		for (handle, path) in sent.paths.iter().filter(|_| sent.says_paths) {
			hints = hints.with(hint::FOUND_AT, &[&handle.0[..], path.as_bytes()].concat());
		}
		let mut body = sent.request.encode(&hints);
		if sent.flags & flag::PULL == 0 {
			body.extend(&sent.data);
		}
		let retry = if sent.begun { flag::RETRY } else { 0 };
		let header = Header {
			kind: kind::REQUEST,
			op: sent.request.op(),
			flags: sent.flags | retry,
			client: self.id,
			seq,
			..Header::default()
		};
		say!(
			"client {} asks {seq}: op {} flags {} paths {}",
			self.id,
			header.op,
			header.flags,
			hints.has(hint::FOUND_AT)
		);
		self.out.push_back((seq, header.frame(&body)));
	}

	/// A connection begins with hello; another server's says `list`.
	pub fn connect(&mut self, socket: UnixStream, number: u64, list: Option<&str>) {
		self.hang_up();
		socket.set_nonblocking(true).unwrap();
		self.link = Some((socket, number));
		let version = frame::VERSION as u16;
		let hello = Hello {
			lowest: version,
			highest: version,
			key: [self.id as u8; 16],
			nonce: [0; 32],
			name: Text::from("simulated"),
		};
		let hints = Hints::default();
		let hints = match list {
			Some(list) => hints.with(hint::LIST, list.as_bytes()),
			None => hints,
		};
		let body = Request::Hello { hello }.encode(&hints);
		let (client, kind) = (self.id, kind::REQUEST);
		let header = Header { kind, op: op::HELLO, client, ..Header::default() };
		self.out.push_back((0, header.frame(&body)));
	}

	/// The server is gone; what it had sent still comes.
	pub fn end(&mut self) {
		self.ended = true;
	}

	/// The connection is lost, with all that is on its way.
	pub fn hang_up(&mut self) {
		say!("client {} hangs up", self.id);
		self.link = None;
		(self.greeted, self.ended) = (false, false);
		self.out.clear();
		self.came.clear();
	}

	/// So many frames leave for the server.
	pub fn write(&mut self, most: usize) {
		let Some((socket, _)) = &mut self.link else { return };
		for _ in 0..most {
			let Some((seq, bytes)) = self.out.pop_front() else { return };
			say!("client {} sends {seq}: {} bytes", self.id, bytes.len());
			if let Some(sent) = self.pending.get_mut(&seq) {
				sent.begun = true;
			}
			if socket.write_all(&bytes).is_err() {
				self.ended = true;
			}
		}
	}

	/// What the server has sent is on its way.
	pub fn collect(&mut self) {
		let Some((socket, _)) = &mut self.link else { return };
		let mut bytes = [0; 4096];
		loop {
			match socket.read(&mut bytes) {
				Ok(0) => return self.ended = true,
				Ok(some) => self.came.extend(&bytes[..some]),
				Err(_) => return,
			}
		}
	}

	pub fn has_mail(&self) -> bool {
		self.ended || self.came.len() >= HEADER
	}

	/// One frame comes; nothing on the connection that ended comes after its end.
	pub fn hear(&mut self) -> Option<Heard> {
		let Some((head, rest)) = self.came.split_first_chunk::<HEADER>() else {
			if self.ended {
				self.hang_up();
			}
			return None;
		};
		let header = Header::decode(head).expect("a frame of the server");
		let body = rest[..header.body as usize].to_vec();
		self.came.drain(..HEADER + body.len());
		match (header.kind, header.op) {
			(kind::REPLY, op::HELLO) => self.welcomed(&header, &body),
			(kind::PULL, _) => {
				self.give(&header, &body);
				None
			}
			_ => self.answered(&header, &body),
		}
	}

	fn welcomed(&mut self, header: &Header, body: &[u8]) -> Option<Heard> {
		assert_eq!(header.status, status::OK, "hello is refused");
		let (reply, hints, _) = Reply::decode(op::HELLO, body).expect("an answer to hello");
		let Reply::Hello { session } = reply else { return None };
		let before = std::mem::replace(&mut self.epoch, session.epoch);
		let ended = hints.value(hint::ENDED).unwrap_or_default();
		let all_written = ended.chunks(8).any(|epoch| epoch == before.to_le_bytes());
		let is_lost = before != 0 && before != session.epoch && !all_written;
		let lost = is_lost.then_some(before);
		self.greeted = true;
		Some(Heard::Connected { lost, unlocked: hints.has(hint::UNLOCKED) })
	}

	/// After programs have heard of the connection: what has no answer is sent again, in order.
	pub fn resume(&mut self) {
		let all: Vec<u64> = self.pending.keys().copied().collect();
		for sent in self.pending.values_mut().filter(|_| self.was_connected) {
			sent.says_paths = true;
		}
		self.was_connected = true;
		all.into_iter().for_each(|seq| self.send(seq));
	}

	fn give(&mut self, header: &Header, body: &[u8]) {
		let Some(sent) = self.pending.get(&header.seq) else { return };
		let pull: Pull = decode(body).expect("a pull");
		let part = &sent.data[pull.at as usize..][..pull.length as usize];
		let body = [&pull.at.to_le_bytes()[..], part].concat();
		let (client, seq) = (self.id, header.seq);
		let header = Header { kind: kind::DATA, op: header.op, client, seq, ..Header::default() };
		self.out.push_back((seq, header.frame(&body)));
	}

	fn answered(&mut self, header: &Header, body: &[u8]) -> Option<Heard> {
		let seq = header.seq;
		say!("client {} hears {seq}: op {} status {}", self.id, header.op, header.status);
		let sent = self.pending.get_mut(&seq)?;
		if self.out.iter().any(|(of, _)| *of == seq) {
			self.hang_up(); // it is still being sent: only a new connection ends this
			return None;
		}
		let late = Errno::TIMEDOUT.raw_os_error() as u32;
		match header.status {
			status::DRAINING => return None,
			some if some == late && sent.late < LATE => {
				sent.late += 1;
				self.send(seq);
				return None;
			}
			STALE if !sent.says_paths && !sent.paths.is_empty() => {
				(sent.says_paths, sent.begun) = (true, true);
				self.send(seq);
				return None;
			}
			_ => {}
		}
		self.pending.remove(&seq);
		let answer = match header.status {
			status::OK => {
				let (reply, _, at) = Reply::decode(header.op, body).expect("an answer");
				Ok((reply, body[at..].to_vec()))
			}
			errno => Err(errno),
		};
		Some(Heard::Answer { seq, answer })
	}
}
