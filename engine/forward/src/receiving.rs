//! What comes: connections, their frames, the requests in them.

use std::io;
use std::time::Duration;

use fathom_wire::number::{flag, kind, limit, op, reserve, status};
use fathom_wire::{Header, Hints, Part, Request, WireError, expand};
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use crate::Settings;
use crate::client::{Arrival, Pending};
use crate::clock;
use crate::connection::{Connection, Received, Socket, Stage};
use crate::limits::{FULL, GREETING, PARKED, TICK, UNFINISHED};
use crate::listen::{Listeners, ready_tcp};
use crate::lists::list_bytes;
use crate::object::held_descriptors;
use crate::queue::Key;
use crate::reaper::is_of_peer;
use crate::server::Server;

impl Server {
	/// Takes the connections that wait, while there is room for them.
	pub fn accept(&mut self, listeners: &Listeners, number: u64) {
		loop {
			if self.strangers.len() >= self.most_strangers() && !self.end_stranger() {
				return self.accept_later(listeners);
			}
			let socket = match listeners.accept(number) {
				None => return,
				Some(Ok(socket)) => socket,
				Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
				Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
				Some(Err(_)) => return self.accept_later(listeners), // no descriptor is left
			};
			self.greet_later(socket);
		}
	}

	/// A connection of somebody who has not said anything yet.
	pub fn greet_later(&mut self, socket: Socket) {
		let ready = match &socket {
			Socket::Unix(socket) => socket.set_nonblocking(true),
			Socket::Tcp(socket) => ready_tcp(socket, self.settings.lease),
			Socket::Ofi(_) => Ok(()),
		};
		let number = self.next_connection;
		if ready.is_ok() && self.watch(number, &socket).is_ok() {
			self.next_connection += 1;
			self.connections.insert(number, Connection::new(socket));
			self.strangers.insert(number);
		}
	}

	/// Connections that have not proved who they are: they leave most descriptors to those that have.
	fn most_strangers(&self) -> usize {
		(self.descriptors / 8).max(8)
	}

	/// The one that has taken longest to prove itself goes, if that was long enough.
	fn end_stranger(&mut self) -> bool {
		let Some(oldest) = self.strangers.first().copied() else { return false };
		let began = self.connections.get(&oldest).map(|connection| connection.began);
		let long = began.is_none_or(|began| clock::since(began) > GREETING);
		if long {
			self.close(oldest);
		}
		long
	}

	/// A listener that nobody is taken from would be told of again and again.
	fn accept_later(&mut self, listeners: &Listeners) {
		self.full_until = Some(clock::now() + TICK);
		self.watch_listeners(listeners, EventFlags::empty());
	}

	pub fn accept_again(&mut self, listeners: &Listeners) {
		if self.full_until.is_some_and(|until| until <= clock::now()) {
			self.full_until = None;
			self.watch_listeners(listeners, EventFlags::IN);
		}
	}

	fn watch_listeners(&self, listeners: &Listeners, wanted: EventFlags) {
		for (number, listener) in listeners.all() {
			let data = epoll::EventData::new_u64(number);
			let _ = epoll::modify(&self.epoll, listener, data, wanted);
		}
	}

	/// Files that nobody holds give way to those that are opened, and to connections.
	pub fn spare_descriptors(&mut self) {
		let most = self.descriptors - (self.descriptors / 4);
		let open = held_descriptors() + self.connections.len();
		if open > most {
			self.files.let_go();
		}
	}

	/// A connection can be read or written.
	pub fn receive(&mut self, number: u64) {
		let Some(connection) = self.connections.get(&number) else { return };
		if connection.waiting_out > 0 || matches!(connection.stage, Stage::Closing) {
			self.flush(number);
		}
		if let Some(connection) = self.connections.get_mut(&number) {
			connection.begin_turn(&mut self.buffers);
		}
		loop {
			if self.crowds(number) {
				self.crowded.insert(number);
				self.watch_input(number);
				break;
			}
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
		if self.repeated(number, header, &hints) {
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
		if is_of_peer(&request, self.store.stripes.is_some()) {
			if !client.is_server {
				let (errno, what) =
					(Errno::PERM.raw_os_error(), "only servers ask each other this");
				return self.refuse_request(number, header, errno as u32, what);
			}
			client.is_peer = true;
		}
		if self.draining.is_some()
			&& !client.is_peer
			&& !matches!(header.op, op::COMMIT | op::RELEASE | op::UNLOCK)
		{
			return self.refuse_request(number, header, status::DRAINING, "the server is ending");
		}
		if client.is_peer {
			self.last_peer_request = clock::now();
		}
		if client.is_server && is_moot_without_asker(&request) && connection.socket.is_left() {
			return;
		}
		connection.last_seq = connection.last_seq.max(header.seq);
		client.highest = client.highest.max(header.seq);
		let oldest = client.highest.saturating_sub(u64::from(limit::WINDOW));
		client.forget_answers(oldest);
		let parked = client.parked.first().copied();
		if let Some(seq) = parked.filter(|seq| key.1.saturating_sub(*seq) >= PARKED) {
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
		let list_bytes = list_bytes(&request);
		if list_bytes > 0 {
			self.list_begins(key.0, list_bytes);
		}
		self.deadlines.insert((due, key));
		if matches!(header.op, op::READ | op::WRITE | op::APPEND) {
			self.unfinished.insert((arrived.at, key));
		}
		if !self.is_known_change(key) {
			self.begin_with_files(key, request, data);
		}
	}

	pub fn pending(&mut self, key: Key) -> Option<&mut Pending> {
		self.clients.get_mut(&key.0)?.find(key.1)
	}
}

/// A server that closed its connection does not know that it was given something, and would keep it for good.
fn is_moot_without_asker(request: &Request) -> bool {
	match request {
		Request::Lock { .. } => true,
		Request::Reserve { flags, wanted, .. } => {
			!wanted.is_empty() && flags & reserve::GIVEN_UP == 0
		}
		_ => false,
	}
}

/// How long a request may take.
pub fn deadline(header: &Header, settings: &Settings) -> Duration {
	match header.deadline {
		0 => settings.deadline,
		some => Duration::from_millis(u64::from(some)),
	}
}
