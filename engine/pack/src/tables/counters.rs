//! Tables of sums: `counters`, `tops`, `heat`.

use super::Tables;
use crate::counters::{Key, NO_FILE, NO_OP, Sum};
use crate::define::{Op, Target};
use crate::error::PackError;
use crate::output::Table;
use crate::write::Written;

impl Tables<'_> {
	/// The columns that tell keys of `counters` apart.
	fn keys(&self, keys: &[Key]) -> Table {
		let op = |number: u16| self.merged.ops.get(usize::from(number));
		let layer = |number: u16| op(number).map(|op| op.layer.as_str());
		let name = |number: u16| op(number).map(|op| op.name.as_str());
		let keys = || keys.iter();
		let class = |key: &Key| if key.other_thread { "other" } else { "main" };
		let runtime = &self.merged.runtime;
		Table::default()
			.u32("process", keys().map(|key| key.process).collect())
			.text("thread_class", keys().map(class).collect())
			.u32_or("file", keys().map(|key| (key.file != NO_FILE).then_some(key.file)).collect())
			.text("layer", keys().map(|key| layer(key.op).unwrap_or("")).collect())
			.text("op", keys().map(|key| name(key.op).unwrap_or("")).collect())
			.text("kind", keys().map(|key| op(key.op).map_or("", |op| &op.kind)).collect())
			.text_or("enclosing_layer", keys().map(|key| layer(key.enclosing)).collect())
			.text_or(
				"enclosing",
				keys().map(|key| name(key.enclosing).filter(|_| key.enclosing != NO_OP)).collect(),
			)
			.bool("runtime", keys().map(|key| runtime.has(key)).collect())
	}

	pub fn counters(&self, rows: &[(Key, Sum)]) -> Result<(), PackError> {
		let keys: Vec<Key> = rows.iter().map(|(key, _)| *key).collect();
		let sums = || rows.iter().map(|(_, sum)| sum);
		let mut table = self
			.keys(&keys)
			.u64("calls", sums().map(|sum| sum.calls).collect())
			.u64("recorded", sums().map(|sum| sum.recorded).collect())
			.u64("errors", sums().map(|sum| sum.errors).collect())
			.i64("bytes", sums().map(|sum| sum.bytes).collect())
			.i64("time", sums().map(|sum| sum.time).collect())
			.i64("shortest", sums().map(|sum| sum.shortest).collect())
			.i64("longest", sums().map(|sum| sum.longest).collect())
			.i64("first_start", sums().map(|sum| sum.first_start).collect())
			.i64("last_stop", sums().map(|sum| sum.last_stop).collect());
		for (i, (name, needs)) in PATTERNS.into_iter().enumerate() {
			let count = |row: &(Key, Sum)| {
				let op = self.merged.ops.get(usize::from(row.0.op));
				row.1.count(i).filter(|_| op.is_some_and(|op| needs.met_by(op)))
			};
			table = table.u64_or(name, rows.iter().map(count).collect());
		}
		table
			.u64s_or("size_histogram", sums().map(|sum| Some(&sum.by_size()?.sizes[..])))
			.u64s_or("extent_histogram", sums().map(|sum| Some(&sum.by_file()?.extents[..])))
			.write(self.folder, "counters")
	}

	pub fn tops(&self, written: &Written) -> Result<(), PackError> {
		let keys: Vec<Key> = written.tops.iter().map(|(key, ..)| *key).collect();
		let tops = || written.tops.iter().map(|(_, top, _)| top);
		self.keys(&keys)
			.text("what", tops().map(|top| top.what.name()).collect())
			.i64("value", tops().map(|top| top.value).collect())
			.text_or("label", written.tops.iter().map(|(.., label)| label.as_deref()).collect())
			.u64("calls", tops().map(|top| top.calls).collect())
			.u64("bound", tops().map(|top| top.bound).collect())
			.write(self.folder, "tops")
	}

	pub fn heat(&self, written: &Written, width: i64) -> Result<(), PackError> {
		let layers: Vec<&str> = self.merged.layers().collect();
		let rows = || written.heat.iter();
		let operation = |writes| if writes { "write" } else { "read" };
		Table::default()
			.u32("process", rows().map(|(key, ..)| key.process).collect())
			.text("layer", rows().map(|(key, ..)| layers[usize::from(key.layer)]).collect())
			.text("operation", rows().map(|(key, ..)| operation(key.writes)).collect())
			.i64("start", rows().map(|(_, at, _)| at * width).collect())
			.i64("stop", rows().map(|(_, at, _)| (at + 1) * width).collect())
			.u64("calls", rows().map(|(.., bin)| bin.calls).collect())
			.i64("bytes", rows().map(|(.., bin)| bin.bytes).collect())
			.i64("time", rows().map(|(.., bin)| bin.time).collect())
			.write(self.folder, "heat")
	}
}

/// What an op must tell for a column to be known of its calls.
#[derive(Debug, Clone, Copy)]
enum Needs {
	Nothing,
	Offset,
	Buffer,
}

impl Needs {
	fn met_by(self, op: &Op) -> bool {
		match self {
			Needs::Nothing => true,
			Needs::Offset => op.field(Target::Offset).is_some(),
			Needs::Buffer => op.alignment,
		}
	}
}

/// In the order of `PatternCounts::each`.
const PATTERNS: [(&str, Needs); 10] = [
	("sequential", Needs::Offset),
	("consecutive", Needs::Offset),
	("strided", Needs::Offset),
	("unaligned_file", Needs::Offset),
	("unaligned_memory", Needs::Buffer),
	("contiguous", Needs::Nothing),
	("holes_memory", Needs::Nothing),
	("holes_file", Needs::Nothing),
	("holes_both", Needs::Nothing),
	("switches", Needs::Nothing),
];
