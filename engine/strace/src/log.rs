//! Logs of one run, whole: calls put together of their two parts, of all threads, in the order of what they did.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use fathom_import::shown;

use crate::calls::{OTHERS, UNKNOWN, place};
use crate::line::{self, Outcome, Timeless, What};
use crate::text;
use crate::{Counts, StraceError};

/// How a line of `strace -k` begins: who made the call above it.
const STACK: &[u8] = b" > ";

/// A system call that matters, or a thread's end.
#[derive(Debug, Clone)]
pub struct Event<'a> {
	pub tid: u32,
	pub began: u64,
	pub ended: u64,
	/// `name(arguments) = …`, empty: the thread is gone.
	pub text: Cow<'a, [u8]>,
	/// `None`: it was open when the thread or the log ended.
	pub outcome: Option<Outcome>,
}

impl Event<'_> {
	pub fn name(&self) -> &[u8] {
		line::name(&self.text).unwrap_or_default()
	}

	/// A new thread's calls come after the call that made it began, not after it ended.
	fn order(&self) -> u64 {
		let makes = matches!(self.name(), b"clone" | b"clone3" | b"fork" | b"vfork");
		if makes { self.began } else { self.ended }
	}
}

/// What a file is called and holds; `strace -ff` puts the thread at the name's end.
pub struct Log<'a> {
	pub path: &'a Path,
	pub data: &'a [u8],
}

impl Log<'_> {
	fn tid(&self) -> u32 {
		let name = self.path.extension().and_then(|end| end.to_str());
		name.and_then(|digits| digits.parse().ok()).unwrap_or(1)
	}
}

/// Events of all logs, in order.
pub fn events<'a>(logs: &[Log<'a>], counts: &mut Counts) -> Result<Vec<Event<'a>>, StraceError> {
	let mut all = Vec::new();
	for log in logs {
		let mut reader = Reader { open: HashMap::new(), last: 0, out: &mut all, counts };
		let whole = log.data.ends_with(b"\n") || log.data.is_empty();
		let mut lines = log
			.data
			.split(|&byte| byte == b'\n')
			.filter(|line| !line.is_empty() && !line.starts_with(STACK))
			.peekable();
		let mut understood = false;
		let mut timeless = Timeless::Unknown;
		while let Some(text) = lines.next() {
			let good = match reader.line(log.tid(), text) {
				Ok(good) => good,
				Err(why) => {
					timeless = if timeless == Timeless::Unknown { why } else { timeless };
					false
				}
			};
			understood |= good;
			let torn = !good && !whole && lines.peek().is_none();
			reader.counts.torn += u64::from(torn);
			reader.counts.refused += u64::from(!good && !torn);
		}
		reader.finish();
		if !understood && !log.data.is_empty() {
			return Err(StraceError::NoLog { path: shown(log.path), why: timeless.reason() });
		}
	}
	all.sort_by_key(Event::order);
	Ok(all)
}

struct Reader<'a, 'o> {
	/// By thread: when it began, and its first part.
	open: HashMap<u32, (u64, &'a [u8])>,
	last: u64,
	out: &'o mut Vec<Event<'a>>,
	counts: &'o mut Counts,
}

impl<'a> Reader<'a, '_> {
	/// Was it understood?
	fn line(&mut self, tid: u32, text: &'a [u8]) -> Result<bool, Timeless> {
		let parsed = line::line(text)?;
		let (tid, time) = (parsed.tid.unwrap_or(tid), parsed.time);
		self.last = self.last.max(time);
		match parsed.what {
			What::Call(text) => return Ok(self.call(tid, time, Cow::Borrowed(text), None)),
			What::Begins(text) => {
				self.open.insert(tid, (time, text));
			}
			What::Ends(rest) => {
				if let Some((began, text)) = self.open.remove(&tid) {
					let whole = [text, rest].concat();
					return Ok(self.call(tid, began, Cow::Owned(whole), Some(time)));
				}
				self.counts.refused += 1;
			}
			What::Gone => {
				self.left_open(tid, time);
				let text = Cow::Borrowed(&b""[..]);
				self.out.push(Event { tid, began: time, ended: time, text, outcome: None });
			}
			What::Other => {}
		}
		Ok(true)
	}

	/// `resumed`: when its second part was written, where it has two.
	fn call(&mut self, tid: u32, began: u64, text: Cow<'a, [u8]>, resumed: Option<u64>) -> bool {
		let Some(name) = line::name(&text) else { return true };
		if UNKNOWN.iter().any(|known| known.as_bytes() == name) {
			self.counts.unknown += 1;
			return true;
		}
		if place(name).is_none() && !OTHERS.iter().any(|known| known.as_bytes() == name) {
			return true;
		}
		if is_open(&text) {
			self.push_open(tid, began, text);
			return true;
		}
		let behind = name.len() + 1;
		let outcome = text::arguments(&text[behind..])
			.and_then(|(_, end)| line::outcome(&text[behind + end..]));
		let Some(outcome) = outcome else { return false };
		self.counts.untimed += u64::from(outcome.duration.is_none() && outcome.result.is_some());
		let ended =
			outcome.duration.map_or(resumed.unwrap_or(began), |time| began.saturating_add(time));
		self.out.push(Event { tid, began, ended, text, outcome: Some(outcome) });
		true
	}

	fn push_open(&mut self, tid: u32, began: u64, text: Cow<'a, [u8]>) {
		self.out.push(Event { tid, began, ended: began, text, outcome: None });
	}

	fn left_open(&mut self, tid: u32, time: u64) {
		let Some((began, text)) = self.open.remove(&tid) else { return };
		let Some(name) = line::name(text) else { return };
		if place(name).is_some() {
			let text = Cow::Borrowed(text);
			self.out.push(Event { tid, began, ended: time.max(began), text, outcome: None });
		}
	}

	fn finish(&mut self) {
		let mut left: Vec<u32> = self.open.keys().copied().collect();
		left.sort_unstable();
		left.into_iter().for_each(|tid| self.left_open(tid, self.last));
	}
}

/// `read(3,  <unfinished ...>) = ?`: the thread was killed in it.
fn is_open(text: &[u8]) -> bool {
	let mark = b"<unfinished ...>";
	let Some(at) = text.windows(mark.len()).rposition(|window| window == mark) else {
		return false;
	};
	let rest = text[at + mark.len()..].trim_ascii().strip_prefix(b")").map(<[u8]>::trim_ascii);
	rest.is_some_and(|rest| rest.starts_with(b"= ?"))
}
