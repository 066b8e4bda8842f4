//! An OSD's memory of its last operations, kept long enough to be read, and its counters.

use std::collections::HashSet;

use serde_json::json;

use crate::OsdError;
use crate::ask::Daemon;
use crate::operation::{Operation, operations};

/// Operations that it remembers meanwhile: usually 20. Some 2 KiB each.
const SIZE: (&str, u32) = ("osd_op_history_size", 20_000);
/// And for how many seconds; those are also what each answer holds.
const SECONDS: (&str, u32) = ("osd_op_history_duration", 20);

/// What the OSD counts of clients' operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
	pub operations: i64,
	pub written: i64,
}

pub struct History {
	osd: Daemon,
	/// Settings as they were.
	before: Vec<(&'static str, String)>,
	known: HashSet<(String, u64)>,
	/// The same of the answer before.
	earlier: HashSet<(String, u64)>,
}

impl History {
	/// From here on it remembers enough.
	pub fn begin(osd: Daemon) -> Result<History, OsdError> {
		let mut history =
			History { osd, before: Vec::new(), known: HashSet::new(), earlier: HashSet::new() };
		for (name, least) in [SIZE, SECONDS] {
			let value = history.osd.setting(name)?;
			let enough = value.parse::<f64>().is_ok_and(|value| value >= f64::from(least));
			if !enough {
				history.osd.set(name, &least.to_string())?;
				history.before.push((name, value));
			}
		}
		Ok(history)
	}

	/// Operations that ended since the last time.
	pub fn news(&mut self) -> Result<Vec<Operation>, OsdError> {
		let reply = self.osd.ask(&json!({"prefix": "dump_historic_ops"}))?;
		let remembered = operations(&reply);
		let mut now = HashSet::with_capacity(remembered.len());
		let mut news = Vec::new();
		for operation in remembered {
			let key = (operation.name.clone(), operation.began);
			if !self.known.contains(&key) && !self.earlier.contains(&key) && now.insert(key.clone())
			{
				news.push(operation);
			}
			now.insert(key);
		}
		self.earlier = std::mem::replace(&mut self.known, now);
		Ok(news)
	}

	pub fn counted(&self) -> Result<Counted, OsdError> {
		let reply = self.osd.ask(&json!({"prefix": "perf dump", "logger": "osd"}))?;
		let number = |name: &str| reply.get("osd")?.get(name)?.as_i64();
		match (number("op"), number("op_w_in_bytes")) {
			(Some(operations), Some(written)) => Ok(Counted { operations, written }),
			_ => Err(self.osd.failed("it says nothing of its counters op, op_w_in_bytes")),
		}
	}

	/// Settings as they were.
	pub fn end(&mut self) -> Result<(), OsdError> {
		for (name, value) in self.before.drain(..) {
			self.osd.set(name, &value)?;
		}
		Ok(())
	}
}
