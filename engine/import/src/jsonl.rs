//! The contents of another tool's log, in lines that its reader writes: a JSON array each, a word first. Times are
//! nanoseconds from the run's start, and numbers are those that the lines give.
//!
//! `run` {key: value}: parts of `run.json`, of them `recorder` and `start_ns`; `processes`: how many; `ranks`: are they ranks?
//! `host` number, name
//! `process` number, host, {executable, command}
//! `op` number, layer, name, kind, fields, flags, height of the layer
//! `object` number, class, name, parent, [numbers]; it is in every process that has calls on it
//! `hint` process, object, source, key, value
//! `call` process, op, object, op of the calls it lies in where those are only counted or -1, began, ended, error, [fields]
//! `counter` process or -1 (sums of all, which nobody can take apart), op, object, enclosing op or -1, calls, bytes, time,
//! longest, first, last, [[size, calls]]; behind them, where any is known, a map: `functions` [[op, calls]], `ranges` [[least
//! size, calls]], `strides` [[stride, calls]], `common` [[size, calls]] where sizes are not all of them, `counts` [ten of them, or
//! null] in the order of docs/stream-format.md, and, of sums of all, `ranks` [[rank, bytes, time]]: of these that is known
//! `heat` process, op, ns of a bin, [[bin, bytes, time]]: when it moved data
//! `mark` detail, value
//! `unreadable` detail: of the log, but not in the lines
//! `end` lines before it: without it nothing is made.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::path::Path;

use serde_json::Value;

use crate::process::Process;
use crate::run_directory::publish;
use crate::spread::{Details, Sum};
use crate::{Folder, Node};

/// The kind of a mark: data that could not be read.
const UNREADABLE: &str = "unreadable";

/// What an import wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportReport {
	pub processes: usize,
	pub bytes: u64,
}

/// Why no run was written.
#[derive(Debug, thiserror::Error)]
pub enum JsonlError {
	#[error("line {0}: {1}")]
	Line(usize, String),
	#[error("the lines break off after {0}")]
	Cut(usize),
	#[error("{0}")]
	Written(String),
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

pub struct Op {
	pub layer: String,
	pub name: String,
	pub kind: String,
	/// Comma-separated.
	pub fields: String,
	pub flags: u64,
	pub height: u8,
}

pub struct Object {
	pub class: u32,
	pub name: String,
	pub parent: u32,
	pub numbers: Vec<u64>,
}

pub const MOST_FIELDS: usize = 4;

pub struct Call {
	pub op: u32,
	pub object: u32,
	/// Op + 1 of the calls that it lies in, where these are only counted and it lies in no other; 0: none.
	pub inside: u32,
	/// The system's number of it; 0: nobody knows.
	pub thread: u32,
	pub began: u64,
	pub ended: u64,
	pub error: u64,
	pub fields: [i64; MOST_FIELDS],
}

pub struct Counter {
	pub op: u32,
	pub object: u32,
	/// Op + 1; 0: none.
	pub enclosing: u32,
	pub sum: Sum,
}

/// When an op of this layer and direction moved data.
pub struct Heat {
	pub op: u32,
	/// Ticks of a bin.
	pub width: u64,
	/// Number, bytes, time.
	pub bins: Vec<[u64; 3]>,
}

pub struct Hint {
	pub object: u32,
	pub source: u32,
	pub key: String,
	pub value: String,
}

/// What all processes share.
#[derive(Default)]
pub struct ImportedRun {
	pub ops: HashMap<u32, Op>,
	pub objects: HashMap<u32, Object>,
	/// Sums of all processes.
	pub sums: Vec<Counter>,
	/// Of a call about this object: what all objects of that name are about.
	pub about: HashMap<u32, u32>,
	run_json: serde_json::Map<String, Value>,
	hosts: BTreeMap<u32, String>,
	processes: BTreeMap<u32, Process>,
	/// Kind (none: whose log it is), detail, value.
	marks: Vec<(Option<&'static str>, String, u64)>,
	names: HashMap<String, u32>,
}

type Parsed<T> = Result<T, String>;

/// A line's words, one after the other.
struct Words(std::vec::IntoIter<Value>);

impl Words {
	fn of(line: &str) -> Parsed<Words> {
		match serde_json::from_str(line).map_err(|error| error.to_string())? {
			Value::Array(words) => Ok(Words(words.into_iter())),
			_ => Err("no array".into()),
		}
	}

	fn next(&mut self) -> Parsed<Value> {
		self.0.next().ok_or_else(|| "a word is missing".into())
	}

	fn number<T: TryFrom<i64>>(&mut self) -> Parsed<T> {
		number(&self.next()?)
	}

	fn text(&mut self) -> Parsed<String> {
		match self.next()? {
			Value::String(text) => Ok(text),
			other => Err(format!("{other} is no text")),
		}
	}

	fn list(&mut self) -> Parsed<Vec<Value>> {
		match self.next()? {
			Value::Array(list) => Ok(list),
			other => Err(format!("{other} is no list")),
		}
	}

	fn map(&mut self) -> Parsed<serde_json::Map<String, Value>> {
		match self.next()? {
			Value::Object(map) => Ok(map),
			other => Err(format!("{other} is no object")),
		}
	}

	fn numbers<T: TryFrom<i64>>(&mut self) -> Parsed<Vec<T>> {
		self.list()?.iter().map(number).collect()
	}
}

fn number<T: TryFrom<i64>>(value: &Value) -> Parsed<T> {
	let number = value.as_i64().and_then(|number| T::try_from(number).ok());
	number.ok_or_else(|| format!("{value} is no such number"))
}

/// Of a list of lists of as many numbers.
fn tuples<const N: usize>(value: &Value) -> Parsed<Vec<[u64; N]>> {
	let list = value.as_array().ok_or_else(|| format!("{value} is no list"))?;
	let tuple = |value: &Value| -> Parsed<[u64; N]> {
		let mut numbers = [0; N];
		for (at, number) in numbers.iter_mut().enumerate() {
			*number =
				value.get(at).map_or(Err("a number is missing".into()), self::number::<u64>)?;
		}
		Ok(numbers)
	};
	list.iter().map(tuple).collect()
}

/// Into `run`, which must be new; nothing is written where the lines are not whole.
pub fn import(run: &Path, lines: impl BufRead) -> Result<ImportReport, JsonlError> {
	let mut imported = ImportedRun::default();
	let mut count = 0;
	let mut whole = false;
	for line in lines.lines() {
		count += 1;
		let taken =
			line.map_err(|error| error.to_string()).and_then(|line| imported.take(&line, count));
		whole = taken.map_err(|reason| JsonlError::Line(count, reason))?;
	}
	if !whole {
		return Err(JsonlError::Cut(count));
	}
	imported.publish(run).map_err(JsonlError::Written)
}

impl ImportedRun {
	/// Is it the last line?
	fn take(&mut self, line: &str, count: usize) -> Parsed<bool> {
		let mut words = Words::of(line)?;
		match words.text()?.as_str() {
			"call" => self.call(&mut words)?,
			"counter" => self.counter(&mut words)?,
			"object" => self.object(&mut words)?,
			"op" => self.op(&mut words)?,
			"hint" => self.hint(&mut words)?,
			"heat" => self.heat(&mut words)?,
			"mark" => self.add_mark(words.text()?, words.number()?),
			"unreadable" => self.marks.push((Some(UNREADABLE), words.text()?, 1)),
			"host" => self.add_host(words.number()?, &words.text()?),
			"process" => self.process(&mut words)?,
			"run" => self.set_run_json(words.map()?),
			"end" if words.number::<usize>()? + 1 == count => return Ok(true),
			other => return Err(format!("{other} is not known, or not in its place")),
		}
		Ok(false)
	}

	fn process(&mut self, words: &mut Words) -> Parsed<()> {
		let (number, host) = (words.number()?, words.number()?);
		let properties = words.map()?;
		let executable = properties.get("executable").and_then(Value::as_str).unwrap_or_default();
		let command = properties.get("command").and_then(Value::as_array).into_iter().flatten();
		let who = ProcessIdentity {
			executable: executable.to_owned(),
			command: command.filter_map(Value::as_str).map(str::to_owned).collect(),
			..ProcessIdentity::default()
		};
		self.add_process(number, host, who);
		Ok(())
	}

	fn op(&mut self, words: &mut Words) -> Parsed<()> {
		let number = words.number()?;
		let op = Op {
			layer: words.text()?,
			name: words.text()?,
			kind: words.text()?,
			fields: words.text()?,
			flags: words.number()?,
			height: words.number()?,
		};
		self.add_op(number, op);
		Ok(())
	}

	fn object(&mut self, words: &mut Words) -> Parsed<()> {
		let number: u32 = words.number()?;
		let (class, name, parent) = (words.number()?, words.text()?, words.number()?);
		let numbers = words.numbers()?;
		if number == 0 || (parent != 0 && !self.objects.contains_key(&parent)) {
			return Err(format!("object {number} in {parent}"));
		}
		self.add_object(number, Object { class, name, parent, numbers });
		Ok(())
	}

	fn of(&mut self, process: u32) -> Parsed<&mut Process> {
		self.processes.get_mut(&process).ok_or_else(|| format!("there is no process {process}"))
	}

	fn known(&self, op: u32, object: u32) -> Parsed<()> {
		let known =
			self.ops.contains_key(&op) && (object == 0 || self.objects.contains_key(&object));
		if known { Ok(()) } else { Err(format!("op {op} or object {object} is not known")) }
	}

	/// The next word: an op + 1; 0: none.
	fn around(&self, words: &mut Words) -> Parsed<u32> {
		let Ok(op) = u32::try_from(words.number::<i64>()?) else { return Ok(0) };
		self.known(op, 0)?;
		Ok(op.saturating_add(1))
	}

	fn hint(&mut self, words: &mut Words) -> Parsed<()> {
		let (process, object, source) = (words.number()?, words.number()?, words.number()?);
		let hint = Hint { object, source, key: words.text()?, value: words.text()? };
		if !self.objects.contains_key(&object) {
			return Err(format!("object {object} is not known"));
		}
		self.of(process)?.hints.push(hint);
		Ok(())
	}

	fn call(&mut self, words: &mut Words) -> Parsed<()> {
		let process = words.number()?;
		let (op, object, inside) = (words.number()?, words.number()?, self.around(words)?);
		let (began, ended, error) = (words.number()?, words.number()?, words.number()?);
		self.known(op, object)?;
		let values: Vec<i64> = words.numbers()?;
		let names = self.ops.get(&op).map_or("", |op| op.fields.as_str());
		let expected = names.split(',').filter(|name| !name.is_empty()).count();
		if values.len() != expected || expected > MOST_FIELDS {
			return Err(format!("a call of op {op} with {} fields", values.len()));
		}
		let mut fields = [0; MOST_FIELDS];
		fields[..expected].copy_from_slice(&values);
		self.add_call(process, Call { op, object, inside, thread: 0, began, ended, error, fields })
	}

	fn counter(&mut self, words: &mut Words) -> Parsed<()> {
		let process: i64 = words.number()?;
		let (op, object, enclosing) = (words.number()?, words.number()?, self.around(words)?);
		self.known(op, object)?;
		let mut sum = Sum {
			calls: words.number()?,
			bytes: words.number()?,
			time: words.number()?,
			longest: words.number()?,
			first: words.number()?,
			last: words.number()?,
			sizes: tuples(&Value::Array(words.list()?))?,
			..Sum::default()
		};
		if let Some(details) = words.0.next() {
			sum.details = self.details(&details)?;
		}
		let counter = Counter { op, object, enclosing, sum };
		match u32::try_from(process) {
			Ok(process) => self.of(process)?.counters.push(counter),
			Err(_) => self.sums.push(counter),
		}
		Ok(())
	}

	/// What else is known of a counter.
	fn details(&self, map: &Value) -> Parsed<Details> {
		let list = |key: &str| map.get(key).cloned().unwrap_or_else(|| Value::Array(Vec::new()));
		let functions: Vec<[u64; 2]> = tuples(&list("functions"))?;
		for &[op, _] in &functions {
			self.known(u32::try_from(op).map_err(|error| error.to_string())?, 0)?;
		}
		let mut counts = [None; 10];
		for (count, value) in counts.iter_mut().zip(list("counts").as_array().into_iter().flatten())
		{
			*count = if value.is_null() { None } else { Some(number(value)?) };
		}
		Ok(Details {
			functions,
			ranges: tuples(&list("ranges"))?,
			strides: tuples(&list("strides"))?,
			common: tuples(&list("common"))?,
			counts,
			ranks: tuples(&list("ranks"))?,
		})
	}

	fn heat(&mut self, words: &mut Words) -> Parsed<()> {
		let (process, op, width) = (words.number()?, words.number()?, words.number()?);
		self.known(op, 0)?;
		let bins = tuples(&Value::Array(words.list()?))?;
		self.of(process)?.heat.push(Heat { op, width, bins });
		Ok(())
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
		self.ops.insert(number, op);
	}

	/// `number`: not 0.
	pub fn add_object(&mut self, number: u32, object: Object) {
		let about = *self.names.entry(object.name.clone()).or_insert(number);
		self.about.insert(number, about);
		self.objects.insert(number, object);
	}

	/// Of a process, an op and an object that were added before.
	pub fn add_call(&mut self, process: u32, call: Call) -> Result<(), String> {
		if call.began > call.ended {
			return Err(format!("a call of op {} that ends before it begins", call.op));
		}
		self.of(process)?.calls.push(call);
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
				run: run.display().to_string(),
				epoch: Process::epoch(start),
			};
			for process in processes.values_mut().filter(|process| process.host == *host) {
				process.write(&self, &node, (ranks, are_ranks), end.saturating_sub(start));
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
