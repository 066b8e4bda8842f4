//! What DFTracer says of itself: names, hosts, processes.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use super::event::{Event, Word};
use super::lines::each;
use crate::positions::Positions;
use crate::{Parsed, TraceError, damaged};

pub const MOST_NUMBER: i64 = u32::MAX as i64;
/// Units of times, in ns.
const UNITS: [(&str, i64); 4] =
	[("NS", 1), ("US", 1_000), ("MS", 1_000_000), ("SEC", 1_000_000_000)];

/// Host and the system's number.
pub type HostPid = (String, u32);

/// One of a host.
pub struct Process {
	pub number: u32,
	pub pid: u32,
	/// Arguments of its start.
	pub start_args: Value,
	pub began: Option<i64>,
	pub rank: Option<u32>,
	pub ended: bool,
	pub added: bool,
	pub directory: String,
	/// Objects by hash, in that directory, with their paths.
	pub files: HashMap<String, (u32, String)>,
	pub positions: Positions,
}

/// What files say of processes and names.
#[derive(Default)]
pub struct Trace {
	pub paths: Vec<PathBuf>,
	/// By process and hash; of any process by hash.
	names: HashMap<(Option<u32>, String), String>,
	hosts: HashMap<(usize, u32), String>,
	pub processes: Vec<Process>,
	pub by_host_pid: HashMap<HostPid, usize>,
	pub first: Option<i64>,
	pub last: i64,
	pub unit: i64,
	/// Files without a line.
	pub empty: usize,
}

/// A process without a record of its own.
fn unknown(number: u32, pid: u32) -> Process {
	Process {
		number,
		pid,
		start_args: Value::Null,
		began: None,
		rank: None,
		ended: false,
		added: false,
		directory: String::new(),
		files: HashMap::new(),
		positions: Positions::default(),
	}
}

/// Text or a number, as text.
fn text_of(value: Option<&Value>) -> Option<String> {
	match value? {
		Value::String(text) => Some(text.clone()),
		Value::Number(number) if number.is_i64() => Some(number.to_string()),
		_ => None,
	}
}

impl Trace {
	pub fn read(paths: Vec<PathBuf>) -> Result<Trace, TraceError> {
		let mut trace = Trace { unit: 1_000, ..Trace::default() };
		let mut own = 0;
		for (at, path) in paths.iter().enumerate() {
			let mut lines = 0;
			let read = each(path, |number, line, whole| {
				lines += 1;
				let event = Event::of(number, line, whole)?;
				trace.times(&event);
				if event.is_own() {
					own += 1;
					trace.own(at, &event, line)?;
				}
				Ok(())
			});
			read.map_err(damaged(path))?;
			trace.empty += usize::from(lines == 0);
		}
		let (empty, all) = (trace.empty, paths.len());
		trace.paths = paths;
		let log = trace.paths.first().cloned().unwrap_or_default();
		let checked = trace.check(empty == all, own).and_then(|()| trace.number());
		checked.map_err(damaged(&log))?;
		Ok(trace)
	}

	fn check(&self, empty: bool, own: usize) -> Parsed<()> {
		if empty {
			return Err("empty: DFTracer writes at a program's end, and was stopped before".into());
		}
		if own == 0 {
			return Err("no trace of DFTracer 1 or 2: none of its own records is in it".into());
		}
		match self.last.checked_mul(self.unit) {
			Some(_) => Ok(()),
			None => Err("times that cannot be".into()),
		}
	}

	fn times(&mut self, event: &Event<'_>) {
		let Some(began) = event.began.number().filter(|&began| began >= 0) else { return };
		let took = event.took.number().unwrap_or(0).max(0);
		self.first = Some(self.first.map_or(began, |first| first.min(began)));
		self.last = self.last.max(began.saturating_add(took));
	}

	/// DFTracer's own records: names, hosts, starts and ends of processes.
	fn own(&mut self, file: usize, event: &Event<'_>, line: &str) -> Parsed<()> {
		let pid = event.number("pid", &event.pid, MOST_NUMBER)? as u32;
		// These are few: read again with all that they have.
		let whole: Value = serde_json::from_str(line).unwrap_or_default();
		let args = &whole["args"];
		let (named, value) = (text_of(args.get("name")), text_of(args.get("value")));
		match (event.name.text().as_ref(), named.as_deref(), value) {
			(kind @ ("FH" | "SH" | "HH"), name, Some(hash)) => {
				let name = name.unwrap_or_default().to_owned();
				if kind == "HH" {
					self.hosts.insert((file, pid), name.clone());
				}
				self.names.insert((Some(pid), hash.clone()), name.clone());
				self.names.insert((None, hash), name);
			}
			("CM", Some("time_metric"), value) => {
				let value = value.unwrap_or_default();
				let unit = UNITS.iter().find(|(name, _)| *name == value);
				let unknown = || format!("times in '{value:.20}', which is no known unit");
				self.unit = unit.ok_or_else(unknown)?.1;
			}
			("PR", Some("rank"), value) => {
				let rank = rank_of(&value.unwrap_or_default())?;
				let process = self.process(file, event)?;
				self.processes[process].rank = Some(rank);
			}
			("start", ..) => {
				let began = event.number("ts", &event.began, i64::MAX)?;
				let directory = self.name(pid, text_of(args.get("cwd")).as_deref());
				let process = self.process(file, event)?;
				let process = &mut self.processes[process];
				process.began = Some(began);
				process.directory = directory;
				process.start_args = args.clone();
			}
			("end", ..) => {
				let process = self.process(file, event)?;
				self.processes[process].ended = true;
			}
			_ => {}
		}
		Ok(())
	}

	/// Processes by rank, then as they began.
	fn number(&mut self) -> Parsed<()> {
		let mut ranks: HashMap<u32, usize> = HashMap::new();
		for rank in self.processes.iter().filter_map(|process| process.rank) {
			*ranks.entry(rank).or_default() += 1;
		}
		if let Some((rank, often)) = ranks.into_iter().max_by_key(|&(rank, often)| (often, rank))
			&& often > 1
		{
			return Err(format!("{often} processes are rank {rank}: name the files of one run"));
		}
		let mut order: Vec<&mut Process> = self.processes.iter_mut().collect();
		order.sort_by_key(|process| {
			(process.rank.is_none(), process.rank, process.began.is_none(), process.began)
		});
		for (number, process) in order.into_iter().enumerate() {
			process.number = number as u32;
		}
		Ok(())
	}

	/// Host and number of an event's process.
	fn host_pid(&self, file: usize, event: &Event<'_>) -> Parsed<HostPid> {
		let pid = event.number("pid", &event.pid, MOST_NUMBER)? as u32;
		let host = self.hosts.get(&(file, pid));
		Ok((host.cloned().unwrap_or_else(|| "unknown".into()), pid))
	}

	/// Whose event it is, as its place in `processes`.
	pub fn process(&mut self, file: usize, event: &Event<'_>) -> Parsed<usize> {
		let host_pid = self.host_pid(file, event)?;
		if let Some(&known) = self.by_host_pid.get(&host_pid) {
			return Ok(known);
		}
		let place = self.processes.len();
		self.processes.push(unknown(place as u32, host_pid.1));
		self.by_host_pid.insert(host_pid, place);
		Ok(place)
	}

	/// What was hashed; "" where no record says it.
	pub fn name(&self, pid: u32, hash: Option<&str>) -> String {
		let Some(hash) = hash else { return String::new() };
		let of = |pid| self.names.get(&(pid, hash.to_owned())).filter(|name| !name.is_empty());
		of(Some(pid)).or_else(|| of(None)).cloned().unwrap_or_default()
	}

	/// What a process's start says under this key, by its hash.
	pub fn start_text(&self, process: &Process, key: &str) -> String {
		self.name(process.pid, text_of(process.start_args.get(key)).as_deref())
	}

	/// The command; its words stand between semicolons.
	pub fn words(&self, process: &Process) -> Vec<String> {
		let words = self.start_text(process, "cmd_hash");
		if words.is_empty() {
			return Vec::new();
		}
		words.split(';').map(str::to_owned).collect()
	}
}

/// A rank, as MPI gave it.
fn rank_of(text: &str) -> Parsed<u32> {
	let digits = !text.is_empty() && text.len() < 10 && text.bytes().all(|b| b.is_ascii_digit());
	match text.parse() {
		Ok(rank) if digits => Ok(rank),
		_ => Err(format!("rank '{text:.20}'")),
	}
}

/// The hash of an event's file.
pub fn hash_of<'e>(word: &'e Word<'_>) -> Option<std::borrow::Cow<'e, str>> {
	word.hash().filter(|hash| !hash.is_empty())
}
