//! The first frames of a connection: who is it, and may it speak.

use std::time::Instant;

use fathom_wire::number::{compress, frame, hint, limit, status};
use fathom_wire::{Header, Hello, Hints, Reply, Request, Session, encode};

use crate::answers::{Refusal, failure, reply_header};
use crate::auth::{CLIENT, Challenge, SERVER, random};
use crate::connection::{Socket, Stage};
use crate::server::Server;

impl Server {
	/// hello or auth; whatever else comes first is refused.
	pub fn greet(&mut self, connection: u64, header: &Header, request: Request, hints: &Hints) {
		let outcome = match request {
			Request::Hello { hello } => {
				let formats = hints.value(hint::COMPRESS).unwrap_or_default();
				let compresses = formats.contains(&compress::ZSTD);
				self.hello(connection, header, &hello, compresses)
			}
			Request::Auth { proof } => self.prove(connection, header, &proof),
			_ => Err(Refusal::new(status::AUTH, "say hello first")),
		};
		if let Err(refusal) = outcome {
			self.refuse(connection, header, &refusal);
		}
	}

	fn hello(
		&mut self,
		id: u64,
		header: &Header,
		hello: &Hello,
		compresses: bool,
	) -> Result<(), Refusal> {
		let version = frame::VERSION as u16;
		if hello.lowest > version || hello.highest < version {
			let what = format!("this server speaks version {version}");
			return Err(Refusal::new(status::VERSION, &what));
		}
		let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
		connection.key = hello.key;
		connection.compresses = compresses;
		connection.name = String::from_utf8_lossy(&hello.name.0).into_owned();
		match &connection.socket {
			Socket::Unix(socket) => {
				let peer = rustix::net::sockopt::socket_peercred(socket)
					.map_err(|error| Refusal::new(status::REFUSED, &error.to_string()))?;
				if peer.uid != rustix::process::geteuid() {
					return Err(Refusal::new(
						status::REFUSED,
						"the server belongs to another user",
					));
				}
				self.welcome(id, header, Hints::default())
			}
			Socket::Tcp(_) => {
				let server = random().map_err(|what| Refusal::new(status::REFUSED, &what))?;
				let challenge = Challenge { server, client: hello.nonce, id: header.client };
				connection.stage = Stage::New(Some(Box::new(challenge)));
				let hints = Hints::default().with(hint::NONCE, &server);
				let body = encode(&failure("token", (0, 0), hints));
				let reply = Header { status: status::AUTH, ..reply_header(header) };
				self.send(id, reply.frame(&body));
				Ok(())
			}
		}
	}

	fn prove(&mut self, id: u64, header: &Header, proof: &[u8; 32]) -> Result<(), Refusal> {
		let refused = || Refusal::new(status::REFUSED, "this is not the server's token");
		let connection = self.connections.get(&id).ok_or_else(refused)?;
		let token = self.settings.token.as_deref().ok_or_else(refused)?;
		let Stage::New(Some(challenge)) = &connection.stage else { return Err(refused()) };
		if challenge.id != header.client || !challenge.holds(token, CLIENT, proof) {
			return Err(refused());
		}
		let hints = Hints::default().with(hint::PROOF, &challenge.proof(token, SERVER));
		self.welcome(id, header, hints)
	}

	fn welcome(&mut self, id: u64, header: &Header, hints: Hints) -> Result<(), Refusal> {
		let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
		let client = self.clients.entry(header.client).or_default();
		if client.key == [0; 16] {
			client.key = connection.key;
		}
		if client.key != connection.key {
			return Err(Refusal::new(status::REFUSED, "this client has another key"));
		}
		client.name.clone_from(&connection.name);
		client.connections += 1;
		client.alone = None;
		connection.stage = Stage::Known(header.client);
		connection.client = header.client;
		connection.moved = Instant::now();
		let compresses = connection.compresses;
		let session = self.session();
		let locked = self.is_locking(header.client);
		let hints = if locked { hints } else { hints.with(hint::UNLOCKED, b"") };
		let hints = match compresses {
			true => hints.with(hint::COMPRESS, &[compress::ZSTD]),
			false => hints,
		};
		let reply = match header.op {
			fathom_wire::number::op::HELLO => Reply::Hello { session },
			_ => Reply::Auth { session },
		};
		let frame = reply_header(header).frame(&reply.encode(&hints));
		self.send(id, frame);
		Ok(())
	}

	fn session(&self) -> Session {
		let (server, servers) = self.group.numbers();
		Session {
			epoch: self.epoch,
			window: limit::WINDOW,
			inline: crate::server::INLINE as u32,
			piece: self.piece as u32,
			data: u64::from(limit::DATA),
			lease: self.settings.lease.as_millis() as u32,
			deadline: self.settings.deadline.as_millis() as u32,
			server,
			servers,
			name: self.settings.name.as_str().into(),
		}
	}
}
