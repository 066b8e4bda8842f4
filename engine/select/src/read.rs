//! The TOML form: text in, three tables or one mistake out.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Mistake;

pub use crate::layers::LAYERS;
/// Tables, the lowest level first.
pub const LEVELS: [&str; 3] = ["job", "file", "call"];
const KEYS: &str = "layers, operations, programs, ranks, processes, files, code, time";
/// The word that stands for a whole selection, and of which processes are named so.
const CRITICAL: &str = "critical";
const COUNTED: &str = ":counted";
/// Ranks are 32 bits in a process.
const RANK_LIMIT: u64 = u32::MAX as u64;

/// Where in the program a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
	Lines { file: String, first: u32, last: u32 },
	Function(String),
	Region(String),
}

/// One table: what a call must be to match it. What is `None` or empty is not asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
	/// Bits of those that are recorded, and of those that are counted only.
	pub layers: Option<(u32, u32)>,
	pub reads: bool,
	pub writes: bool,
	pub programs: Vec<String>,
	pub ranks: Vec<String>,
	/// Only the processes that the agent finds critical.
	pub critical: bool,
	pub files: Vec<String>,
	/// With its line.
	pub code: Vec<(Place, usize)>,
	/// Nanoseconds since the process's start; the end `None`: for good.
	pub time: Option<(u64, Option<u64>)>,
	/// As the user wrote it, in one line.
	pub as_written: String,
}

/// Tables by level: job, file, call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
	pub tables: [Option<Table>; 3],
}

/// A byte of the text that is at fault.
struct At<'t> {
	text: &'t str,
}

type Entry<'v> = (&'v str, &'v Spanned<DeValue<'v>>);

impl At<'_> {
	fn line(&self, span: &Range<usize>) -> usize {
		let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
		1 + before.iter().filter(|&&byte| byte == b'\n').count()
	}

	fn fault<T>(&self, span: &Range<usize>, message: impl Into<String>) -> Result<T, Mistake> {
		Err(Mistake { line: self.line(span), message: message.into() })
	}
}

/// Reads a selection file's text.
pub fn read(text: &str) -> Result<Selection, Mistake> {
	let critical = "[file]\n[call]\nprocesses = \"critical\"\n";
	let text = if text.trim() == CRITICAL { critical } else { text };
	let at = At { text };
	let root = DeTable::parse(text).or_else(|error| {
		let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
		at.fault(&error.span().unwrap_or(0..0), message)
	})?;
	let mut selection = Selection::default();
	for (name, value) in root.get_ref().iter() {
		let span = name.span();
		let Some(level) = LEVELS.iter().position(|level| level == name.get_ref()) else {
			return at.fault(
				&span,
				format!("no table '{}'; there are [job], [file], [call]", shown(name.get_ref())),
			);
		};
		let DeValue::Table(table) = value.get_ref() else {
			let name = LEVELS[level];
			return at
				.fault(&span, format!("'{name}' is a table: write [{name}] in a line of its own"));
		};
		selection.tables[level] = Some(read_table(&at, LEVELS[level], table)?);
	}
	Ok(selection)
}

fn read_table(at: &At<'_>, level: &str, table: &DeTable<'_>) -> Result<Table, Mistake> {
	let mut out = Table::default();
	let mut written = Vec::new();
	for (key, value) in table.iter() {
		let entry = (key.get_ref().as_ref(), value);
		match entry.0 {
			"layers" => out.layers = Some(layers(at, level, entry)?),
			"operations" => (out.reads, out.writes) = operations(at, level, entry)?,
			"programs" => out.programs = globs(at, level, entry)?,
			"ranks" => out.ranks = ranks(at, level, entry)?,
			"processes" => out.critical = processes(at, level, entry)?,
			"files" => out.files = globs(at, level, entry)?,
			"code" => out.code = code(at, level, entry)?,
			"time" => out.time = Some(time(at, level, entry)?),
			other => {
				let other = shown(other);
				return at
					.fault(&key.span(), format!("{level}: no key '{other}'; there are {KEYS}"));
			}
		}
		let text = at.text.get(value.span()).unwrap_or("");
		written.push(format!(
			"{} = {}",
			entry.0,
			text.split_whitespace().collect::<Vec<_>>().join(" ")
		));
	}
	out.as_written = written.join(", ");
	Ok(out)
}

/// For a message of one line.
fn shown(text: &str) -> String {
	let mut out: String = text.chars().take(60).flat_map(char::escape_debug).collect();
	if text.chars().nth(60).is_some() {
		out.push('…');
	}
	out
}

/// One text, or a list of them; each with its place.
fn texts<'v>(
	at: &At<'_>,
	level: &str,
	(key, value): Entry<'v>,
) -> Result<Vec<(&'v str, Range<usize>)>, Mistake> {
	let wrong = |span: &Range<usize>| {
		at.fault(span, format!("{level}.{key}: a list of texts is wanted, as [\"…\", \"…\"]"))
	};
	let mut out = Vec::new();
	match value.get_ref() {
		DeValue::String(text) => out.push((text.as_ref(), value.span())),
		DeValue::Array(items) => {
			for item in items.iter() {
				let DeValue::String(text) = item.get_ref() else { return wrong(&item.span()) };
				out.push((text.as_ref(), item.span()));
			}
		}
		_ => return wrong(&value.span()),
	}
	if out.is_empty() {
		return at.fault(
			&value.span(),
			format!("{level}.{key}: the list is empty; leave the key out to ask for nothing"),
		);
	}
	for (text, span) in &out {
		if text.is_empty() || text.contains(['\n', '\r', '\0']) {
			return at.fault(span, format!("{level}.{key}: an entry is empty or has a line end"));
		}
	}
	Ok(out)
}

fn layers(at: &At<'_>, level: &str, entry: Entry<'_>) -> Result<(u32, u32), Mistake> {
	let (mut recorded, mut counted) = (0, 0);
	for (text, span) in texts(at, level, entry)? {
		let name = text.strip_suffix(COUNTED);
		let Some(number) = LAYERS.iter().position(|layer| *layer == name.unwrap_or(text)) else {
			let layers = LAYERS.join(", ");
			let text = shown(text);
			return at
				.fault(&span, format!("{level}.layers: no layer '{text}'; there are {layers}"));
		};
		*if name.is_some() { &mut counted } else { &mut recorded } |= 1 << number;
	}
	Ok((recorded, counted & !recorded))
}

fn operations(at: &At<'_>, level: &str, entry: Entry<'_>) -> Result<(bool, bool), Mistake> {
	let (mut reads, mut writes) = (false, false);
	for (text, span) in texts(at, level, entry)? {
		match text {
			"read" => reads = true,
			"write" => writes = true,
			"both" => (reads, writes) = (true, true),
			_ => {
				let text = shown(text);
				return at.fault(
					&span,
					format!("{level}.operations: '{text}' is none of read, write, both"),
				);
			}
		}
	}
	Ok((reads, writes))
}

fn globs(at: &At<'_>, level: &str, entry: Entry<'_>) -> Result<Vec<String>, Mistake> {
	Ok(texts(at, level, entry)?.into_iter().map(|(text, _)| text.to_owned()).collect())
}

fn processes(at: &At<'_>, level: &str, entry: Entry<'_>) -> Result<bool, Mistake> {
	for (text, span) in texts(at, level, entry)? {
		if text != CRITICAL {
			let text = shown(text);
			let message = format!("{level}.processes: '{text}' is not known; write \"{CRITICAL}\"");
			return at.fault(&span, message);
		}
	}
	Ok(true)
}

/// `N`, `N-M`, `N-M:STEP`, `first-on-node`, comma-separated.
fn ranks(at: &At<'_>, level: &str, entry: Entry<'_>) -> Result<Vec<String>, Mistake> {
	let mut out = Vec::new();
	if let DeValue::Integer(number) = entry.1.get_ref() {
		let text = number.as_str().to_owned();
		if number.radix() == 10 && is_rank(&text) {
			return Ok(vec![text]);
		}
	}
	for (text, span) in texts(at, level, entry)? {
		for item in text.split(',').map(str::trim) {
			if item != "first-on-node" && !is_rank(item) {
				let item = shown(item);
				return at.fault(
					&span,
					format!(
						"{level}.ranks: '{item}' is no rank; write 0, 0-63, 0-63:8 or first-on-node"
					),
				);
			}
			out.push(item.to_owned());
		}
	}
	Ok(out)
}

fn is_rank(item: &str) -> bool {
	let number = |text: &str| -> Option<u64> {
		let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
		digits.then(|| text.parse().ok()).flatten().filter(|&value| value < RANK_LIMIT)
	};
	let (range, step) = item.split_once(':').unwrap_or((item, "1"));
	let (first, last) = range.split_once('-').unwrap_or((range, range));
	match (number(first), number(last), number(step)) {
		(Some(first), Some(last), Some(step)) => first <= last && step > 0,
		_ => false,
	}
}

fn code(at: &At<'_>, level: &str, entry: Entry<'_>) -> Result<Vec<(Place, usize)>, Mistake> {
	let mut out = Vec::new();
	for (text, span) in texts(at, level, entry)? {
		let Some(place) = place(text) else {
			let text = shown(text);
			return at.fault(
				&span,
				format!(
					"{level}.code: '{text}' is no place; write FILE:LINE, FILE:LINE-LINE, \
					 FUNCTION() or region NAME"
				),
			);
		};
		out.push((place, at.line(&span)));
	}
	Ok(out)
}

fn place(text: &str) -> Option<Place> {
	if let Some(name) = text.strip_prefix("region ") {
		let name = name.trim();
		return (!name.is_empty()).then(|| Place::Region(name.to_owned()));
	}
	if let Some(name) = text.strip_suffix("()") {
		let name = name.trim();
		return (!name.is_empty()).then(|| Place::Function(name.to_owned()));
	}
	let (file, lines) = text.rsplit_once(':')?;
	let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
	let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
	let good = !file.is_empty() && !file.ends_with('/') && 0 < first && first <= last;
	good.then(|| Place::Lines { file: file.to_owned(), first, last })
}

/// `10-60`, `10-`, `-60`; seconds, also with a decimal point.
fn time(at: &At<'_>, level: &str, (key, value): Entry<'_>) -> Result<(u64, Option<u64>), Mistake> {
	let wrong = |text: &str| {
		let text = shown(text);
		at.fault(
			&value.span(),
			format!(
				"{level}.{key}: '{text}' is no window; write seconds since the process's start, as \
				 10-60, 10- or -60"
			),
		)
	};
	let DeValue::String(text) = value.get_ref() else {
		return wrong(at.text.get(value.span()).unwrap_or(""));
	};
	let Some((from, to)) = text.split_once('-') else { return wrong(text) };
	let (from, to) = (from.trim(), to.trim());
	let start = if from.is_empty() { Some(0) } else { nanoseconds(from) };
	let end = if to.is_empty() { Some(None) } else { nanoseconds(to).map(Some) };
	match (start, end) {
		(Some(start), Some(end))
			if (!from.is_empty() || !to.is_empty()) && end.is_none_or(|end| start < end) =>
		{
			Ok((start, end))
		}
		_ => wrong(text),
	}
}

/// Of seconds such as 10, 0.5; up to some centuries.
fn nanoseconds(text: &str) -> Option<u64> {
	let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
	let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
	if !digits(whole) || !digits(part) || whole.len() > 9 {
		return None;
	}
	let mut padded = part.get(..part.len().min(9))?.to_owned();
	while padded.len() < 9 {
		padded.push('0');
	}
	Some(whole.parse::<u64>().ok()? * 1_000_000_000 + padded.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	#[test]
	fn all_keys_are_read() {
		let text = r#"
			[job]
			[file]
			ranks = "0,8-63:8,first-on-node"
			[call]
			layers     = ["mpiio", "posix", "mpi:counted"]
			operations = "write"
			programs   = ["s3d*"]
			ranks      = 0
			files      = ["*.rst", "!*/tmp/*"]
			code       = ["restart.c:100-180", "write_restart()", "region checkpoint", "/a/b.f90:7"]
			time       = "10-60.25"
		"#;
		let selection = read(text).unwrap();
		assert_eq!(selection.tables[0], Some(Table::default()));
		let file = selection.tables[1].as_ref().unwrap();
		assert_eq!(file.ranks, ["0", "8-63:8", "first-on-node"]);
		let call = selection.tables[2].as_ref().unwrap();
		assert_eq!(call.layers, Some((3, 8)));
		assert_eq!((call.reads, call.writes), (false, true));
		assert_eq!(call.ranks, ["0"]);
		assert_eq!(call.time, Some((10_000_000_000, Some(60_250_000_000))));
		let lines = |file: &str, first, last| Place::Lines { file: file.to_owned(), first, last };
		let places: Vec<_> = call.code.iter().map(|(place, _)| place.clone()).collect();
		assert_eq!(
			places,
			[
				lines("restart.c", 100, 180),
				Place::Function("write_restart".to_owned()),
				Place::Region("checkpoint".to_owned()),
				lines("/a/b.f90", 7, 7),
			]
		);
	}

	/// One line each: where, what, and what there is instead.
	#[test]
	fn mistakes_name_line_and_choices() {
		for (text, line, says) in [
			("[job]\n[cal]\n", 2, "no table 'cal'; there are [job], [file], [call]"),
			("job = 1", 1, "'job' is a table"),
			(
				"[call]\nlayer = [\"posix\"]",
				2,
				"call: no key 'layer'; there are layers, operations",
			),
			(
				"[call]\nlayers = [\"posix\",\n\"mpoio\"]",
				3,
				"no layer 'mpoio'; there are posix, mpiio",
			),
			("[call]\nlayers = []", 2, "the list is empty"),
			("[call]\nlayers = 3", 2, "a list of texts is wanted"),
			(
				"[file]\noperations = \"open\"",
				2,
				"file.operations: 'open' is none of read, write, both",
			),
			("[job]\nranks = \"7-3\"", 2, "job.ranks: '7-3' is no rank; write 0, 0-63, 0-63:8"),
			("[job]\nranks = \"-1\"", 2, "is no rank"),
			("[job]\nranks = -1", 2, "a list of texts"),
			("[call]\ntime = \"60-10\"", 2, "call.time: '60-10' is no window; write seconds"),
			("[call]\nprocesses = 4711", 2, "a list of texts"),
			("[call]\nprocesses = \"all\"", 2, "call.processes: 'all' is not known; write"),
			("[call]\ntime = 10", 2, "call.time: '10' is no window"),
			("[call]\ntime = \"-\"", 2, "is no window"),
			(
				"[call]\ncode = [\"restart.c\"]",
				2,
				"call.code: 'restart.c' is no place; write FILE:LINE",
			),
			("[call]\ncode = [\"restart.c:9-3\"]", 2, "is no place"),
			("[call]\ncode = [\"()\"]", 2, "is no place"),
			("[call]\nfiles = [\"a\\nb\"]", 2, "an entry is empty or has a line end"),
			("[call]\nfiles = [\"\"]", 2, "an entry is empty or has a line end"),
			("[call]\n[call]\n", 2, "duplicate key"),
			("[call\n", 1, ""),
		] {
			let mistake = read(text).unwrap_err();
			assert_eq!(mistake.line, line, "{text}: {mistake}");
			assert!(mistake.message.contains(says), "{text}: {mistake}");
			assert!(!mistake.to_string().contains('\n'), "{mistake}");
		}
	}

	proptest! {
		#[test]
		fn any_text_is_read_or_refused_in_one_line(text in ".{0,200}") {
			if let Err(mistake) = read(&text) {
				prop_assert!(!mistake.to_string().contains('\n'));
				prop_assert!(mistake.line <= 1 + text.matches('\n').count());
			}
		}

		#[test]
		fn any_value_of_any_key_is_read_or_refused_in_one_line(
			key in "layers|operations|programs|ranks|processes|files|code|time",
			value in "\\[?\"[a-z0-9:!*. (),-]{0,20}\"\\]?|[0-9.]{1,9}|\\{\\}|true",
		) {
			if let Err(mistake) = read(&format!("[call]\n{key} = {value}\n")) {
				prop_assert!(!mistake.to_string().contains('\n'));
				prop_assert!((1..=3).contains(&mistake.line));
			}
		}

		#[test]
		fn ranks_as_written_are_taken(first in 0u32..9999, more in 0u32..9999, step in 1u32..99) {
			let list = format!("{first}, {first}-{}:{step}", first + more);
			let selection = read(&format!("[job]\nranks = \"{list}\"")).unwrap();
			prop_assert_eq!(selection.tables[0].as_ref().unwrap().ranks.join(", "), list);
		}
	}
}
