//! Encodes replies and refusals, sends them, and retains replies for retries.

use fathom_wire::number::{flag, hint, kind, op, status};
use fathom_wire::{Failure, HEADER, Header, Hints, Reply, Request, Text, WireError, encode};
use rustix::io::Errno;

use crate::client::{Early, Pending};
use crate::clock;
use crate::connection::Stage;
use crate::files::Files;
use crate::lists::list_bytes;
use crate::queue::Key;
use crate::receiving::deadline;
use crate::server::Server;
use crate::traced::{name_of, record};
use crate::trouble::{STALE, Trouble, errno_text};

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

impl Server {
	/// A request that was done is answered again; one that is being done goes on, for this connection.
	pub fn repeated(&mut self, number: u64, header: &Header, hints: &Hints) -> bool {
		let key = (header.client, header.seq);
		let Some(client) = self.clients.get_mut(&key.0) else { return false };
		if hints.has(hint::FOUND_AT) {
			client.forget_stale(key.1);
		}
		if let Some(answer) = client.answers.get(&key.1).cloned() {
			self.count.repeated += 1;
			self.send(number, answer);
			return true;
		}
		let Some(pending) = client.find(key.1) else { return false };
		self.count.repeated += 1;
		// what still came by a connection that the client has left must not take the answer there
		if number > pending.connection || !self.connections.contains_key(&pending.connection) {
			pending.connection = number;
		}
		// it may not have begun, and begins as it was last asked for
		pending.header.flags |= header.flags & flag::RETRY;
		if hints.has(hint::FOUND_AT) && !pending.hints.has(hint::FOUND_AT) {
			pending.hints = hints.clone();
		}
		self.deadlines.remove(&(pending.due, key));
		pending.due = clock::now() + deadline(header, &self.settings);
		self.deadlines.insert((pending.due, key));
		let answered = pending.answered().filter(|early| *early == Early::Accepted);
		client.set_answered(key.1, answered);
		self.pull_again(key);
		true
	}

	/// The answer to a request, kept for a retry if the request changed something.
	pub fn answer(&mut self, key: Key, flags: u32, reply: &Reply, data: &[u8], held: usize) {
		let mut frame = vec![0; HEADER];
		reply.put(&mut frame, &Hints::default());
		frame.extend(data);
		self.answer_frame(key, flags, frame, held);
	}

	/// It is known what the answer is, or why there is none.
	pub fn answer_with_data(&mut self, key: Key, answer: Result<(Reply, Vec<u8>), Trouble>) {
		self.leave_queue(key);
		match answer {
			Ok((reply, data)) => self.answer(key, 0, &reply, &data, 0),
			Err(trouble) => self.fail_with(key, trouble.status(), (0, 0), &trouble.why),
		}
	}

	/// The same with the reply in its frame.
	pub fn answer_frame(&mut self, key: Key, flags: u32, frame: Vec<u8>, held: usize) {
		let crc = self.pending(key).map_or(0, |p| p.header.flags & flag::BODY_CRC);
		self.end(key, flags | crc, status::OK, frame, held);
	}

	/// What failed: `range` of which file.
	pub fn fail(&mut self, key: Key, errno: Errno, range: (u64, u64)) {
		self.fail_with(key, errno.raw_os_error() as u32, range, &errno_text(errno));
	}

	pub fn fail_with(&mut self, key: Key, status: u32, range: (u64, u64), why: &str) {
		let pending = self.clients.get(&key.0).and_then(|client| client.pending().get(&key.1));
		let Some(pending) = pending else { return };
		let name = name_of(pending.header.op);
		let path = request_path(&mut self.files, pending);
		let what = format!("{name} {path} on server {}: {why}", self.settings.name);
		let mut frame = vec![0; HEADER];
		frame.extend(encode(&failure(&what, range, Hints::default())));
		self.end(key, 0, status, frame, 0);
	}

	pub fn end(&mut self, key: Key, flags: u32, status: u32, mut frame: Vec<u8>, held: usize) {
		let change = self.ending_change(key);
		let Some(client) = self.clients.get_mut(&key.0) else { return self.free(key.0, held) };
		let Some(pending) = client.end(key.1) else { return self.free(key.0, held) };
		self.deadlines.remove(&(pending.due, key));
		self.unfinished.remove(&(pending.arrived.at, key));
		let list_bytes = list_bytes(&pending.request);
		let size = match &pending.request {
			Request::SetAttr { set, .. } => set.size,
			_ => 0, // an open that truncates
		};
		let size = (status == status::OK).then_some(size);
		let cut = pending.cuts.then_some((pending.handle, size));
		record(&mut self.files, &pending, status, self.settings.mount.as_deref());
		Header { flags, status, ..reply_header(&pending.header) }.seal(&mut frame);
		if is_kept(&pending, status) {
			client.answers.insert(key.1, frame.clone());
		}
		let relayed = change.map(|_| frame.clone()).unwrap_or_default();
		match pending.answered() {
			None => self.send_held(key, pending.connection, frame, held),
			Some(_) => self.free(key.0, held),
		}
		self.note_stale(key, &pending, status);
		self.change_ended(change, status, &relayed);
		self.resume_waiting_for_pool(); // another one is the oldest now
		if list_bytes > 0 {
			self.list_ends(key.0, list_bytes);
		}
		cut.into_iter().for_each(|(handle, size)| self.cut_ended(handle, size));
	}

	/// An answer before the request is done.
	pub fn answer_early(&mut self, key: Key, early: Early, status: u32, body: &[u8]) {
		let Some(client) = self.clients.get_mut(&key.0) else { return };
		let Some(pending) = client.find(key.1) else { return };
		let frame = Header { status, ..reply_header(&pending.header) }.frame(body);
		let connection = pending.connection;
		client.set_answered(key.1, Some(early));
		if early == Early::Accepted {
			self.count.accepted += 1;
			client.answers.insert(key.1, frame.clone());
		}
		self.send(connection, frame);
	}

	pub fn refuse_request(&mut self, number: u64, header: &Header, status: u32, what: &str) {
		let body = encode(&failure(what, (0, 0), Hints::default()));
		self.send(number, Header { status, ..reply_header(header) }.frame(&body));
	}

	/// A frame that breaks the protocol is refused, and its connection ends.
	pub fn protocol_error(&mut self, number: u64, header: Option<Header>, error: &WireError) {
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

	pub fn send(&mut self, number: u64, frame: Vec<u8>) {
		self.send_held((0, 0), number, frame, 0);
	}

	/// A frame that holds bytes of the pool, of a request.
	pub fn send_held(&mut self, key: Key, number: u64, frame: Vec<u8>, held: usize) {
		match self.connections.get_mut(&number) {
			Some(connection) => {
				connection.send(frame, held);
				self.flush(number);
			}
			None => self.free(key.0, held),
		}
	}
}

/// The path that a request is about, from the exported root, as far as it is known.
pub fn request_path(files: &mut Files, pending: &Pending) -> String {
	let relative = match &pending.request {
		Request::Lookup { path, .. } | Request::Open { path, .. } => Some(path),
		Request::Rename { path, .. } | Request::Link { path, .. } => Some(path),
		Request::Unlink { path, .. } | Request::Mkdir { path, .. } => Some(path),
		Request::Rmdir { path, .. } | Request::Symlink { path, .. } => Some(path),
		Request::Mknod { path, .. } => Some(path),
		_ => None,
	};
	let relative = relative.map(|path| String::from_utf8_lossy(&path.0)).unwrap_or_default();
	if relative.starts_with('/') {
		return relative.into_owned(); // it leads out, whatever the directory is
	}
	let path = files.get(&pending.handle).map(|file| file.path.clone()).unwrap_or_default();
	[path.as_str(), &*relative].join("/").trim_matches('/').to_owned()
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

/// Whether a repeat gets this very answer, or is begun anew: what was not done though it said where its file is, and a commit
/// that was late. What did not say it is begun by a repeat that does: not by one that comes late, when the client goes on.
fn is_kept(pending: &Pending, status: u32) -> bool {
	!(status == STALE && pending.hints.has(hint::FOUND_AT))
		&& changes(pending.header.op)
		&& !is_late_commit(pending)
		&& pending.answered() != Some(Early::Accepted)
}

/// A commit whose client waits for it no longer.
pub fn is_late_commit(pending: &Pending) -> bool {
	pending.header.op == op::COMMIT && pending.answered() == Some(Early::Late)
}

/// Whether a request changes something, so that it must not be done twice.
pub fn changes(op: u16) -> bool {
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
			| op::LOCKED
			| op::SEEK
			| op::GETXATTR
			| op::LISTXATTR
	)
}
