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

use std::io::BufRead;
use std::path::Path;

use serde_json::Value;

use crate::contents::{Call, Counter, Heat, Hint, MOST_FIELDS, Object, Op};
use crate::imported::{ImportReport, ImportedRun, ProcessIdentity};
use crate::spread::{Details, Sum};

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
			"unreadable" => self.add_unreadable(words.text()?),
			"host" => self.add_host(words.number()?, &words.text()?),
			"process" => self.new_process(&mut words)?,
			"run" => self.set_run_json(words.map()?),
			"end" if words.number::<usize>()? + 1 == count => return Ok(true),
			other => return Err(format!("{other} is not known, or not in its place")),
		}
		Ok(false)
	}

	fn new_process(&mut self, words: &mut Words) -> Parsed<()> {
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
		if number == 0 || (parent != 0 && !self.shared.objects.contains_key(&parent)) {
			return Err(format!("object {number} in {parent}"));
		}
		self.add_object(number, Object { class, name, parent, numbers });
		Ok(())
	}

	fn known(&self, op: u32, object: u32) -> Parsed<()> {
		let known = self.shared.ops.contains_key(&op)
			&& (object == 0 || self.shared.objects.contains_key(&object));
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
		if !self.shared.objects.contains_key(&object) {
			return Err(format!("object {object} is not known"));
		}
		self.process(process)?.hints.push(hint);
		Ok(())
	}

	fn call(&mut self, words: &mut Words) -> Parsed<()> {
		let process = words.number()?;
		let (op, object, inside) = (words.number()?, words.number()?, self.around(words)?);
		let (began, ended, error) = (words.number()?, words.number()?, words.number()?);
		self.known(op, object)?;
		let values: Vec<i64> = words.numbers()?;
		let names = self.shared.ops.get(&op).map_or("", |op| op.fields.as_str());
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
			Ok(process) => self.process(process)?.counters.push(counter),
			Err(_) => self.shared.sums.push(counter),
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
		self.process(process)?.heat.push(Heat { op, width, bins });
		Ok(())
	}
}
