//! What a process told of code that it made while it ran: a copy of its `/tmp/perf-PID.map`, whose lines are begin and
//! bytes of a piece of code, hexadecimal, and its name. Anybody may have written it.

use std::collections::HashMap;
use std::path::Path;
use std::{fs, io, io::Read as _};

use crate::define::{ScriptLine, text};

const MOST_BYTES: u64 = 1 << 28;
/// Lines may claim to hold the same addresses, over and over.
const MOST_HITS: usize = 1 << 24;
const LONGEST_NAME: usize = 4096;
/// How files begin in names.
const FILES: [&str; 3] = [" /", " file:", " node:"];

/// What is around each of these return addresses, in ascending order. Memory is used again: an address of which the map
/// tells two things is not known.
pub fn names(map: &Path, addresses: &[u64]) -> io::Result<HashMap<u64, ScriptLine>> {
	let mut data = Vec::new();
	fs::File::open(map)?.take(MOST_BYTES).read_to_end(&mut data)?;
	Ok(named(&data, addresses))
}

fn named(map: &[u8], addresses: &[u64]) -> HashMap<u64, ScriptLine> {
	let mut names: HashMap<u64, Option<ScriptLine>> = HashMap::new();
	let mut hits = 0;
	for (begin, end, name) in map.split(|&byte| byte == b'\n').filter_map(entry) {
		// A call that ends a piece of code returns behind it.
		let first = addresses.partition_point(|&address| address <= begin);
		let inside = addresses[first..].iter().take_while(|&&address| address <= end);
		for &address in inside {
			hits += 1;
			let one = described(&text(&name[..name.len().min(LONGEST_NAME)]));
			let known = names.entry(address).or_insert_with(|| Some(one.clone()));
			if known.as_ref() != Some(&one) {
				*known = None;
			}
		}
		if hits > MOST_HITS {
			break;
		}
	}
	names.into_iter().filter_map(|(address, name)| Some((address, name?))).collect()
}

fn entry(line: &[u8]) -> Option<(u64, u64, &[u8])> {
	let mut words = line.splitn(3, |&byte| byte == b' ');
	let mut number = || {
		let word = str::from_utf8(words.next()?).ok()?;
		u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
	};
	let (begin, bytes) = (number()?, number()?);
	Some((begin, begin.saturating_add(bytes), words.next()?))
}

/// V8 writes `JS:*name file:line:column`, HotSpot `type Class.method(types)`.
fn described(name: &str) -> ScriptLine {
	let of_a_file = || -> Option<ScriptLine> {
		let (rest, column) = name.rsplit_once(':')?;
		let (rest, line) = rest.rsplit_once(':')?;
		column.parse::<u32>().ok()?;
		let line = line.parse().ok()?;
		// Both may have blanks in them: "get value /home/me/my app.js".
		let file = FILES.iter().filter_map(|begin| rest.find(begin)).min();
		let (function, file) = rest.split_at_checked(file.or_else(|| rest.rfind(' '))?)?;
		let file = file.trim_start().trim_start_matches("file://");
		let function = without_stage(function.split_once(':')?.1);
		Some(ScriptLine {
			source: file.to_owned(),
			line: if file.is_empty() { 0 } else { line },
			function: if function.is_empty() { "(anonymous)" } else { function }.to_owned(),
		})
	};
	of_a_file().unwrap_or_else(|| {
		let arguments = name.find('(').unwrap_or(name.len());
		let begin = name[..arguments].trim_end().rfind(' ').filter(|_| arguments < name.len());
		ScriptLine {
			function: name[begin.map_or(0, |at| at + 1)..].to_owned(),
			..ScriptLine::default()
		}
	})
}

/// How far V8 has compiled a function is none of its name.
fn without_stage(function: &str) -> &str {
	let stage = |it: &&str| it.starts_with(['+', '*']);
	let function = function.strip_prefix('o').filter(stage).unwrap_or(function);
	function.strip_prefix(['~', '^', '+', '*', '\'', '-']).unwrap_or(function)
}

#[cfg(test)]
mod tests {
	use proptest::prelude::*;

	use super::*;

	fn told(source: &str, line: u32, function: &str) -> ScriptLine {
		ScriptLine { source: source.into(), line, function: function.into() }
	}

	#[test]
	fn names_have_file_and_line_where_they_tell() {
		for (name, expected) in [
			("JS:~readSome /home/me/app.js:2:18", told("/home/me/app.js", 2, "readSome")),
			("JS:o*readSome /home/me/my app.js:2:18", told("/home/me/my app.js", 2, "readSome")),
			("JS:* file:///home/me/app.mjs:1:1", told("/home/me/app.mjs", 1, "(anonymous)")),
			("JS:^get value /home/me/app.js:3:1", told("/home/me/app.js", 3, "get value")),
			("JS:~run [eval]:3:1", told("[eval]", 3, "run")),
			("JS:~ :1:1", told("", 0, "(anonymous)")),
			("LazyCompile:*open node:fs:552:18", told("node:fs", 552, "open")),
			("Builtin:ArrayMap", told("", 0, "Builtin:ArrayMap")),
			(
				"int Main.read(java.lang.String, int)",
				told("", 0, "Main.read(java.lang.String, int)"),
			),
			("I2C/C2I adapters", told("", 0, "I2C/C2I adapters")),
			("a::b:c", told("", 0, "a::b:c")),
			("", told("", 0, "")),
		] {
			assert_eq!(described(name), expected, "{name}");
		}
	}

	#[test]
	fn an_address_with_two_names_has_none() {
		let map = b"10 10 JS:~f a.js:1:1\n0x20 0x8 g\n10 8 JS:*f a.js:1:1\n24 4 h\nx 1 y\nffffffffffffffff 9 z";
		let names = named(map, &[0x10, 0x11, 0x20, 0x21, 0x25, 0x28, 0x29]);
		let of = |address| names.get(&address).map(|name| name.function.as_str());
		assert_eq!([0x10, 0x11, 0x20, 0x21].map(of), [None, Some("f"), Some("f"), Some("g")]);
		assert_eq!([0x25, 0x28, 0x29].map(of), [None; 3]);
	}

	proptest! {
		#[test]
		fn any_bytes_are_a_map(map: Vec<u8>, addresses in prop::collection::btree_set(any::<u64>(), 0..9)) {
			named(&map, &addresses.into_iter().collect::<Vec<_>>());
		}
	}
}
