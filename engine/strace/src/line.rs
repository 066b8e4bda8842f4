//! A line of a log: when, whose, and what.

use crate::text::{self, Descriptor};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
	/// Where the log has lines of several threads.
	pub tid: Option<u32>,
	/// Nanoseconds since 1970.
	pub time: u64,
	pub what: What<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What<'a> {
	/// `read(3</f>, "", 5) = 5 <0.000010>`
	Call(&'a [u8]),
	/// `read(3</f>, ` of `read(3</f>,  <unfinished ...>`
	Begins(&'a [u8]),
	/// `"", 5) = 5 <0.000010>` of `<... read resumed>"", 5) = 5 <0.000010>`
	Ends(&'a [u8]),
	/// `+++ exited with 0 +++`, `+++ killed by SIGKILL +++`
	Gone,
	/// A signal, or what strace says of itself.
	Other,
}

/// Why a line does not say when its call was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeless {
	/// `strace -r` without `-ttt`: since the line before.
	Relative,
	/// `strace -t`, `-tt`: of a day that is not known.
	OfDay,
	/// `--absolute-timestamps=format:unix`: too coarse for calls.
	WholeSeconds,
	/// `strace -c`: sums, no calls.
	Summary,
	/// No time, or no line of strace's at all.
	Unknown,
}

impl Timeless {
	pub fn reason(self) -> &'static str {
		match self {
			Timeless::Relative => "its times are those since the line before (strace -r)",
			Timeless::OfDay => {
				"its times are those of a day that it does not name (strace -t, -tt)"
			}
			Timeless::WholeSeconds => "its times are whole seconds",
			Timeless::Summary => "a summary (strace -c), without calls",
			Timeless::Unknown => "no line of strace with a time is in it",
		}
	}
}

/// No strace is as old: 10^8 seconds since 1970.
const LEAST: u64 = 100_000_000_000_000_000;

/// A line that strace writes with `-ttt`, whatever other options put into it.
pub fn line(line: &[u8]) -> Result<Line<'_>, Timeless> {
	let (tid, rest) = split_tid(line);
	let (time, rest) = moment(rest)?;
	Ok(Line { tid, time, what: what(rest) })
}

/// `28020 …` or `[pid 28020] …`, with the program's name by `-Y`: `28020<sh> …`. A time has a point.
fn split_tid(line: &[u8]) -> (Option<u32>, &[u8]) {
	let bracket = line.strip_prefix(b"[pid").map(<[u8]>::trim_ascii_start);
	let text = bracket.unwrap_or(line);
	let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
	let end: &[u8] = if bracket.is_some() { b"] " } else { b" " };
	let after = behind_name(&text[digits..], end);
	match (decimal(&text[..digits]).and_then(|tid| u32::try_from(tid).ok()), after) {
		(Some(tid), Some(rest)) => (Some(tid), rest.trim_ascii_start()),
		_ => (None, line),
	}
}

/// Behind `<name>`, if there is one, and `end`. A name may have any byte in it: the first time ends it.
fn behind_name<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
	if !text.starts_with(b"<") {
		return text.strip_prefix(end);
	}
	let close = [b">", end].concat();
	let ends = (0..text.len()).filter(|&at| text[at..].starts_with(&close));
	ends.map(|at| &text[at + close.len()..]).find(|rest| moment(rest) != Err(Timeless::Unknown))
}

/// `1795438042.112421 `, as nanoseconds, and what comes behind it.
fn moment(text: &[u8]) -> Result<(u64, &[u8]), Timeless> {
	let text = text.trim_ascii_start();
	if text.starts_with(b"% time ") {
		return Err(Timeless::Summary);
	}
	let end = text.iter().position(|&byte| byte == b' ').ok_or(Timeless::Unknown)?;
	let (word, rest) = (&text[..end], text[end..].trim_ascii_start());
	match nanoseconds(word) {
		Some(time) if time >= LEAST => Ok((time, behind_places(rest))),
		Some(_) => Err(Timeless::Relative),
		None if is_of_day(word) => Err(Timeless::OfDay),
		None if decimal(word).is_some() && name(rest).is_some() => Err(Timeless::WholeSeconds),
		None => Err(Timeless::Unknown),
	}
}

/// `12:30:01` or `12:30:01.5`
fn is_of_day(word: &[u8]) -> bool {
	word.len() >= 8
		&& word[..8].iter().enumerate().all(|(at, byte)| match at {
			2 | 5 => *byte == b':',
			_ => byte.is_ascii_digit(),
		})
}

/// Behind what `-r` (`(+     0.000051) `), `-n` (`[ 257] `) and `-i` (`[00007f87d6f33ad7] `) put before a call.
fn behind_places(mut text: &[u8]) -> &[u8] {
	for (open, close) in [(&b"(+"[..], b')'), (b"[", b']'), (b"[", b']')] {
		let end = text.iter().position(|&byte| byte == close);
		if let (true, Some(end)) = (text.starts_with(open), end) {
			text = text[end + 1..].trim_ascii_start();
		}
	}
	text
}

fn nanoseconds(text: &[u8]) -> Option<u64> {
	let point = text.iter().position(|&byte| byte == b'.')?;
	let (seconds, fraction) = (decimal(&text[..point])?, &text[point + 1..]);
	if fraction.is_empty() || fraction.len() > 9 {
		return None;
	}
	let scale = 10u64.pow(9 - fraction.len() as u32);
	seconds.checked_mul(1_000_000_000)?.checked_add(decimal(fraction)? * scale)
}

fn decimal(text: &[u8]) -> Option<u64> {
	let good = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
	good.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

fn what(text: &[u8]) -> What<'_> {
	if text.starts_with(b"+++ ") {
		return What::Gone;
	}
	if let Some(rest) = text.strip_prefix(b"<... ") {
		let resumed = b" resumed>";
		let place = rest.windows(resumed.len()).position(|window| window == resumed);
		return place.map_or(What::Other, |at| What::Ends(&rest[at + resumed.len()..]));
	}
	match text.strip_suffix(b"<unfinished ...>") {
		_ if name(text).is_none() => What::Other,
		Some(begin) => What::Begins(begin),
		None => What::Call(text),
	}
}

/// Of the system call: what is before the parenthesis.
pub fn name(text: &[u8]) -> Option<&[u8]> {
	let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
	(end > 0 && text[end] == b'(').then(|| &text[..end])
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
	/// `None`: it never returned (`= ?`).
	pub result: Option<i64>,
	pub descriptor: Option<Descriptor>,
	/// By its name: `ENOENT`, `ERESTARTSYS`.
	pub error: Option<Vec<u8>>,
	/// Nanoseconds, of `-T`.
	pub duration: Option<u64>,
}

/// What stands behind the closing parenthesis: `     = 3</f> <0.000010>`.
pub fn outcome(text: &[u8]) -> Option<Outcome> {
	let text = text.trim_ascii().strip_prefix(b"=")?.trim_ascii();
	let (text, duration) = duration(text);
	let end = if text.first() == Some(&b'?') { 1 } else { value_end(text) };
	let (value, rest) = text.split_at(end);
	let descriptor = text::descriptor(text).filter(|descriptor| descriptor.path.is_some());
	let result = match (own_pid(text), &descriptor) {
		(Some(pid), _) => Some(pid),
		(None, Some(descriptor)) => Some(descriptor.number),
		(None, None) if value == b"?" => None,
		(None, None) => Some(text::number(value)?),
	};
	let error = rest.trim_ascii_start();
	let letters = error.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
	let named = error.first() == Some(&b'E') && result.is_none_or(|result| result < 0);
	let error = named.then(|| error[..letters].to_vec());
	Some(Outcome { result, descriptor, error, duration })
}

/// What strace itself calls the process whose number another namespace gave: `4<sh> /* 1234 in strace's PID NS */`.
fn own_pid(text: &[u8]) -> Option<i64> {
	let note = text.strip_suffix(b" in strace's PID NS */")?;
	let from = note.iter().rposition(|&byte| byte == b' ')? + 1;
	text::number(&note[from..])
}

fn value_end(text: &[u8]) -> usize {
	text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count()
}

fn duration(text: &[u8]) -> (&[u8], Option<u64>) {
	let split = text.strip_suffix(b">").and_then(|inside| {
		let at = inside.iter().rposition(|&byte| byte == b'<')?;
		Some((text[..at].trim_ascii_end(), nanoseconds(&inside[at + 1..])?))
	});
	split.map_or((text, None), |(text, time)| (text, Some(time)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use proptest::prelude::*;

	#[test]
	fn lines_say_whose_they_are_in_each_way_of_strace() {
		for text in ["12 1795438042.000002 sync() = 0", "[pid    12] 1795438042.000002 sync() = 0"]
		{
			let parsed = line(text.as_bytes()).unwrap();
			assert_eq!((parsed.tid, parsed.time), (Some(12), 1_795_438_042_000_002_000));
			assert_eq!(parsed.what, What::Call(b"sync() = 0"));
		}
		assert_eq!(line(b"1795438042.5 sync() = 0").unwrap().tid, None);
	}

	#[test]
	fn other_options_put_words_before_a_call() {
		for text in [
			"12<sh> 1795438042.5 sync() = 0",
			"12<a> 12> 1795438042.5 sync() = 0",
			"[pid    12<a] b>] 1795438042.5 sync() = 0",
			"12 1795438042.5 (+     0.000051) [ 162] [00007f87d6f33ad7] sync() = 0",
			"12 1795438042.5 [????????????????] sync() = 0",
		] {
			let parsed = line(text.as_bytes()).unwrap();
			assert_eq!((parsed.tid, parsed.what), (Some(12), What::Call(b"sync() = 0")), "{text}");
		}
	}

	#[test]
	fn times_that_say_no_moment() {
		let why = |text: &str| line(text.as_bytes()).unwrap_err();
		assert_eq!(why("12      0.000051 sync() = 0"), Timeless::Relative);
		assert_eq!(why("12:30:01.5 sync() = 0"), Timeless::OfDay);
		assert_eq!(why("12 12:30:01 sync() = 0"), Timeless::OfDay);
		assert_eq!(why("12 1795438042 sync() = 0"), Timeless::WholeSeconds);
		assert_eq!(why("sync() = 0"), Timeless::Unknown);
		assert_eq!(why("12 sync() = 0"), Timeless::Unknown);
	}

	#[test]
	fn a_call_in_two_parts_and_what_is_no_call() {
		let of = |text: &'static str| {
			line(format!("1795438042.0 {text}").leak().as_bytes()).unwrap().what
		};
		assert_eq!(of("read(3,  <unfinished ...>"), What::Begins(b"read(3,  "));
		assert_eq!(of("<... read resumed>\"\", 5) = 0"), What::Ends(b"\"\", 5) = 0"));
		assert_eq!(of("+++ killed by SIGKILL +++"), What::Gone);
		assert_eq!(of("--- SIGCHLD {si_signo=SIGCHLD} ---"), What::Other);
	}

	#[test]
	fn outcomes_are_numbers_descriptors_errors_or_none() {
		let of = |text: &str| outcome(text.as_bytes()).unwrap();
		assert_eq!(of(" = 8589934592 <0.000010>").result, Some(1 << 33));
		assert_eq!(of(" = 8589934592 <0.000010>").duration, Some(10_000));
		assert_eq!(of(r" = 3</a\76> <1.5>").descriptor.unwrap().path.unwrap(), b"/a>");
		assert_eq!(of(" = -1 ENOENT (No such file or directory)").error.unwrap(), b"ENOENT");
		assert_eq!(of(" = 0x7f00").result, Some(0x7f00));
		assert_eq!(of(" = 12<sh> <0.1>").result, Some(12));
		assert_eq!(of(" = 4<sh> /* 12 in strace's PID NS */ <0.1>").result, Some(12));
		assert_eq!(of(" = 4 /* 12 in strace's PID NS */").result, Some(12));
		let open = of(" = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.1>");
		assert_eq!((open.result, open.error.unwrap()), (None, b"ERESTARTSYS".to_vec()));
		assert_eq!(of("     = ?").result, None);
	}

	proptest! {
		#[test]
		fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..80)) {
			let _ = (line(&text), outcome(&text), name(&text));
		}
	}
}
