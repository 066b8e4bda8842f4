//! The ends of the files that this server owns. What is asked while a journal is being written waits, is served and
//! written together, and is answered when it is there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_record::Purpose;
use fathom_wire::number::{limit, reserve};
use fathom_wire::{Extent, Gap, Handle, Reply, Wanted};
use rustix::io::Errno;

use crate::appends::ended;
use crate::auth::random;
use crate::clock;
use crate::data::is_tail;
use crate::done::Done;
use crate::journal::{Journal, JournalStore};
use crate::ledger::{Ledger, Line};
use crate::queue::Key;
use crate::server::Server;
use crate::store::Store;
use crate::trouble::Trouble;
use crate::{Map, Set};

/// A request to the owner of a file's end.
#[derive(Default, Clone)]
pub struct OwnerRequest {
	/// number::reserve.
	pub flags: u32,
	/// The file's size, as far as the asker knows.
	pub size: u64,
	/// What the owner had said when the asker looked.
	pub stamp: u64,
	pub wanted: Vec<Wanted>,
	/// What became of extents: ranges that are not written, and (errno 0) those that are done.
	pub outcomes: Vec<Gap>,
}

/// Who asks.
pub enum Asker {
	/// This server's appends to a file.
	Local(Handle),
	/// A truncation, which waits for its turn.
	Cut(Key),
	/// A truncation that is done, or not.
	CutDone(Key),
	/// Another server.
	Peer(Key),
	/// A client that wants the gaps from an offset on.
	Gaps(Key, u64),
	/// A client that repeats an append to a file that is not known: was it done?
	WhetherDone(Key),
	/// Nobody: another server is gone.
	Gone(u64),
	/// This server, which had no answer to this before.
	GivenUp(Handle, OwnerRequest),
}

impl Asker {
	/// Which server it is.
	fn server(&self) -> u64 {
		match self {
			Asker::Peer((server, _)) | Asker::Gone(server) => *server,
			_ => 0,
		}
	}
}

pub enum Answer {
	/// With the file's stamp.
	Offsets(Vec<u64>, u64),
	Gaps(Vec<Gap>, bool),
}

/// What was served and is answered once the journal has it.
pub struct Served {
	asker: Asker,
	wanted: Vec<Wanted>,
	/// Appends that it said have ended.
	ended: Vec<Key>,
	answer: Result<Answer, Errno>,
	/// It lets a file be truncated.
	begins_cut: Option<Key>,
	/// It hears that it was.
	ends_cut: bool,
}

/// Where an append is that has no extent.
pub const NOWHERE: u64 = u64::MAX;
/// How long new extents are held back for a truncation that waits for old ones, and how long then they are not.
const TURN: Duration = Duration::from_millis(500);

/// A file that is known anew has a stamp so much further on.
const STAMPS: u64 = 1 << 32;

/// A truncation.
struct Cut {
	key: Key,
	/// By which server.
	server: u64,
	since: Instant,
	/// Nothing is handed out until it is done.
	is_granted: bool,
}

impl Cut {
	/// New extents wait for it. Those that wait may be in the way of old ones, so they have turns.
	fn holds_back(&self) -> bool {
		let turns = clock::since(self.since).as_millis() / TURN.as_millis();
		self.is_granted || turns.is_multiple_of(2)
	}
}

/// A file whose end is this server's.
pub struct OwnedFile {
	/// None: the journal is not read yet.
	ledger: Option<Ledger>,
	journal: Arc<Journal>,
	/// Another one after each truncation: sizes that were seen before it count no more.
	stamp: u64,
	cut: Option<Cut>,
	/// Servers that append to it.
	askers: Set<u64>,
	waiting: Vec<(Asker, OwnerRequest)>,
	/// The journal is being read or written.
	busy: bool,
	/// It has lines that matter to nobody once nobody appends.
	used: bool,
	/// It lacks lines, as they could not be written: it is written anew with the next.
	lacks_lines: bool,
	/// The journal was there: until then somebody may come and repeat what it says.
	retained_until: Option<Instant>,
}

impl OwnedFile {
	fn serve(
		&mut self,
		asker: &Asker,
		request: &OwnerRequest,
		lines: &mut Vec<Line>,
	) -> Result<Answer, Errno> {
		let is_retained = self.is_retained();
		let ledger = self.ledger.get_or_insert_default();
		if let Asker::Gaps(_, from) = asker {
			let (gaps, more) = ledger.gaps(*from, limit::FAILED as usize);
			return Ok(Answer::Gaps(gaps, more));
		}
		if request.flags & reserve::ASKED != 0 {
			let offset = |wanted| ledger.done_at(wanted).unwrap_or(NOWHERE);
			let offsets = request.wanted.iter().map(offset).collect();
			return Ok(Answer::Offsets(offsets, self.stamp));
		}
		let server = asker.server();
		if let Asker::Gone(server) = asker {
			ledger.abandon(*server, lines);
			self.askers.remove(server);
			if self.cut.as_ref().is_some_and(|cut| cut.server == *server) {
				self.end_cut();
			}
		}
		let ledger = self.ledger.get_or_insert_default();
		request.outcomes.iter().for_each(|outcome| ledger.note_outcome(outcome, lines));
		if request.flags & reserve::CUT != 0 {
			return self.serve_cut(server, request, is_retained, lines);
		}
		let none = vec![NOWHERE; request.wanted.len()];
		if request.flags & reserve::GIVEN_UP != 0 {
			let keys = request.wanted.iter().map(|wanted| (wanted.client, wanted.seq));
			keys.for_each(|key| ledger.give_up(key, server, lines));
			return Ok(Answer::Offsets(none, self.stamp));
		}
		if request.wanted.iter().any(|wanted| wanted.length > u64::from(limit::DATA)) {
			return Err(Errno::MSGSIZE); // by whatever door it comes
		}
		if request.flags & reserve::LEFT != 0 {
			self.askers.remove(&server);
		} else if !request.wanted.is_empty() {
			self.askers.insert(server);
		}
		let is_cut = self.cut.as_ref().is_some_and(|cut| cut.is_granted);
		if is_cut || request.wanted.is_empty() || request.stamp != self.stamp {
			return Ok(Answer::Offsets(none, self.stamp));
		}
		ledger.size(request.size, lines);
		let held_back = self.cut.as_ref().is_some_and(Cut::holds_back);
		let mut take = |wanted| match held_back && !ledger.has(wanted) {
			true => Ok(NOWHERE),
			false => ledger.take(wanted, server, lines).ok_or(Errno::FBIG),
		};
		let offsets = request.wanted.iter().map(&mut take).collect::<Result<Vec<u64>, Errno>>()?;
		Ok(Answer::Offsets(offsets, self.stamp))
	}

	/// A truncation is asked for, or has ended. Offset 0: yes.
	fn serve_cut(
		&mut self,
		server: u64,
		request: &OwnerRequest,
		is_retained: bool,
		lines: &mut Vec<Line>,
	) -> Result<Answer, Errno> {
		let ledger = self.ledger.get_or_insert_default();
		let key = request.wanted.first().map(|wanted| (wanted.client, wanted.seq));
		let key = key.ok_or(Errno::INVAL)?;
		let flags = request.flags;
		if flags & (reserve::DONE | reserve::GIVEN_UP) != 0 {
			let ended = self.cut.take_if(|cut| cut.key == key && cut.server == server);
			let was_granted = ended.as_ref().is_some_and(|cut| cut.is_granted);
			if was_granted && flags & reserve::DONE != 0 {
				ledger.cut(request.size, lines);
			}
			if ended.is_some() {
				self.end_cut();
			}
			return Ok(self.yes_or_no(was_granted));
		}
		let others = ledger.is_busy() || self.askers.iter().any(|other| *other != server);
		if others && flags & reserve::SHARED == 0 {
			return Err(Errno::BUSY);
		}
		let new = || Cut { key, server, since: clock::now(), is_granted: false };
		let cut = self.cut.get_or_insert_with(new);
		if cut.key != key {
			return Ok(self.yes_or_no(false));
		}
		cut.server = server; // it may be asked again by way of another
		cut.is_granted |= !(ledger.is_busy() || (is_retained && ledger.may_be_busy()));
		let is_granted = cut.is_granted;
		if is_granted {
			ledger.begin_cut(request.size, lines);
		}
		Ok(self.yes_or_no(is_granted))
	}

	fn yes_or_no(&self, yes: bool) -> Answer {
		Answer::Offsets(vec![if yes { 0 } else { NOWHERE }], self.stamp)
	}

	fn end_cut(&mut self) {
		self.cut = None;
		self.stamp = self.stamp.wrapping_add(1);
	}

	/// All that waits, and what changed.
	fn serve_all(&mut self) -> (Vec<Served>, Vec<Line>) {
		let (mut served, mut lines) = (Vec::new(), Vec::new());
		for (asker, request) in std::mem::take(&mut self.waiting) {
			let cuts = request.flags & reserve::CUT != 0;
			let ends_cut = cuts && request.flags & (reserve::DONE | reserve::GIVEN_UP) != 0;
			let first = request.wanted.first().map(|wanted| (wanted.client, wanted.seq));
			let begins_cut = first.filter(|_| cuts && !ends_cut);
			let answer = self.serve(&asker, &request, &mut lines);
			let reserves = request.flags & (reserve::ASKED | reserve::GIVEN_UP | reserve::CUT) == 0;
			let wanted = if reserves { request.wanted } else { Vec::new() };
			let ended = ended(&request.outcomes).collect();
			served.push(Served { asker, wanted, ended, answer, begins_cut, ends_cut });
		}
		self.used |= !lines.is_empty();
		(served, lines)
	}

	/// The journal could not be written: what was to be handed out is a gap, no append has ended, as its client is told that it
	/// failed, and nothing is cut. What was cut stays so: the journal says that it may be.
	fn lose(&mut self, served: &mut [Served], errno: Errno) {
		for served in served {
			let ledger = self.ledger.get_or_insert_default();
			served.ended.iter().for_each(|key| ledger.reopen(*key));
			if served.ends_cut {
				continue;
			}
			let answer = std::mem::replace(&mut served.answer, Err(errno));
			if let Some(key) = served.begins_cut {
				if self.cut.take_if(|cut| cut.key == key).is_some() {
					self.end_cut();
				}
				continue;
			}
			let Ok(Answer::Offsets(offsets, _)) = answer else { continue };
			let ledger = self.ledger.get_or_insert_default();
			let placed = served.wanted.iter().zip(offsets).filter(|(_, at)| *at != NOWHERE);
			for (wanted, offset) in placed {
				let key = (wanted.client, wanted.seq);
				let extent = Extent { offset, length: wanted.length };
				ledger.lose(key, extent, errno, &mut Vec::new());
			}
		}
	}

	/// Since this server was started others have not had the time to say what they do.
	fn is_retained(&self) -> bool {
		self.retained_until.is_some_and(|until| clock::now() < until)
	}

	/// Nobody appends and nobody could repeat.
	fn is_over(&self) -> bool {
		let is_retained = self.is_retained() || self.cut.is_some();
		let busy = self.busy || self.ledger.as_ref().is_none_or(Ledger::is_busy);
		self.waiting.is_empty() && self.askers.is_empty() && !busy && !is_retained
	}
}

/// Files whose ends are known.
pub struct AppendOwner {
	files: Map<Handle, OwnedFile>,
	journals: Option<Arc<dyn JournalStore>>,
	/// The last first stamp of a file.
	stamp: u64,
}

impl AppendOwner {
	/// `journals`: where they are written; None: nothing outlives the server.
	pub fn new(journals: Option<Arc<dyn JournalStore>>) -> Result<AppendOwner, String> {
		let stamp = u64::from_le_bytes(random()?);
		Ok(AppendOwner { files: Map::default(), journals, stamp })
	}

	fn file(&mut self, id: Handle) -> &mut OwnedFile {
		let (journals, stamp) = (&self.journals, &mut self.stamp);
		self.files.entry(id).or_insert_with(|| OwnedFile {
			ledger: None,
			journal: Arc::new(Journal::of(journals.clone(), &id)),
			stamp: {
				*stamp = stamp.wrapping_add(STAMPS);
				*stamp
			},
			cut: None,
			askers: Set::default(),
			waiting: Vec::new(),
			busy: false,
			used: false,
			lacks_lines: false,
			retained_until: None,
		})
	}

	/// Of a file whose end is known here, as a client would be told of them.
	#[cfg(test)]
	pub fn gaps(&self, id: Handle) -> Option<Vec<Gap>> {
		let ledger = self.files.get(&id)?.ledger.as_ref()?;
		Some(ledger.gaps(0, usize::MAX).0)
	}

	/// How many files' ends are this server's, as far as they are asked for.
	pub fn len(&self) -> usize {
		self.files.len()
	}
}

impl Server {
	/// Queues a request to a file's end that this server owns.
	pub fn serve_as_owner(&mut self, id: Handle, asker: Asker, request: OwnerRequest) {
		let file = self.owner.file(id);
		file.waiting.push((asker, request));
		if file.ledger.is_some() {
			return self.advance(id);
		}
		if !std::mem::replace(&mut file.busy, true) {
			let journal = file.journal.clone();
			self.workers
				.give(Purpose::default(), Box::new(move |_| Done::Journal(id, journal.read())));
		}
	}

	pub fn journal_read(&mut self, id: Handle, read: Result<(Ledger, bool), Errno>) {
		let until = clock::now() + self.settings.lease;
		let file = self.owner.file(id);
		file.busy = false;
		match read {
			Ok((ledger, was_there)) => {
				file.retained_until = was_there.then_some(until);
				file.ledger = Some(ledger);
				self.advance(id);
			}
			Err(errno) => {
				let waiting = std::mem::take(&mut file.waiting);
				self.owner.files.remove(&id);
				let served = waiting.into_iter().map(|(asker, _)| asker);
				served.for_each(|asker| self.owner_answered(asker, Err(errno.into())));
			}
		}
	}

	/// Serve what waits, unless the journal is being written.
	fn advance(&mut self, id: Handle) {
		let Some(file) = self.owner.files.get_mut(&id) else { return };
		if file.busy || file.waiting.is_empty() {
			return self.settle(id);
		}
		let (served, lines) = file.serve_all();
		if lines.is_empty() {
			self.send_answers(served);
			return self.advance(id);
		}
		file.busy = true;
		let journal = file.journal.clone();
		let anew = journal.is_long() || file.lacks_lines;
		let whole = file.ledger.as_ref().filter(|_| anew).map(Ledger::lines);
		self.workers.give(
			Purpose::default(),
			Box::new(move |_| {
				let written = match whole {
					Some(whole) => journal.rewrite(&whole),
					None => journal.add(&lines),
				};
				Done::Journaled(id, served, written)
			}),
		);
	}

	pub fn journaled(&mut self, id: Handle, mut served: Vec<Served>, written: Result<(), Errno>) {
		let file = self.owner.file(id);
		file.busy = false;
		file.lacks_lines = written.is_err();
		if let Err(errno) = written {
			file.lose(&mut served, errno);
		}
		self.send_answers(served);
		self.advance(id);
	}

	fn send_answers(&mut self, served: Vec<Served>) {
		for Served { asker, answer, .. } in served {
			self.owner_answered(asker, answer.map_err(Into::into));
		}
	}

	/// A file that nobody appends to is forgotten; of its journal the gaps are kept.
	fn settle(&mut self, id: Handle) {
		let has_journals = self.owner.journals.is_some();
		let Some(file) = self.owner.files.get_mut(&id).filter(|file| file.is_over()) else {
			return;
		};
		let Some(ledger) = &mut file.ledger else { return };
		if !std::mem::take(&mut file.used) {
			if file.lacks_lines {
				return; // this server is all that has them
			}
			if has_journals || !ledger.settle() {
				self.owner.files.remove(&id);
			}
			return;
		}
		let lines = if ledger.settle() { ledger.lines() } else { Vec::new() };
		file.busy = true;
		let journal = file.journal.clone();
		let work = move |_: &Store| Done::Journaled(id, Vec::new(), journal.rewrite(&lines));
		self.workers.give(Purpose::default(), Box::new(work));
	}

	/// Another server is gone: what it was to write is not written.
	pub fn abandon_extents(&mut self, server: u64) {
		let files = self.owner.files.iter();
		let cuts = |file: &OwnedFile| file.cut.as_ref().is_some_and(|cut| cut.server == server);
		let affected = files.filter(|(_, file)| file.askers.contains(&server) || cuts(file));
		let affected: Vec<Handle> = affected.map(|(id, _)| *id).collect();
		affected
			.into_iter()
			.for_each(|id| self.serve_as_owner(id, Asker::Gone(server), OwnerRequest::default()));
	}

	/// The owner of a file's end, this server or another, has answered.
	pub fn owner_answered(&mut self, asker: Asker, answer: Result<Answer, Trouble>) {
		match (asker, answer) {
			(Asker::Local(handle), Ok(Answer::Offsets(offsets, stamp))) => {
				self.placed(handle, Ok((offsets, stamp)))
			}
			(Asker::Local(handle), Err(trouble)) => self.placed(handle, Err(trouble)),
			(Asker::WhetherDone(key), answer) => self.done_answered(key, answer),
			(Asker::GivenUp(handle, request), answer) => {
				self.given_up_answered(handle, request, answer.is_ok());
			}
			(Asker::Cut(key), answer) => self.truncation_answered(key, answer),
			(Asker::CutDone(key), answer) => self.truncation_known(key, answer),
			(Asker::Peer(key), Ok(Answer::Offsets(offsets, stamp))) => {
				self.answer(key, 0, &Reply::Reserve { stamp, offsets }, b"", 0);
			}
			(Asker::Gaps(key, _), Ok(Answer::Gaps(gaps, more))) => {
				self.answer(key, is_tail(more), &Reply::Gaps { gaps }, b"", 0);
			}
			(Asker::Peer(key) | Asker::Gaps(key, _), Err(trouble)) => {
				self.fail_with(key, trouble.status(), (0, 0), &trouble.why);
			}
			_ => {} // an asker gets the kind of answer it asked for
		}
	}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;

	#[test]
	fn an_end_that_was_not_journaled_is_in_no_later_journal() {
		let mut owner = AppendOwner::new(None).unwrap();
		let file = owner.file(Handle::default());
		let wanted = vec![Wanted { client: 1, seq: 1, length: 5, align: 1 }];
		let asked = OwnerRequest { stamp: file.stamp, wanted, ..OwnerRequest::default() };
		let last = Gap { client: 1, seq: 1, ..Gap::default() };
		let told = OwnerRequest { outcomes: vec![last], ..OwnerRequest::default() };
		file.waiting = vec![
			(Asker::Local(Handle::default()), asked),
			(Asker::Local(Handle::default()), told.clone()),
		];
		let is_done = |file: &OwnedFile| {
			let lines = file.ledger.as_ref().unwrap().lines();
			lines.contains(&Line::Done((1, 1)))
		};
		let mut served = file.serve_all().0.split_off(1);
		assert!(is_done(file));
		file.lose(&mut served, Errno::NOSPC);
		assert!(!is_done(file));
		file.waiting = vec![(Asker::Local(Handle::default()), told)];
		file.serve_all();
		assert!(is_done(file));
	}
}
