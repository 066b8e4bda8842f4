//! Runs the recorder, and reads what it said and what it left.
#![allow(clippy::unwrap_used)]
#![allow(dead_code)] // each test uses some of it

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fathom_stream::{Decoder, Item, Segment, chunks};

/// A directory of one test, empty at its begin.
pub fn scratch(name: &str) -> PathBuf {
	let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
	let _ = fs::remove_dir_all(&path);
	fs::create_dir_all(&path).unwrap();
	path
}

pub fn start(folder: &Path, clock: &str, arguments: &[&str]) -> Child {
	let mut command = Command::new(env!("RECORDER"));
	command.args(arguments).stdout(Stdio::piped());
	command.env("FATHOM_RUN", folder.join("t.fathom")).env("FATHOM_RING", folder.join("ring"));
	command.env("FATHOM_BUDGET", "1000000000");
	if !clock.is_empty() {
		command.env("FATHOM_CLOCK", clock);
	}
	command.spawn().unwrap()
}

/// Its lines as numbers.
pub fn finish(child: Child) -> Vec<Vec<i64>> {
	let output = child.wait_with_output().unwrap();
	numbers(&String::from_utf8(output.stdout).unwrap())
}

pub fn numbers(text: &str) -> Vec<Vec<i64>> {
	text.lines()
		.filter(|line| !line.is_empty())
		.map(|line| line.split(' ').map(|n| n.parse::<i128>().unwrap() as i64).collect())
		.collect()
}

pub fn stream_files(folder: &Path) -> Vec<PathBuf> {
	let mut files = Vec::new();
	for node in fs::read_dir(folder.join("t.fathom/streams")).unwrap().flatten() {
		let entries = fs::read_dir(node.path()).unwrap().flatten().map(|entry| entry.path());
		files.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "fts")));
	}
	files.sort();
	files
}

/// What is in stream files.
#[derive(Default)]
pub struct Decoded {
	/// Calls of the recorder's own ops as it prints them, by tid and seq.
	pub rows: BTreeMap<(i64, i64), Vec<i64>>,
	pub unfinished: u64,
	/// Calls of layer `fathom`.
	pub own: u64,
}

pub fn decode(files: &[PathBuf]) -> Decoded {
	let mut decoded = Decoded::default();
	let mut decoder = Decoder::new();
	for file in files {
		let data = fs::read(file).unwrap();
		for segment in chunks(&data) {
			let Segment::Chunk(chunk) = segment else { panic!("{}: {segment:?}", file.display()) };
			let mut rows = decoder.rows(&chunk);
			while let Some(item) = rows.next() {
				match item.unwrap() {
					Item::Call(call) if call.op < 0xff00 => {
						let (tid, seq) = (i64::from(chunk.header.tid), call.seq as i64);
						let mut row = vec![tid, seq, call.parent.map_or(-1, |seq| seq as i64)];
						row.extend([call.depth, call.op, call.object].map(i64::from));
						row.extend([call.began, call.ended, call.error].map(|n| n as i64));
						row.extend(call.fields);
						decoded.rows.insert((tid, seq), row);
					}
					Item::Call(_) => decoded.own += 1,
					Item::Unfinished(..) => decoded.unfinished += 1,
					_ => {}
				}
			}
		}
	}
	decoded
}
