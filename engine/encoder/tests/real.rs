//! The real encoder's streams, decoded and packed, against what the program says it did.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use common::{Decoded, decode, finish, numbers, scratch, start, stream_files};
use fathom_pack::{Options, PackError, ShareWorkers, Step, pack, pack_in_shares, recover, share};
use fathom_stream::{Segment, chunks};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Ended is not compared where the clock of another core lagged: rows never go back in time.
fn same(printed: &[Vec<i64>], rows: &BTreeMap<(i64, i64), Vec<i64>>) {
	const FIRST_LINE: usize = 9; // the call that defines the object prints no end
	for line in printed {
		let row = rows.get(&(line[0], line[1])).unwrap_or_else(|| panic!("no row for {line:?}"));
		let whole = line.len() > FIRST_LINE || line[4] != 3;
		let end = if whole { line.len().max(row.len()) } else { 7 };
		assert_eq!(line.get(..end.min(line.len())), row.get(..end.min(row.len())));
	}
}

#[test]
fn every_call_of_many_chunks_comes_back() {
	let folder = scratch("exit");
	let printed = finish(start(&folder, "", &["7", "60000", "3", "exit"]));
	let Decoded { rows, unfinished, .. } = decode(&stream_files(&folder));
	assert!(printed.len() >= 180_000);
	assert_eq!(rows.len(), printed.len());
	assert_eq!(unfinished, 0);
	same(&printed, &rows);
}

/// `golden/` is what encoders of earlier versions wrote, and what their programs said. Files are added there for
/// each version of the format, none is ever changed.
#[test]
fn streams_of_every_version_stay_readable() {
	let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
	let mut files: Vec<_> = fs::read_dir(golden).unwrap().flatten().map(|e| e.path()).collect();
	files.retain(|path| path.extension().is_some_and(|e| e == "fts"));
	assert!(files.len() >= 3);
	for file in files {
		let printed = numbers(&fs::read_to_string(file.with_extension("said")).unwrap());
		let decoded = decode(std::slice::from_ref(&file));
		assert_eq!(decoded.rows.len(), printed.len(), "{}", file.display());
		same(&printed, &decoded.rows);
		let name = file.file_name().unwrap().to_str().unwrap();
		assert_eq!(decoded.unfinished > 0, !name.ends_with("exit.fts"), "{name}");
	}
}

#[test]
fn calls_left_by_longjmp_are_unfinished_and_the_rest_is_right() {
	let folder = scratch("jump");
	let printed = finish(start(&folder, "", &["3", "30000", "2", "jump"]));
	let Decoded { rows, unfinished, .. } = decode(&stream_files(&folder));
	assert!(unfinished > 100);
	assert_eq!(rows.len(), printed.len());
	same(&printed, &rows);
}

#[test]
fn a_killed_program_is_recovered_whole() {
	for seed in 0..20 {
		let folder = scratch("kill");
		let calls = (500 + seed * 997).to_string();
		let printed = finish(start(&folder, "", &[&seed.to_string(), &calls, "1", "kill"]));
		let (run, rings) = (folder.join("t.fathom"), folder.join("ring"));
		fs::create_dir_all(&run).unwrap();
		let recovered = recover(&run, &rings).unwrap();
		assert_eq!(recovered.processes, 1);
		assert!(recovered.unfinished >= 1);
		let Decoded { rows, unfinished, own } = decode(&stream_files(&folder));
		assert_eq!(rows.len(), printed.len(), "seed {seed}");
		assert_eq!(unfinished, recovered.unfinished);
		same(&printed, &rows);
		assert_eq!(recover(&run, &rings).unwrap().processes, 0);
		let packed = pack(&run, &quiet()).unwrap();
		assert_eq!(packed.events, printed.len() as u64 + unfinished + own);
		tree_is_sound(&run);
	}
}

fn quiet() -> Options {
	Options { quiet: true, ..Options::default() }
}

fn table(run: &Path, name: &str) -> Vec<RecordBatch> {
	let path = run.join("tables").join(name);
	let files = if path.is_dir() {
		let mut files: Vec<_> = fs::read_dir(path).unwrap().flatten().map(|e| e.path()).collect();
		files.sort();
		files
	} else {
		vec![path.with_extension("parquet")]
	};
	let read = |file| {
		let file = fs::File::open(file).unwrap();
		ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap()
	};
	files.iter().flat_map(|file| read(file).map(|batch| batch.unwrap())).collect()
}

fn i64s(batch: &RecordBatch, name: &str) -> Vec<i64> {
	batch[name].as_primitive::<Int64Type>().values().to_vec()
}

/// Ends of the open calls and of the process, and the run's duration, ns after the first clock reading that is kept.
fn ends(run: &Path, began: i64) -> (Vec<i64>, i64, i64) {
	let mut open = Vec::new();
	for batch in table(run, "calls") {
		let (start, duration) = (i64s(&batch, "start"), i64s(&batch, "duration"));
		let state = batch["state"].as_any_dictionary();
		let (keys, names) = (state.normalized_keys(), state.values().as_string::<i32>());
		let unfinished = (0..batch.num_rows()).filter(|&i| names.value(keys[i]) == "unfinished");
		open.extend(unfinished.map(|i| start[i] + duration[i]));
	}
	let runs = table(run, "runs").remove(0);
	let zero = i64s(&runs, "started")[0] - began;
	let stop = i64s(&table(run, "processes").remove(0), "stop")[0];
	(open.iter().map(|end| end + zero).collect(), stop + zero, i64s(&runs, "duration")[0])
}

#[test]
fn calls_of_a_killed_program_last_until_it_died() {
	const SECOND: i64 = 1_000_000_000;
	const NEAR: i64 = SECOND / 10; // where clocks were read few times
	let near = |at: i64, seconds: i64| (at - seconds * SECOND).abs() < NEAR;
	let folder = scratch("died");
	finish(start(&folder, "", &["5", "5000", "1", "kill"]));
	let (run, rings) = (folder.join("t.fathom"), folder.join("ring"));
	recover(&run, &rings).unwrap();
	let stream = stream_files(&folder).remove(0);
	let data = fs::read(&stream).unwrap();
	let Some(Segment::Chunk(first)) = chunks(&data).next() else { panic!("no chunk") };
	let (began, monotonic) = (first.header.begin.realtime as i64, first.header.begin.monotonic);
	pack(&run, &quiet()).unwrap();
	let (open, stop, duration) = ends(&run, began);
	assert!(!open.is_empty() && open.iter().all(|end| (-NEAR..=stop).contains(end)));
	assert!(duration < SECOND, "nothing tells: the last thing known");

	let end = began + 7 * SECOND;
	let json = format!("{{\"start_ns\": {}, \"end_ns\": {end}}}", began - SECOND);
	fs::write(run.join("run.json"), json).unwrap();
	assert!(!pack(&run, &quiet()).unwrap().fresh);
	let (open, stop, duration) = ends(&run, began);
	assert!(open.iter().all(|&end| near(end, 7)) && near(stop, 7), "until the run's end");
	assert_eq!(duration, 8 * SECOND);

	let name = stream.file_name().unwrap().to_str().unwrap();
	let name = name.strip_suffix(".tail.fts").or(name.strip_suffix(".fts")).unwrap();
	let line = format!("{name} {}\n1.0 x\n\n", monotonic + 5 * SECOND as u64);
	fs::write(stream.with_file_name("ends"), line).unwrap();
	assert!(!pack(&run, &quiet()).unwrap().fresh);
	let (open, stop, duration) = ends(&run, began);
	assert!(open.iter().all(|&end| near(end, 5)) && near(stop, 5), "until it died");
	assert_eq!(duration, 8 * SECOND);
	tree_is_sound(&run);
}

/// Every parent resolves, is not younger than its child, and holds it; nested time fits.
fn tree_is_sound(run: &Path) -> usize {
	let mut calls: HashMap<u64, (i64, i64)> = HashMap::new();
	let mut parents = Vec::new();
	for batch in table(run, "calls") {
		let id = batch["id"].as_primitive::<UInt64Type>().values().to_vec();
		let (start, duration) = (i64s(&batch, "start"), i64s(&batch, "duration"));
		let nested = i64s(&batch, "nested");
		let parent = batch["parent"].as_primitive::<UInt64Type>();
		for i in 0..batch.num_rows() {
			assert!(0 <= nested[i] && nested[i] <= duration[i]);
			assert!(calls.insert(id[i], (start[i], start[i] + duration[i])).is_none());
			if parent.is_valid(i) {
				parents.push((id[i], parent.value(i)));
			}
		}
	}
	for (child, parent) in &parents {
		let (child, parent) = (calls[child], calls[parent]);
		assert!(parent.0 <= child.0 && child.1 <= parent.1, "{child:?} in {parent:?}");
	}
	parents.len()
}

#[test]
fn tables_hold_the_same_calls() {
	let folder = scratch("tables");
	let printed = finish(start(&folder, "", &["11", "20000", "4", "exit"]));
	let run = folder.join("t.fathom");
	let packed = pack(&run, &quiet()).unwrap();
	assert!(packed.events as usize >= printed.len());
	assert!(tree_is_sound(&run) > printed.len() / 4);
	assert!(pack(&run, &quiet()).unwrap().fresh);
	for gone in ["heat.parquet", "args"] {
		let path = run.join("tables").join(gone);
		let part = if path.is_dir() {
			path.read_dir().unwrap().next().unwrap().unwrap().path()
		} else {
			path
		};
		fs::remove_file(&part).unwrap();
		assert!(!pack(&run, &quiet()).unwrap().fresh && part.is_file());
	}
	assert!(pack(&run, &quiet()).unwrap().fresh);
	let sum = |name: &str, column: &str| -> i64 {
		let each = |batch: &RecordBatch| -> i64 {
			batch[column].as_primitive::<UInt64Type>().values().iter().map(|&n| n as i64).sum()
		};
		table(&run, name).iter().map(each).sum()
	};
	assert_eq!(sum("counters", "calls"), packed.events as i64);
	assert_eq!(
		sum("counters", "errors"),
		printed.iter().filter(|line| line[8] != 0).count() as i64
	);
}

/// Three shares, done here.
struct Three;

impl ShareWorkers for Three {
	fn shares(&self) -> usize {
		3
	}

	fn begin(&mut self, step: Step, folder: &Path) -> Result<(), PackError> {
		(0..3).try_for_each(|number| share(folder, step, number, 1))
	}

	fn end(&mut self) -> Result<(), PackError> {
		Ok(())
	}
}

/// Tables of one file, as they are.
fn small(run: &Path) -> BTreeMap<String, Vec<u8>> {
	let files = fs::read_dir(run.join("tables")).unwrap().flatten();
	let tables = files.filter(|file| file.path().extension().is_some_and(|e| e == "parquet"));
	let name = |file: &fs::DirEntry| file.file_name().into_string().unwrap();
	tables.map(|file| (name(&file), fs::read(file.path()).unwrap())).collect()
}

/// The same rows in the same order, however they are cut?
fn same_rows(one: &[RecordBatch], other: &[RecordBatch]) -> bool {
	let mut rest: Vec<RecordBatch> = other.iter().rev().cloned().collect();
	for batch in one {
		let mut at = 0;
		while at < batch.num_rows() {
			let Some(next) = rest.pop() else { return false };
			let n = next.num_rows().min(batch.num_rows() - at);
			if batch.slice(at, n) != next.slice(0, n) {
				return false;
			}
			if n < next.num_rows() {
				rest.push(next.slice(n, next.num_rows() - n));
			}
			at += n;
		}
	}
	rest.iter().all(|batch| batch.num_rows() == 0)
}

/// A long process's calls go into several files: each is behind the one before of its thread, and all that is summed is
/// what it is of one file, whoever writes them.
#[test]
fn tables_are_the_same_wherever_files_end() {
	let folder = scratch("cuts");
	finish(start(&folder, "", &["13", "6000", "3", "exit"]));
	let run = folder.join("t.fathom");
	let parted = || ["calls", "args", "links"].map(|name| table(&run, name));
	let files = || fs::read_dir(run.join("tables/calls")).unwrap().count();
	pack(&run, &quiet()).unwrap();
	assert_eq!(files(), 1);
	let (whole, sums) = (parted(), small(&run));
	for part_rows in [1, 5000] {
		let options = Options { force: true, part_rows, ..quiet() };
		for shares in [false, true] {
			if shares {
				pack_in_shares(&run, &options, &mut Three).unwrap();
			} else {
				pack(&run, &options).unwrap();
			}
			assert!(files() > 2);
			assert!(whole.iter().zip(&parted()).all(|(one, other)| same_rows(one, other)));
			assert!(small(&run) == sums);
		}
	}
}

#[test]
fn damage_is_skipped_counted_and_leaves_a_sound_tree() {
	let folder = scratch("damage");
	finish(start(&folder, "", &["5", "60000", "1", "exit"]));
	let run = folder.join("t.fathom");
	let file = &stream_files(&folder)[0];
	let whole = pack(&run, &quiet()).unwrap().events;
	let mut data = fs::read(file).unwrap();
	for at in (70_000..data.len()).step_by(200_000) {
		data[at] ^= 0x10;
	}
	fs::write(file, data).unwrap();
	let packed = pack(&run, &Options { force: true, ..quiet() }).unwrap();
	assert!(packed.damaged >= 2);
	assert!(packed.events < whole);
	tree_is_sound(&run);
}

#[test]
fn shifted_and_drifting_clocks_are_brought_together() {
	let folder = scratch("clocks");
	let wait = folder.join("wait");
	let wait = wait.to_str().unwrap();
	let clocks = ["fake:skew=0", "fake:skew=730000000,drift=90", "fake:skew=-5000000,drift=-60"];
	let ranks = clocks.iter().enumerate();
	let children: Vec<_> = ranks
		.map(|(rank, clock)| start(&folder, clock, &["meet", wait, &rank.to_string(), "3", "300"]))
		.collect();
	let printed: Vec<_> = children.into_iter().map(finish).collect();
	let run = folder.join("t.fathom");
	pack(&run, &quiet()).unwrap();
	let clocks = &table(&run, "clocks")[0];
	let error = clocks["error"].as_primitive::<Int64Type>();
	let largest = (0..3).map(|i| error.value(i)).max().unwrap();
	assert!(largest > 0 && largest < 50_000_000, "bound {largest} ns");
	let drift = clocks["drift"].as_primitive::<Float64Type>();
	assert_eq!(drift.value(0), 0.0);
	let collectives = &table(&run, "collectives")[0];
	assert_eq!(collectives.num_rows(), 300);
	let seen = collectives["ranks_seen"].as_primitive::<UInt32Type>();
	assert_eq!((0..300).map(|i| seen.value(i)).min(), Some(3));
	let (enter, leave) = (i64s(collectives, "last_enter"), i64s(collectives, "first_leave"));
	assert!(enter.iter().zip(&leave).all(|(enter, leave)| *enter <= leave + 2 * largest));
	let off: Vec<i64> = printed.iter().map(|printed| offset(&run, printed)).collect();
	let apart = off.iter().max().unwrap() - off.iter().min().unwrap();
	assert!(apart <= 2 * largest + 1_000_000, "{off:?} with a bound of {largest}");
}

/// How far the tables' time is from the unfaked clock, which a program read right before each of its calls:
/// the middle, as it may have been preempted in between.
fn offset(run: &Path, printed: &[Vec<i64>]) -> i64 {
	let pid = printed[0][0] as u32;
	let processes = &table(run, "processes")[0];
	let pids = processes["pid"].as_primitive::<UInt32Type>();
	let row = (0..processes.num_rows()).find(|&i| pids.value(i) == pid).unwrap();
	let process = processes["process"].as_primitive::<UInt32Type>().value(row);
	let real: HashMap<u64, i64> = printed.iter().map(|line| (line[1] as u64, line[2])).collect();
	let mut off = Vec::new();
	for batch in table(run, "calls") {
		let id = batch["id"].as_primitive::<UInt64Type>();
		let owner = batch["process"].as_primitive::<UInt32Type>();
		let start = i64s(&batch, "start");
		for (i, start) in start.iter().enumerate().filter(|(i, _)| owner.value(*i) == process) {
			off.extend(real.get(&(id.value(i) & ((1 << 40) - 1))).map(|real| start - real));
		}
	}
	assert!(off.len() >= printed.len());
	off.sort_unstable();
	off[off.len() / 2]
}
