//! A run that is made of another tool's log: its processes and what they share, then its directory.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::contents::{Call, Object, Op, Shared};
use crate::process::Process;
use crate::run_directory::publish;
use crate::{Folder, Node};

/// The kind of a mark: data that could not be read.
const UNREADABLE: &str = "unreadable";

/// What an import wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportReport {
	pub processes: usize,
	pub bytes: u64,
}

/// A process, as far as it is known.
#[derive(Default)]
pub struct ProcessIdentity {
	/// The system's numbers of it and of its parent.
	pub pid: Option<u32>,
	pub parent: Option<u32>,
	pub rank: Option<u32>,
	pub executable: String,
	pub command: Vec<String>,
	pub directory: String,
}

#[derive(Default)]
pub struct ImportedRun {
	pub shared: Shared,
	run_json: serde_json::Map<String, Value>,
	hosts: BTreeMap<u32, String>,
	processes: BTreeMap<u32, Process>,
	/// Kind (none: whose log it is), detail, value.
	marks: Vec<(Option<&'static str>, String, u64)>,
	names: HashMap<String, u32>,
}

impl ImportedRun {
	pub(crate) fn process(&mut self, number: u32) -> Result<&mut Process, String> {
		self.processes.get_mut(&number).ok_or_else(|| format!("there is no process {number}"))
	}

	/// Data of the log that could not be read.
	pub(crate) fn add_unreadable(&mut self, detail: String) {
		self.marks.push((Some(UNREADABLE), detail, 1));
	}

	pub fn add_host(&mut self, number: u32, name: &str) {
		self.hosts.insert(number, name.to_owned());
	}

	pub fn add_process(&mut self, number: u32, host: u32, who: ProcessIdentity) {
		let mut process = Process::new(number, host, (who.pid, who.parent));
		process.rank = who.rank;
		let words = who.command.iter();
		process.image.command = words.flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
		process.image.executable = who.executable.into_bytes();
		process.image.directory = who.directory.into_bytes();
		self.processes.insert(number, process);
	}

	pub fn add_op(&mut self, number: u32, op: Op) {
		self.shared.ops.insert(number, op);
	}

	/// `number`: not 0.
	pub fn add_object(&mut self, number: u32, object: Object) {
		let about = *self.names.entry(object.name.clone()).or_insert(number);
		self.shared.about.insert(number, about);
		self.shared.objects.insert(number, object);
	}

	/// Of a process, an op and an object that were added before.
	pub fn add_call(&mut self, process: u32, call: Call) -> Result<(), String> {
		if call.began > call.ended {
			return Err(format!("a call of op {} that ends before it begins", call.op));
		}
		self.process(process)?.calls.push(call);
		Ok(())
	}

	/// What the tables lack, and how often.
	pub fn add_mark(&mut self, detail: String, value: u64) {
		self.marks.push((None, detail, value));
	}

	/// Parts of run.json.
	pub fn set_run_json(&mut self, run_json: serde_json::Map<String, Value>) {
		self.run_json = run_json;
	}

	/// Into `run`, which must be new.
	pub fn publish(mut self, run: &Path) -> Result<ImportReport, String> {
		let recorder =
			self.run_json.get("recorder").and_then(Value::as_str).unwrap_or("told").to_owned();
		let number = |key: &str| self.run_json.get(key).and_then(Value::as_u64).unwrap_or(0);
		let (start, end) = (number("start_ns"), number("end_ns"));
		let ranks = number("processes") as u32;
		let are_ranks =
			self.run_json.remove("ranks").is_some_and(|ranks| ranks == Value::Bool(true));
		self.run_json.remove("processes");
		let mut processes = std::mem::take(&mut self.processes);
		let marks = std::mem::take(&mut self.marks);
		let mut nodes = Vec::new();
		for (host, name) in &self.hosts {
			let node = Node {
				host: name.clone(),
				boot_id: recorder.clone(),
				// The same log gives the same streams, wherever and however often it is imported.
				run: String::new(),
				epoch: Process::epoch(start),
			};
			for process in processes.values_mut().filter(|process| process.host == *host) {
				process.write(&self.shared, &node, (ranks, are_ranks), end.saturating_sub(start));
				if process.number == 0 {
					for (kind, detail, value) in &marks {
						process.image.mark(&node, kind.unwrap_or(&recorder), detail, *value);
					}
				}
				process.image.end(&node, false);
			}
			nodes.push((*host, node));
		}
		let folder = |(host, node)| {
			let own = processes.values().filter(|process| process.host == host);
			Folder { node, images: own.map(|process| &process.image).collect() }
		};
		let folders: Vec<Folder<'_>> =
			nodes.iter().map(|(host, node)| folder((*host, node))).collect();
		publish(run, &folders, &recorder, Value::Object(self.run_json))?;
		let bytes = processes.values().map(|process| process.image.bytes.len() as u64).sum();
		Ok(ImportReport { processes: processes.len(), bytes })
	}
}
