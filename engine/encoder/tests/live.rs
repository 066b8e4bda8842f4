//! The real encoder's rings, read while it writes them, against what the program says it did.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use common::{finish, scratch, start};
use fathom_watch::{Options, watch};
use serde_json::Value;

/// Calls, errors, and bytes modulo 2^64: the program makes them of any numbers.
type Sums = BTreeMap<String, [u64; 3]>;

const OPS: [&str; 4] = ["outer", "middle", "inner", "plain"];
/// Which field is the bytes that moved; fields begin at the tenth number of a line.
const BYTES: [Option<usize>; 4] = [Some(1), Some(2), Some(2), None];

fn sums_of(lines: &[Vec<i64>]) -> Sums {
	let mut sums = Sums::new();
	for line in lines {
		let op = line[4] as usize;
		let sum = sums.entry(OPS[op].into()).or_default();
		sum[0] += 1;
		sum[1] += u64::from(line[8] != 0);
		if let Some(field) = BYTES[op]
			&& line[8] == 0
			&& line.len() > 9
		{
			sum[2] = sum[2].wrapping_add(line[9 + field].max(0) as u64);
		}
	}
	sums
}

fn seen(lines: &[Value]) -> Sums {
	let mut sums = Sums::new();
	for row in lines.iter().flat_map(|line| line["calls"].as_array().unwrap()) {
		let number = |name: &str| row[name].as_u64().unwrap();
		if row["layer"] != "fathom" {
			let sum = sums.entry(row["op"].as_str().unwrap().into()).or_default();
			sum[0] += number("calls");
			sum[1] += number("errors");
			sum[2] = sum[2].wrapping_add(number("bytes"));
		}
	}
	sums
}

fn manifest(folder: &Path, end: &str) {
	let ring = folder.join("ring");
	let text = format!("{{\"configuration\": {{\"ring\": {ring:?}}}, \"start_ns\": 1{end}}}");
	let (aside, path) = (folder.join("aside"), folder.join("t.fathom/run.json"));
	fs::write(&aside, text).unwrap();
	fs::rename(aside, path).unwrap();
}

/// The program's lines, and those of a watch that looks all the while.
fn watched(folder: &Path, child: Child, interval: u64) -> (Vec<Vec<i64>>, Vec<Value>) {
	let run: PathBuf = folder.join("t.fathom");
	let ended = folder.to_owned();
	let program = thread::spawn(move || {
		let lines = finish(child);
		manifest(&ended, ", \"end_ns\": 2");
		lines
	});
	let interval = Duration::from_millis(interval);
	let options = Options { interval, once: false, most: 1000, ring: None };
	let mut out = Vec::new();
	watch(&run, &options, &mut out).unwrap();
	let text = String::from_utf8(out).unwrap();
	let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
	(program.join().unwrap(), lines)
}

fn run(name: &str, arguments: &[&str], interval: u64) -> (Sums, Vec<Value>) {
	let folder = scratch(name);
	fs::create_dir_all(folder.join("t.fathom")).unwrap();
	manifest(&folder, "");
	let child = start(&folder, "", arguments);
	let (lines, looks) = watched(&folder, child, interval);
	(sums_of(&lines), looks)
}

fn nothing_missed(looks: &[Value]) {
	let missed = &looks.last().unwrap()["missed"];
	assert_eq!(
		(missed["chunks"].as_u64(), missed["bytes"].as_u64()),
		(Some(0), Some(0)),
		"{missed}"
	);
}

/// Each thread writes more than its 16 chunks, so that all of them are used again and again.
#[test]
fn chunks_are_used_again_while_they_are_read() {
	// Where the program gets a processor and the reader none, there is one look at its end: then once more.
	const TRIES: usize = 30;
	for interval in [0, 7, 50] {
		let met_it_running = (0..TRIES).any(|_| {
			let (expected, looks) = run("recycled", &["17", "120000", "3", "exit"], interval);
			nothing_missed(&looks);
			assert_eq!(seen(&looks), expected);
			looks.len() > 3
		});
		assert!(met_it_running, "interval {interval}");
	}
}

#[test]
fn many_short_threads() {
	let (expected, looks) = run("threads", &["5", "3000", "60", "exit"], 1);
	nothing_missed(&looks);
	assert_eq!(seen(&looks), expected);
}

/// A call that is left has no end: it is told, and the program does not say it.
#[test]
fn calls_left_by_longjmp() {
	let (expected, looks) = run("left", &["3", "100000", "2", "jump"], 3);
	nothing_missed(&looks);
	let seen = seen(&looks);
	for (op, sums) in expected {
		let more = seen[&op];
		assert!(more[0] > sums[0] && more[0] < sums[0] + sums[0] / 20, "{op}: {sums:?} {more:?}");
		assert_eq!(more[1..], sums[1..], "{op}");
	}
}

/// Killed with calls open: what ended is told, and what was open as calls without an end.
#[test]
fn a_killed_program() {
	for seed in 0..10 {
		let calls = (20_000 + seed * 997).to_string();
		let (expected, looks) = run("killed", &[&seed.to_string(), &calls, "1", "kill"], 2);
		nothing_missed(&looks);
		let total =
			|sums: &Sums, i: usize| sums.values().fold(0u64, |n, sum| n.wrapping_add(sum[i]));
		let seen = seen(&looks);
		let open = total(&seen, 0) - total(&expected, 0);
		assert!((1..=21).contains(&open), "seed {seed}: {open} open");
		assert_eq!((total(&seen, 1), total(&seen, 2)), (total(&expected, 1), total(&expected, 2)));
		assert_eq!(looks.last().unwrap()["processes"]["killed"], 1);
	}
}
