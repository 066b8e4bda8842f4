//! The state of a client: its requests, its replies, and failed ranges that are not reported to it yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use fathom_record::Moment;
use fathom_wire::number::{limit, op};
use fathom_wire::{Extent, Failed, Handle, Header, Hints, Reply, Request};

use crate::clock;
use crate::found_again::Waiting;
use crate::plugin_ops::PluginCall;
use crate::pulls::Pulls;
use crate::remote_locks::{Relaying, RemoteLocks};
use crate::trouble::{STALE, Trouble};
use crate::{Map, Set};

/// Most failed ranges that are kept apart; beyond, one of the whole file stands for them.
const LEDGER: usize = 1 << 16;

#[derive(Default)]
pub struct Client {
	/// What its first connection showed.
	pub key: Option<[u8; 16]>,
	pub name: String,
	pub highest: u64,
	/// Frames of the answers that a retry may ask for again.
	pub answers: BTreeMap<u64, Vec<u8>>,
	pending: Map<u64, Pending>,
	/// How many of them have no answer.
	unanswered: usize,
	pub held: Map<Handle, u32>,
	pub connections: u32,
	/// Bytes that its requests' lists of pieces take.
	pub list_bytes: usize,
	/// Requests that wait for a lock.
	pub parked: BTreeSet<u64>,
	/// Its locks on files of other servers.
	pub remote_locks: RemoteLocks,
	/// Another server, as its hello says.
	pub is_server: bool,
	/// It has asked for what only servers ask.
	pub is_peer: bool,
	/// Files of one of its requests are looked for; those that came after it wait.
	pub is_finding: bool,
	pub behind: VecDeque<(u64, Waiting)>,
	/// Requests that were told that their file is not known: they will come again with its path, before others on it.
	stale: BTreeSet<(Handle, u64)>,
	/// Files of which it has said where they are.
	named: Set<Handle>,
	/// Since when it has none.
	pub idle_since: Option<Instant>,
	ledger: Vec<Failed>,
	/// The last commit that was answered with some.
	told_by: Option<u64>,
}

impl Client {
	/// A new request.
	pub fn begin(&mut self, seq: u64, pending: Pending) {
		self.unanswered += usize::from(pending.answered.is_none());
		self.pending.insert(seq, pending);
	}

	/// A request is done.
	pub fn end(&mut self, seq: u64) -> Option<Pending> {
		let pending = self.pending.remove(&seq)?;
		self.unanswered -= usize::from(pending.answered.is_none());
		Some(pending)
	}

	/// What answer a request has that goes on.
	pub fn set_answered(&mut self, seq: u64, early: Option<Early>) {
		let Some(pending) = self.pending.get_mut(&seq) else { return };
		self.unanswered -= usize::from(pending.answered.is_none());
		self.unanswered += usize::from(early.is_none());
		pending.answered = early;
	}

	pub fn find(&mut self, seq: u64) -> Option<&mut Pending> {
		self.pending.get_mut(&seq)
	}

	/// A request on a file that is not known will come again, or does.
	pub fn set_stale(&mut self, handle: Handle, seq: u64, is_stale: bool) {
		if is_stale {
			self.stale.insert((handle, seq));
		} else {
			self.stale.remove(&(handle, seq));
		}
	}

	/// Requests on that file will come again that are older than what comes now.
	pub fn is_stale(&self, handle: Handle) -> bool {
		self.stale.range((handle, 0)..=(handle, u64::MAX)).next().is_some()
	}

	/// A request on that file says where it is: it has come again.
	pub fn comes_again(&mut self, handle: Handle, seq: u64) {
		self.named.insert(handle);
		self.set_stale(handle, seq, false);
	}

	/// It has asked for the file itself, by that request: if it does not say where the file is, it goes on from there.
	pub fn knows_anew(&mut self, handle: Handle, seq: u64) {
		if !self.named.contains(&handle) {
			self.stale.retain(|(stale, told)| *stale != handle || *told > seq);
		}
	}

	/// A request waits, in order of seq: one that comes again may do so after later ones.
	pub fn wait_behind(&mut self, seq: u64, waiting: Waiting) {
		let at = self.behind.partition_point(|(other, _)| *other < seq);
		self.behind.insert(at, (seq, waiting));
	}

	/// What comes must not pass what came before.
	pub fn keeps_order(&self) -> bool {
		self.is_finding || !self.stale.is_empty()
	}

	/// Nobody may ask for these any more.
	pub fn forget_answers(&mut self, last: u64) {
		self.stale.retain(|(_, seq)| *seq > last);
		while self.answers.first_key_value().is_some_and(|(seq, _)| *seq <= last) {
			self.answers.pop_first();
		}
	}

	/// It comes again and says where its file is.
	pub fn forget_stale(&mut self, seq: u64) {
		let frame = self.answers.get(&seq).and_then(|frame| frame.first_chunk());
		let header = frame.and_then(|bytes| Header::decode(bytes).ok());
		if header.is_some_and(|header| header.status == STALE) {
			self.answers.remove(&seq);
		}
	}

	/// Its locks are gone: replies that granted one are not sent again.
	pub fn forget_locks(&mut self) {
		self.answers.retain(|_, frame| frame[6..8] != op::LOCK.to_le_bytes());
	}

	/// Requests that are not done.
	pub fn pending(&self) -> &Map<u64, Pending> {
		&self.pending
	}

	pub fn unanswered(&self) -> usize {
		self.unanswered
	}

	/// A range of an answered write that failed.
	pub fn failed(&mut self, failed: Failed) {
		if self.ledger.len() < LEDGER {
			return self.ledger.push(failed);
		}
		let whole = |f: &Failed| f.handle == failed.handle && f.length == i64::MAX as u64;
		if !self.ledger.iter().any(whole) {
			self.ledger.push(Failed { offset: 0, length: i64::MAX as u64, ..failed });
		}
	}

	/// Failures that it was not told of, or by an answer that it may not have: it has all that are older than its window.
	pub fn may_not_know(&self) -> bool {
		let window = u64::from(limit::WINDOW);
		!self.ledger.is_empty() || self.told_by.is_some_and(|seq| self.highest < seq + window)
	}

	/// For a commit: takes failed ranges of a file (the root's handle: of all files) that are not reported yet: at most `most`,
	/// and whether more are left.
	pub fn take_failures(&mut self, seq: u64, handle: Handle, most: usize) -> (Vec<Failed>, bool) {
		let selects = |f: &Failed| handle == Handle::ROOT || f.handle == handle;
		let (selected, others): (Vec<_>, Vec<_>) = self.ledger.drain(..).partition(selects);
		let mut selected = selected.into_iter();
		let now: Vec<Failed> = selected.by_ref().take(most).collect();
		if !now.is_empty() {
			self.told_by = Some(seq);
		}
		let later: Vec<_> = selected.collect();
		let more = !later.is_empty();
		self.ledger = later.into_iter().chain(others).collect();
		(now, more)
	}

	pub fn unreported(&self) -> &[Failed] {
		&self.ledger
	}
}

/// When a request arrived, by our clock and by that of the trace.
#[derive(Clone, Copy)]
pub struct Arrival {
	pub at: Instant,
	pub traced: Moment,
}

impl Arrival {
	pub fn now() -> Arrival {
		Arrival { at: clock::now(), traced: fathom_record::now() }
	}
}

/// A request that is not done.
pub struct Pending {
	pub header: Header,
	pub request: Request,
	pub hints: Hints,
	/// Where its answer goes: the connection that last sent it.
	pub connection: u64,
	pub handle: Handle,
	/// The file that an open or lookup resolved to.
	pub resolved: Option<Handle>,
	pub arrived: Arrival,
	/// When the store was first asked for it.
	pub begun: Option<Instant>,
	pub due: Instant,
	answered: Option<Early>,
	/// It cuts its file: appends that come after it get their extents after it.
	pub cuts: bool,
	/// To that size.
	pub cut_to: u64,
	pub doing: Doing,
}

impl Pending {
	pub fn new(
		header: Header,
		request: Request,
		hints: Hints,
		connection: u64,
		arrived: Arrival,
		due: Instant,
	) -> Pending {
		Pending {
			header,
			request,
			hints,
			connection,
			handle: Handle::ROOT,
			resolved: None,
			arrived,
			begun: None,
			due,
			answered: None,
			cuts: false,
			cut_to: 0,
			doing: Doing::Simple,
		}
	}

	/// The client has an answer: accepted, or that it took too long.
	pub fn answered(&self) -> Option<Early> {
		self.answered
	}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Early {
	Accepted,
	Late,
}

pub enum Doing {
	/// One piece of work, or waiting for its turn.
	Simple,
	/// An open that truncates: what will be answered.
	Truncating(Box<Reply>),
	/// The file is truncated, and its end's owner told so: what will be answered.
	Truncated(Result<Box<Reply>, Trouble>),
	/// The path resolved to a file with unfinished writes: what will be answered, with its attributes after them.
	AwaitingWrites(Box<Reply>),
	Reading(Reading),
	Writing(Writing),
	/// An operation of a plug-in.
	PluginCall(PluginCall),
	/// An append to a file that is not known; the owner of its end is asked whether it was done.
	Unknown((Vec<u8>, usize)),
	/// Waiting for a lock.
	Locking,
	/// The same, of a lock that another server keeps.
	Relaying(Relaying),
	/// Of several files: how many are not done.
	Committing(usize),
}

#[derive(Default)]
pub struct Reading {
	pub lengths: Vec<u64>,
	/// Extent and position in it where reading goes on.
	pub next: (usize, u64),
	pub sent: u64,
	pub large: bool,
	/// No block is waited for.
	pub direct: bool,
}

impl Reading {
	/// So much was asked for and read of the parts from `next` on.
	pub fn advance(&mut self, extents: &[Extent], parts: &[(u64, u64)]) {
		for (requested, bytes) in parts {
			let (at, within) = self.next;
			self.lengths[at] += bytes;
			// an extent of which a part was asked for goes on with the next part, unless the file has ended
			let more = within + bytes < extents[at].length && bytes == requested;
			self.next = if more { (at, within + bytes) } else { (at + 1, 0) };
		}
	}
}

#[derive(Default)]
pub struct Writing {
	/// Where the data goes; of an append known once its extent is reserved.
	pub extents: Vec<Extent>,
	pub total: u64,
	/// Bytes asked for and bytes that have come.
	pub pulled: u64,
	pub got: u64,
	pub pulls: Pulls,
	/// Bytes of the pool that the pull which is under way holds.
	pub reserved: usize,
	/// Bytes written or failed.
	pub done: u64,
	pub failed: Vec<(Extent, u32)>,
	/// Why the first of them did.
	pub why: Option<String>,
	pub append: bool,
	pub offset: Option<u64>,
	/// The append is written or has failed, and its owner is being told.
	pub ended: bool,
	/// There was no room in the pool at once: it is not answered before it is written.
	pub waited: bool,
	/// Data came before the extent was known.
	pub early: Option<(Vec<u8>, usize)>,
}

impl Writing {
	/// These ranges are not written.
	pub fn fail(&mut self, failed: Vec<(Extent, Trouble)>) {
		for (extent, trouble) in failed {
			self.failed.push((extent, trouble.status()));
			self.why.get_or_insert(trouble.why);
		}
	}

	/// The part of the extents that bytes `at .. at + length` of the data go to.
	pub fn slice(&self, at: u64, length: u64) -> Vec<Extent> {
		let (mut skip, mut left) = (at, length);
		let mut out = Vec::new();
		for extent in &self.extents {
			let skipped = skip.min(extent.length);
			skip -= skipped;
			let taken = (extent.length - skipped).min(left);
			left -= taken;
			if taken > 0 {
				out.push(Extent { offset: extent.offset + skipped, length: taken });
			}
		}
		out
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn a_part_of_the_data_goes_to_its_part_of_the_extents() {
		let extents = [(100, 10), (0, 5), (50, 20)];
		let extents = extents.map(|(offset, length)| Extent { offset, length }).to_vec();
		let writing = Writing { extents, ..Writing::default() };
		let part = writing.slice(8, 10).iter().map(|e| (e.offset, e.length)).collect::<Vec<_>>();
		assert_eq!(part, [(108, 2), (0, 5), (50, 3)]);
	}

	#[test]
	fn requests_without_an_answer_are_counted() {
		let mut client = Client::default();
		let request = |seq| {
			let header = Header { seq, ..Header::default() };
			let (hints, now) = (Hints::default(), Arrival::now());
			Pending::new(header, Request::Ping {}, hints, 16, now, now.at)
		};
		(1..=3).for_each(|seq| client.begin(seq, request(seq)));
		client.set_answered(1, Some(Early::Accepted));
		client.set_answered(2, Some(Early::Late));
		assert_eq!(client.unanswered(), 1);
		client.set_answered(2, None); // asked again
		client.set_answered(2, None);
		assert_eq!(client.unanswered(), 2);
		assert!((1..=3).all(|seq| client.end(seq).is_some()) && client.end(3).is_none());
		assert_eq!((client.unanswered(), client.pending().len()), (0, 0));
	}

	#[test]
	fn errors_are_told_once_and_never_lost() {
		let mut client = Client::default();
		let handle = Handle([1; 32]);
		for seq in 0..LEDGER as u64 + 10 {
			client.failed(Failed { handle, seq, offset: seq, length: 1, errno: 28 });
		}
		client.failed(Failed { handle: Handle([2; 32]), seq: 0, offset: 0, length: 1, errno: 5 });
		let mut total = 0;
		loop {
			let (some, more) = client.take_failures(1, handle, 1000);
			total += some.len();
			if !more {
				break;
			}
		}
		assert_eq!(total, LEDGER + 1);
		assert_eq!(client.take_failures(2, Handle::ROOT, 10).0.len(), 1);
	}
}
