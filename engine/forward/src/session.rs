//! The first frames of a connection: who is it, and may it speak.

use fathom_record::Purpose;
use fathom_wire::number::{compress, frame, hint, limit, op, status};
use fathom_wire::{Header, Hello, Hints, Reply, Request, Session, encode};

use crate::answers::{Refusal, failure, reply_header};
use crate::auth::{CLIENT, Challenge, SERVER, random};
use crate::clock;
use crate::connection::{Socket, Stage};
use crate::done::Done;
use crate::server::Server;

impl Server {
	/// hello or auth; whatever else comes first is refused.
	pub fn greet(&mut self, connection: u64, header: &Header, request: Request, hints: &Hints) {
		let outcome = match request {
			Request::Hello { hello } => self.hello(connection, header, &hello, hints),
			Request::Auth { proof } => self.prove(connection, header, &proof),
			Request::Munge { credential } => self.ask_munge(connection, *header, credential.0),
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
		hints: &Hints,
	) -> Result<(), Refusal> {
		let version = frame::VERSION as u16;
		if hello.lowest > version || hello.highest < version {
			let what = format!("this server speaks version {version}");
			return Err(Refusal::new(status::VERSION, &what));
		}
		let list = hints.value(hint::LIST);
		if list.is_some_and(|list| !self.group.shares(list)) {
			let what = "it was started with another list of servers; give all the same (--group, --stripe)";
			return Err(Refusal::new(status::REFUSED, what));
		}
		let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
		connection.key = hello.key;
		let formats = hints.value(hint::COMPRESS).unwrap_or_default();
		connection.compresses = formats.contains(&compress::ZSTD);
		connection.is_server = list.is_some();
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
			Socket::Tcp(_) | Socket::Ofi(_) => {
				let server = random().map_err(|what| Refusal::new(status::REFUSED, &what))?;
				let challenge = Challenge { server, client: hello.nonce, id: header.client };
				connection.stage = Stage::New(Some(Box::new(challenge)));
				let hints = Hints::default().with(hint::NONCE, &server);
				let secrets = &self.settings.secrets;
				let (what, hints) = match (&secrets.token, &secrets.munge) {
					(_, None) => ("token", hints),
					(None, _) => ("munge", hints.with(hint::MUNGE, b"")),
					_ => ("token or munge", hints.with(hint::MUNGE, b"")),
				};
				let body = encode(&failure(what, (0, 0), hints));
				let reply = Header { status: status::AUTH, ..reply_header(header) };
				self.send(id, reply.frame(&body));
				Ok(())
			}
		}
	}

	fn prove(&mut self, id: u64, header: &Header, proof: &[u8; 32]) -> Result<(), Refusal> {
		let refused = || Refusal::new(status::REFUSED, "this is not the server's token");
		let no_token = || Refusal::new(status::REFUSED, "it takes no token, but munge");
		let connection = self.connections.get(&id).ok_or_else(refused)?;
		let token = self.settings.secrets.token.as_deref().ok_or_else(no_token)?;
		let Stage::New(Some(challenge)) = &connection.stage else { return Err(refused()) };
		if challenge.id != header.client || !challenge.holds(token, CLIENT, proof) {
			return Err(refused());
		}
		let hints = Hints::default().with(hint::PROOF, &challenge.proof(token, SERVER));
		self.welcome(id, header, hints)
	}

	/// Whose the credential is, munged says to a thread that may wait for it.
	fn ask_munge(&mut self, id: u64, header: Header, credential: Vec<u8>) -> Result<(), Refusal> {
		let refused = |why| Refusal::new(status::REFUSED, why);
		let Some(munge) = &self.settings.secrets.munge else {
			return Err(refused("it takes no munge credential, but a token"));
		};
		let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
		let before = std::mem::replace(&mut connection.stage, Stage::Asking);
		let Stage::New(Some(challenge)) = before else { return Err(refused("say hello first")) };
		if challenge.id != header.client {
			return Err(refused("another client said hello"));
		}
		let munge = munge.clone();
		self.misc_workers.give(
			Purpose::default(),
			Box::new(move |_| {
				let known = munge.check(&credential, &challenge.statement(CLIENT));
				let own_credential = known.and_then(|()| munge.seal(&challenge.statement(SERVER)));
				Done::CredentialChecked(id, header, own_credential)
			}),
		);
		Ok(())
	}

	/// munged has checked the client's credential, and made our own.
	pub fn credential_checked(
		&mut self,
		id: u64,
		header: &Header,
		own_credential: Result<String, String>,
	) {
		let own_credential = own_credential.map_err(|why| Refusal::new(status::REFUSED, &why));
		let outcome = own_credential.and_then(|credential| {
			self.enter(id, header, Hints::default(), |session| Reply::Munge {
				session,
				credential: credential.as_str().into(),
			})
		});
		if let Err(refusal) = outcome {
			self.refuse(id, header, &refusal);
		}
	}

	fn welcome(&mut self, id: u64, header: &Header, hints: Hints) -> Result<(), Refusal> {
		self.enter(id, header, hints, |session| match header.op {
			op::HELLO => Reply::Hello { session },
			_ => Reply::Auth { session },
		})
	}

	fn enter(
		&mut self,
		id: u64,
		header: &Header,
		hints: Hints,
		answer: impl FnOnce(Session) -> Reply,
	) -> Result<(), Refusal> {
		let Some(connection) = self.connections.get_mut(&id) else { return Ok(()) };
		let client = self.clients.entry(header.client).or_default();
		if *client.key.get_or_insert(connection.key) != connection.key {
			return Err(Refusal::new(status::REFUSED, "this client has another key"));
		}
		client.name.clone_from(&connection.name);
		client.is_server |= connection.is_server;
		client.connections += 1;
		client.idle_since = None;
		self.strangers.remove(&id);
		connection.stage = Stage::Known(header.client);
		connection.client = header.client;
		connection.moved = clock::now();
		let compresses = connection.compresses;
		let session = self.session();
		let locked = self.is_locking(header.client);
		let hints = if locked { hints } else { hints.with(hint::UNLOCKED, b"") };
		let ended = self.ended.of(header.client);
		let hints = if ended.is_empty() { hints } else { hints.with(hint::ENDED, &ended) };
		let hints = match compresses {
			true => hints.with(hint::COMPRESS, &[compress::ZSTD]),
			false => hints,
		};
		let frame = reply_header(header).frame(&answer(session).encode(&hints));
		self.send(id, frame);
		Ok(())
	}

	fn session(&self) -> Session {
		let (server, servers) = self.group.numbers();
		Session {
			epoch: self.epoch,
			window: limit::WINDOW,
			inline: crate::limits::INLINE as u32,
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
