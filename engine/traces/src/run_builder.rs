//! Builds a run from a trace: gives numbers to its ops and files, and counts what is left out.

use std::collections::{BTreeSet, HashMap};

use fathom_import::{Call, ImportedRun, Object};
use fathom_stream::object_class;
use serde_json::{Map, Value, json};

use crate::Parsed;
use crate::functions::{Catalog, Fields, Function};

/// How many functions that are left out are named.
const NAMED: usize = 20;

/// A function's place in [`RunBuilder::functions`].
pub type FunctionIndex = usize;

pub struct When {
	pub began: u64,
	pub ended: u64,
}

pub struct RunBuilder {
	pub imported: ImportedRun,
	pub layers: BTreeSet<&'static str>,
	/// What has no place in the tables, and how often it was there.
	pub left: HashMap<String, u64>,
	catalog: Catalog,
	functions: Vec<Function>,
	/// By function, fields and flags.
	ops: HashMap<(FunctionIndex, u8, u64), u32>,
	objects: HashMap<(u32, String), u32>,
}

impl RunBuilder {
	pub fn new(catalog: Catalog) -> RunBuilder {
		let (imported, layers, left, functions, ops, objects) = Default::default();
		RunBuilder { imported, layers, left, catalog, functions, ops, objects }
	}

	/// The first layer's that has it.
	pub fn function(&mut self, layers: &[&'static str], name: &str) -> Option<FunctionIndex> {
		let function = layers.iter().find_map(|layer| self.catalog.function(layer, name))?;
		self.layers.insert(function.layer);
		self.functions.push(function);
		Some(self.functions.len() - 1)
	}

	pub fn of(&self, known: FunctionIndex) -> &Function {
		&self.functions[known]
	}

	/// The number of a file.
	pub fn object_number(&mut self, class: u32, name: &str) -> u32 {
		let key = (class, name.to_owned());
		if let Some(&number) = self.objects.get(&key) {
			return number;
		}
		let number = self.objects.len() as u32 + 1;
		// Of a file that a communicator opened: its access mode and the size of its communicator are in no trace.
		let numbers = if class == object_class::MPI_FILE { vec![0, 0] } else { Vec::new() };
		let object = Object { class, name: name.to_owned(), parent: 0, numbers };
		self.imported.add_object(number, object);
		self.objects.insert(key, number);
		number
	}

	/// One call.
	pub fn call(
		&mut self,
		(process, thread): (u32, u32),
		known: FunctionIndex,
		object: u32,
		when: When,
		(fields, error): (Fields, u64),
	) -> Parsed<()> {
		let key = (known, fields.which, fields.flags);
		let op = match self.ops.get(&key) {
			Some(&op) => op,
			None => {
				let op = self.ops.len() as u32;
				self.imported.add_op(op, self.functions[known].op(fields.which, fields.flags));
				self.ops.insert(key, op);
				op
			}
		};
		let When { began, ended } = when;
		let call =
			Call { op, object, inside: 0, thread, began, ended, error, fields: fields.values };
		self.imported.add_call(process, call)
	}

	pub fn left_out(&mut self, what: String) {
		*self.left.entry(what).or_default() += 1;
	}

	/// What the tables lack and how often; of what was left out the most frequent by name.
	pub fn marks(&mut self, limits: Vec<(String, u64)>) {
		let mut often: Vec<(String, u64)> = self.left.drain().collect();
		often.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
		let rest = often.iter().skip(NAMED).map(|(_, count)| count).sum();
		let named = often.iter().take(NAMED);
		let named = named.map(|(what, count)| (format!("left out: {what}"), *count));
		let all =
			limits.into_iter().chain(named).chain([("left out: other calls".to_owned(), rest)]);
		for (detail, count) in all.filter(|(_, count)| *count > 0) {
			self.imported.add_mark(detail, count);
		}
	}

	/// run.json, of a run that nobody configured; `more` has what else is known.
	pub fn run(&mut self, recorder: &str, (start, end): (u64, u64), more: Value) {
		let mut run_json = Map::new();
		let known = json!({
			"recorder": recorder, "start_ns": start, "end_ns": end, "job": "",
			"configuration": {
				"layers": self.layers, "counted": [], "layers_asked": "", "level": "call", "ranks": "", "files": [],
			},
		});
		for part in [known, more] {
			if let Value::Object(part) = part {
				run_json.extend(part);
			}
		}
		self.imported.set_run_json(run_json);
	}
}
