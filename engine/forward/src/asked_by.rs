//! Whose request is done, where another server is asked to do it: that one answers a change of names once for each request of
//! a client, by whatever server it is asked, and however often.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use fathom_wire::number::{flag, hint, limit, op, status};
use fathom_wire::{HEADER, Header, Hints, Reply, Request};

use crate::done::Done;
use crate::names::hold;
use crate::queue::Key;
use crate::server::Server;
use crate::store::Store;
use crate::trouble::STALE;
use crate::workers::Work;

/// Answers that are kept for as many requests, beyond those that their clients may repeat as long as they go on.
const MOST: usize = 1 << 17;

thread_local! {
	/// What this thread does now: as the calls that an access serves, it is not of the operations on stores.
	static ASKED_BY: Cell<Option<Key>> = const { Cell::new(None) };
}

/// Hints of a request to another server that is done for a client.
pub fn hints() -> Hints {
	let Some((client, seq)) = ASKED_BY.get() else { return Hints::default() };
	Hints::default().with(hint::ASKED_BY, &[client.to_le_bytes(), seq.to_le_bytes()].concat())
}

/// As a hint says it.
fn parse(hints: &Hints) -> Option<Key> {
	let (client, seq) = hints.value(hint::ASKED_BY)?.split_first_chunk()?;
	Some((u64::from_le_bytes(*client), u64::from_le_bytes(seq.try_into().ok()?)))
}

/// A change of names, of a client of another server.
type Change = (Key, u16);

enum Outcome {
	/// Not known yet; those who have asked again.
	Awaited(Vec<Key>),
	/// The frame of its answer.
	Known(Vec<u8>),
}

/// Changes of names that other servers have asked for.
#[derive(Default)]
pub struct Relayed {
	outcomes: BTreeMap<Change, Outcome>,
	/// The oldest first.
	order: VecDeque<Change>,
}

impl Relayed {
	/// It begins; what nobody can ask for again is forgotten: that, and all of it beyond what is kept.
	fn begin(&mut self, change: Change) -> Vec<Key> {
		let (client, seq) = change.0;
		let oldest = seq.saturating_sub(u64::from(limit::WINDOW));
		let old = self.outcomes.range(((client, 0), 0)..((client, oldest), 0));
		let mut old: Vec<Change> = old.map(|(change, _)| *change).collect();
		self.order.push_back(change);
		while self.order.len() > MOST {
			old.extend(self.order.pop_front());
		}
		old.retain(|change| matches!(self.outcomes.get(change), Some(Outcome::Known(_))));
		old.iter().for_each(|change| drop(self.outcomes.remove(change)));
		self.outcomes.insert(change, Outcome::Awaited(Vec::new()));
		old.into_iter().map(|(key, _)| key).collect()
	}

	/// It has ended; who waits for that. What was not begun, as its file is not known, is asked for again.
	fn end(&mut self, change: Change, status: u32, frame: &[u8]) -> Vec<Key> {
		let known = (status != STALE).then(|| Outcome::Known(frame.to_vec()));
		let before = match known {
			Some(known) => self.outcomes.insert(change, known),
			None => self.outcomes.remove(&change),
		};
		match before {
			Some(Outcome::Awaited(waiting)) => waiting,
			_ => Vec::new(),
		}
	}
}

impl Server {
	/// The client's request that this is: as another server says, or this one itself.
	pub fn origin(&mut self, key: Key) -> (Key, bool) {
		let is_server = self.clients.get(&key.0).is_some_and(|client| client.is_server);
		let hints = self.pending(key).filter(|_| is_server).map(|pending| &pending.hints);
		let origin = hints.and_then(parse);
		(origin.unwrap_or(key), origin.is_some())
	}

	/// Work on the store that is done for a request.
	pub fn for_origin(&mut self, key: Key, work: Work<Done>) -> Work<Done> {
		let (origin, _) = self.origin(key);
		Box::new(move |store: &Store| {
			ASKED_BY.set(Some(origin));
			let done = work(store);
			ASKED_BY.set(None);
			done
		})
	}

	/// A change of names that another server asks for, if this is one.
	fn change_of(&mut self, key: Key) -> Option<Change> {
		let (origin, is_relayed) = self.origin(key);
		let op = self.pending(key).map(|pending| pending.header.op)?;
		(is_relayed && op != op::SETATTR).then_some((origin, op))
	}

	/// It is done already, or under way: then it is not begun.
	pub fn is_known_change(&mut self, key: Key) -> bool {
		let Some(change) = self.change_of(key) else { return false };
		match self.relayed.outcomes.get_mut(&change) {
			None => {
				for old in self.relayed.begin(change) {
					self.intents.iter().for_each(|intents| intents.forget_one(old));
				}
				return false;
			}
			Some(Outcome::Awaited(waiting)) => waiting.push(key),
			Some(Outcome::Known(frame)) => {
				let frame = frame.clone();
				self.answer_change(key, frame);
			}
		}
		true
	}

	/// What the first doing of it gave.
	fn answer_change(&mut self, key: Key, frame: Vec<u8>) {
		let header = frame.first_chunk().and_then(|bytes| Header::decode(bytes).ok());
		let (Some(header), Some(body)) = (header, frame.get(HEADER..)) else { return };
		if let (status::OK, Ok((Reply::Open { handle, .. }, ..))) =
			(header.status, Reply::decode(header.op, body))
		{
			hold(self, key.0, handle);
		}
		let crc = self.pending(key).map_or(0, |p| p.header.flags & flag::BODY_CRC);
		self.end(key, header.flags & !flag::BODY_CRC | crc, header.status, frame, 0);
	}

	/// The answer to a change is known.
	pub fn change_ended(&mut self, change: Option<Change>, status: u32, frame: &[u8]) {
		let Some(change) = change else { return };
		for key in self.relayed.end(change, status, frame) {
			self.answer_change(key, frame.to_vec());
		}
	}

	/// Whether a request that ends is a change which others may ask for again.
	pub fn ending_change(&mut self, key: Key) -> Option<Change> {
		if self.relayed.outcomes.is_empty() {
			return None;
		}
		let change = self.change_of(key)?;
		matches!(self.relayed.outcomes.get(&change), Some(Outcome::Awaited(_))).then_some(change)
	}

	/// The owner of the file's end has granted this to the server that asks.
	pub fn is_granted(&mut self, key: Key) -> bool {
		let is_relayed = self.origin(key).1;
		is_relayed
			&& matches!(
				self.pending(key).map(|pending| &pending.request),
				Some(Request::SetAttr { .. })
			)
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_a_client_can_repeat_is_known_and_what_it_cannot_is_not() {
		let mut relayed = Relayed::default();
		for seq in 1..=500 {
			let change = ((7, seq), op::MKDIR);
			relayed.begin(change);
			assert!(relayed.end(change, 0, b"").is_empty());
		}
		let known = |seq| relayed.outcomes.contains_key(&((7, seq), op::MKDIR));
		assert!((500 - u64::from(limit::WINDOW)..=500).all(known));
		assert!(relayed.outcomes.len() <= limit::WINDOW as usize + 2);
	}

	#[test]
	fn of_many_clients_the_oldest_answers_go() {
		let mut relayed = Relayed::default();
		for client in 1..=MOST as u64 + 10 {
			relayed.begin(((client, 1), op::MKDIR));
			relayed.end(((client, 1), op::MKDIR), 0, b"");
		}
		assert!(relayed.outcomes.len() <= MOST && relayed.order.len() <= MOST);
		assert!(!relayed.outcomes.contains_key(&((1, 1), op::MKDIR)));
	}

	#[test]
	fn who_asks_while_it_is_done_waits_and_what_was_not_begun_is_asked_again() {
		let (mut relayed, change) = (Relayed::default(), ((7, 1), op::LINK));
		relayed.begin(change);
		if let Some(Outcome::Awaited(waiting)) = relayed.outcomes.get_mut(&change) {
			waiting.push((9, 9));
		}
		assert_eq!(relayed.end(change, STALE, b""), [(9, 9)]);
		assert!(relayed.outcomes.is_empty());
	}
}
