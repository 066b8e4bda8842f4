//! Files of DFTracer as a run. Each is read twice: first for names and processes, whose records may stand behind their
//! use, then for events.

mod event;
mod lines;
mod trace;

use std::collections::HashMap;
use std::path::PathBuf;

use fathom_import::{ImportedRun, ProcessIdentity};
use fathom_stream::object_class;
use serde_json::json;

use crate::functions::Catalog;
use crate::run_builder::{FunctionIndex, RunBuilder, When};
use crate::{Parsed, TraceError, damaged};
use event::{Event, Phase, Word};
use trace::{MOST_NUMBER, Process, Trace, hash_of};

const SUMS: &str = "sums by interval";
const LIMITS: [&str; 4] = [
	"which call made which is not recorded: calls lie in those of higher layers on their thread whose times hold theirs, \
	 by a clock of microseconds",
	"a file is its name; offsets that follow from a position are known of descriptors only, while one thread has opened \
	 the file once; which error it was is unknown (-1); places in the code are unknown",
	"results of opens and of most calls on names are not recorded: one that failed looks as any other",
	"C's formatted and single-character calls (fprintf, fscanf, getc), stat of newer C libraries and what goes through \
	 duplicated descriptors are not recorded",
];
/// Layers of events, as DFTracer 2 numbers them: HDF5's have categories of their own; a program's any at all.
const HDF5: i64 = 5;
const PROGRAM: [i64; 4] = [2, 6, 8, 9];

/// All files as one run.
pub fn import(named: &[PathBuf], catalog: Catalog) -> Result<ImportedRun, TraceError> {
	let trace = Trace::read(lines::traces(named)?)?;
	let mut importer = Importer::new(trace, catalog);
	for at in 0..importer.trace.paths.len() {
		let path = importer.trace.paths[at].clone();
		let read = importer.file(at);
		read.map_err(damaged(&path))?;
	}
	let log = importer.trace.paths.first().cloned().unwrap_or_default();
	importer.end().map_err(damaged(&log))
}

/// Whose event it is; `None`: of none that Fathom has.
fn layer_of(category: &str, kind: &Word<'_>) -> Option<&'static str> {
	let known = match category {
		_ if kind.number() == Some(HDF5) => Some("hdf5"),
		"POSIX" => Some("posix"),
		"STDIO" => Some("stdio"),
		"MPI" => Some("mpi"),
		"MPIIO" => Some("mpiio"),
		"HDF5" => Some("hdf5"),
		_ => None,
	};
	// DFTracer 1 says no layer: what is none of these is the program's own.
	known.or_else(|| kind.number().is_none_or(|kind| PROGRAM.contains(&kind)).then_some("user"))
}

struct Importer {
	trace: Trace,
	builder: RunBuilder,
	/// Events' names, and what these are; their places here by category, layer and name, one behind the other.
	functions: Vec<(String, Option<FunctionIndex>)>,
	places: HashMap<String, usize>,
	/// Processes of the file that is read, by the system's number.
	process_by_pid: HashMap<i64, usize>,
	hosts: HashMap<String, u32>,
	calls: u64,
	/// Calls of which nothing but the time is known; those of libraries above POSIX.
	bare: u64,
	above: u64,
}

impl Importer {
	fn new(trace: Trace, catalog: Catalog) -> Importer {
		let (functions, places, process_by_pid, hosts) = Default::default();
		let builder = RunBuilder::new(catalog);
		Importer {
			trace,
			builder,
			functions,
			places,
			process_by_pid,
			hosts,
			calls: 0,
			bare: 0,
			above: 0,
		}
	}

	/// Its events.
	fn file(&mut self, at: usize) -> Parsed<()> {
		self.process_by_pid.clear();
		let path = self.trace.paths[at].clone();
		let mut key = String::new();
		lines::each(&path, |number, line, whole| {
			let event = Event::of(number, line, whole)?;
			match event.phase {
				Phase::Complete if event.is_own() => {}
				Phase::Complete => self.event(at, &event, &mut key)?,
				Phase::Metadata => {}
				Phase::Counter => self.builder.left_out("samples of nodes".into()),
				Phase::Aggregated => self.builder.left_out(SUMS.into()),
				Phase::Unknown => {
					self.builder.left_out("records of a kind that is not known".into())
				}
			}
			Ok(())
		})
	}

	/// A call. `key`: room that each event uses anew.
	fn event(&mut self, at: usize, event: &Event<'_>, key: &mut String) -> Parsed<()> {
		let process = self.process(at, event)?;
		let place = self.function(event, key);
		let (name, known) = &self.functions[place];
		let Some(known) = *known else {
			if matches!(name.as_str(), "fork" | "vfork") {
				self.trace.processes[process].positions.forked();
			}
			self.builder.left_out(format!("calls of {name}"));
			return Ok(());
		};
		let (first, last) = (self.trace.first.unwrap_or(0), self.trace.last);
		let began = event.number("ts", &event.began, last)?;
		let ended = began + event.number("dur", &event.took, last - began)?;
		let pid = self.trace.processes[process].pid;
		let thread = match event.number("tid", &event.tid, MOST_NUMBER)? as u32 {
			0 => pid,
			thread => thread,
		};
		let file = self.file_of(process, &event.arguments.file);
		let process = &mut self.trace.processes[process];
		let args = &event.arguments.numbers;
		let fields =
			self.builder.of(known).fields_and_error((file, thread), args, &mut process.positions);
		if file > 0 && self.functions[place].0 == "chdir" {
			let moved = process.files.values().find(|(known, _)| *known == file);
			process.directory = moved.map(|(_, path)| path.clone()).unwrap_or_default();
			process.files.clear();
		}
		let tick = |time: i64| ((time - first) * self.trace.unit) as u64;
		let when = When { began: tick(began), ended: tick(ended) };
		self.builder.call((process.number, thread), known, file, when, fields)?;
		let function = self.builder.of(known);
		self.calls += 1;
		self.bare += u64::from(event.arguments.empty && function.is_known());
		self.above += u64::from(matches!(function.layer, "mpiio" | "hdf5"));
		Ok(())
	}

	/// The process of an event, by its index; adds it to the run when it occurs first.
	fn process(&mut self, at: usize, event: &Event<'_>) -> Parsed<usize> {
		let pid = event.pid.number();
		if let Some(&known) = pid.and_then(|pid| self.process_by_pid.get(&pid)) {
			return Ok(known);
		}
		let process = self.trace.process(at, event)?;
		self.process_by_pid.extend(pid.map(|pid| (pid, process)));
		self.add_process(process);
		Ok(process)
	}

	/// The place of an event's function.
	fn function(&mut self, event: &Event<'_>, key: &mut String) -> usize {
		key.clear();
		for word in [&event.category, &event.kind, &event.name] {
			key.push_str(&word.text());
			key.push('\0');
		}
		if let Some(&place) = self.places.get(key.as_str()) {
			return place;
		}
		let name = event.name.text().into_owned();
		let layer = layer_of(&event.category.text(), &event.kind);
		let known = layer.and_then(|layer| self.builder.function(&[layer], &name));
		self.functions.push((name, known));
		self.places.insert(key.clone(), self.functions.len() - 1);
		self.functions.len() - 1
	}

	/// A file's object, by its path from the process's directory; 0: none.
	fn file_of(&mut self, process: usize, word: &Word<'_>) -> u32 {
		let Some(hash) = hash_of(word) else { return 0 };
		let known = &self.trace.processes[process];
		if let Some((file, _)) = known.files.get(hash.as_ref()) {
			return *file;
		}
		let name = self.trace.name(known.pid, Some(&hash));
		let name = if name.is_empty() { format!("<{hash}>") } else { name };
		let path = normal(&known.directory, &name);
		let file = self.builder.object_number(object_class::PATH, &path);
		self.trace.processes[process].files.insert(hash.into_owned(), (file, path));
		file
	}

	/// Adds a process to the run, once.
	fn add_process(&mut self, place: usize) {
		if std::mem::replace(&mut self.trace.processes[place].added, true) {
			return;
		}
		let trace = &self.trace;
		let host =
			trace.by_host_pid.iter().find(|(_, at)| **at == place).map(|(host_pid, _)| &host_pid.0);
		let host = host.cloned().unwrap_or_default();
		let next = self.hosts.len() as u32;
		let number = *self.hosts.entry(host.clone()).or_insert(next);
		if number == next {
			self.builder.imported.add_host(number, &host);
		}
		let process = &trace.processes[place];
		let parent = process.start_args.get("ppid").and_then(serde_json::Value::as_u64);
		let identity = ProcessIdentity {
			pid: Some(process.pid),
			parent: parent.and_then(|parent| u32::try_from(parent).ok()),
			rank: process.rank,
			executable: trace.start_text(process, "exec_hash"),
			command: trace.words(process),
			directory: process.directory.clone(),
		};
		self.builder.imported.add_process(process.number, number, identity);
	}

	/// What is known when all is read.
	fn end(mut self) -> Parsed<ImportedRun> {
		if self.calls == 0 && self.builder.left.contains_key(SUMS) {
			let why = "only sums by interval are in it: record without DFTRACER_ENABLE_AGGREGATION";
			return Err(why.into());
		}
		(0..self.trace.processes.len()).for_each(|place| self.add_process(place));
		self.run();
		self.marks();
		Ok(self.builder.imported)
	}

	/// The program is the process that began first.
	fn run(&mut self) {
		let trace = &self.trace;
		let began = |process: &&Process| (process.began.is_none(), process.began);
		let Some(first) = trace.processes.iter().min_by_key(began) else { return };
		let words = trace.words(first);
		let program = words.first().and_then(|word| word.rsplit('/').next());
		let program = program.filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned();
		let ranks = trace.processes.iter().filter_map(|process| process.rank).max();
		let version = first.start_args.get("version").and_then(serde_json::Value::as_str);
		let time = |time: i64| (time * trace.unit) as u64;
		let times = (time(trace.first.unwrap_or(trace.last)), time(trace.last));
		let more = json!({
			"processes": ranks.map_or(trace.processes.len() as u64, |rank| u64::from(rank) + 1),
			"ranks": false, "program": program, "command": words, "directory": trace.start_text(first, "cwd"),
			"versions": {"dftracer": version.unwrap_or_default()},
		});
		self.builder.run("dftracer", times, more);
	}

	/// What the tables lack.
	fn marks(&mut self) {
		let running = self.trace.processes.iter().filter(|process| !process.ended).count() as u64;
		let files = self.trace.paths.len() as u64;
		let mut limits = vec![("files of DFTracer that this was imported from".to_owned(), files)];
		limits.extend(LIMITS.map(|limit| (limit.to_owned(), 1)));
		let counted = [
			("calls without file, size and offset: DFTRACER_INC_METADATA was not 1", self.bare),
			(
				"calls of MPI-IO and HDF5 have neither files nor bytes: those are in POSIX's inside",
				self.above,
			),
			("processes without DFTracer's last record: they were killed, or ran on", running),
			(
				"files without a line: of processes that were killed, or had less than DFTracer keeps",
				self.trace.empty as u64,
			),
		];
		limits.extend(counted.map(|(what, count)| (what.to_owned(), count)));
		self.builder.marks(limits);
	}
}

/// A path from a directory, without `.`, `..` and doubled slashes.
fn normal(directory: &str, name: &str) -> String {
	let whole = match name.starts_with('/') || directory.is_empty() {
		true => name.to_owned(),
		false => format!("{directory}/{name}"),
	};
	let root = whole.starts_with('/');
	let mut parts: Vec<&str> = Vec::new();
	for part in whole.split('/') {
		match part {
			"" | "." => {}
			".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
			".." if root => {}
			part => parts.push(part),
		}
	}
	let path = parts.join("/");
	match (root, path.is_empty()) {
		(true, _) => format!("/{path}"),
		(false, true) => ".".to_owned(),
		(false, false) => path,
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn paths_are_those_of_the_files() {
		for (directory, name, path) in [
			("/a/b", "../c//./d", "/a/c/d"),
			("/a", "/x/../../y", "/y"),
			("", "../x", "../x"),
			("", "a/..", "."),
			("/", "<17>", "/<17>"),
		] {
			assert_eq!(normal(directory, name), path);
		}
	}

	#[test]
	fn layers_are_of_categories_or_types() {
		let of = |category, kind| layer_of(category, &kind);
		assert_eq!(of("POSIX", Word::Number(3)), Some("posix"));
		assert_eq!(of("anything", Word::Number(HDF5)), Some("hdf5"));
		assert_eq!(of("LOOP", Word::Number(6)), Some("user"));
		assert_eq!(of("LOOP", Word::Missing), Some("user"));
		assert_eq!(of("CUDA", Word::Number(11)), None);
	}
}
