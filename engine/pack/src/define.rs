//! What a process image names in its streams: ops, objects, sites, selections and facts about them. `record()` takes every
//! record of the first pass.

use std::collections::{BTreeSet, HashMap};

use fathom_stream::{MAX_FIELDS, OpRecord, ProcessRecord, Record, Site, op_flag};
use serde::{Deserialize, Serialize};

use crate::counters::Direction;

/// Kinds of marks that say of files what calls said that are not there any more, each with the object: `FROM\0TO`; nothing;
/// the name of a module that used a socket, pipe or queue of events.
pub const RENAMED: &str = "renamed";
pub const REMOVED: &str = "removed";
pub const USED_BY: &str = "used by";

/// Fields of an op.
pub const MAX_TARGETS: usize = MAX_FIELDS;

/// Of a path.
pub fn last_name(path: &str) -> &str {
	path.rsplit('/').next().unwrap_or(path)
}

pub fn text(bytes: &[u8]) -> String {
	String::from_utf8_lossy(bytes).into_owned()
}

/// Ascending numbers, as `0-1,4`.
fn ranges(numbers: &[usize]) -> String {
	let runs = numbers.chunk_by(|a, b| a + 1 == *b);
	let name = |run: &[usize]| match run {
		[first, .., last] => format!("{first}-{last}"),
		_ => run.iter().map(usize::to_string).collect(),
	};
	runs.map(name).collect::<Vec<String>>().join(",")
}

/// Where a recorded field goes in `calls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Target {
	Size,
	Offset,
	Bytes,
	Result,
	Selection,
	/// Not 0: this call was made by all ranks of the group.
	Collective,
	Other,
}

/// An op, the same for all process images that name it alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Op {
	pub layer: String,
	pub name: String,
	pub kind: String,
	pub fields: Vec<String>,
	pub targets: [Target; MAX_TARGETS],
	pub tracked: bool,
	pub collective: bool,
	/// It stands beside the call that it is recorded in.
	pub beside: bool,
	/// Which way its calls move data.
	pub direction: Option<Direction>,
	/// The runtime looks at the alignment of its buffer.
	pub alignment: bool,
	/// The field that says how many pieces of memory a call moves.
	pub pieces: Option<usize>,
}

impl Op {
	fn new(record: &OpRecord<'_>) -> Op {
		let fields = text(record.fields);
		let fields: Vec<String> =
			fields.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
		let mut targets = [Target::Other; MAX_TARGETS];
		for (target, name) in targets.iter_mut().zip(&fields) {
			*target = match name.as_str() {
				"size" => Target::Size,
				"offset" => Target::Offset,
				"bytes" => Target::Bytes,
				"result" => Target::Result,
				"selection" => Target::Selection,
				"collective" => Target::Collective,
				_ => Target::Other,
			};
		}
		Op {
			layer: text(record.layer),
			name: text(record.name),
			kind: text(record.kind),
			fields,
			targets,
			tracked: record.flags & op_flag::TRACKED != 0,
			collective: record.flags & op_flag::COLLECTIVE != 0,
			beside: record.flags & op_flag::BESIDE != 0,
			direction: direction(record),
			alignment: record.flags & op_flag::ALIGNMENT != 0,
			pieces: record.pieces(),
		}
	}

	/// Of a call that nothing names.
	pub fn unknown() -> Op {
		Op {
			layer: "unknown".into(),
			name: "unknown".into(),
			kind: "unknown".into(),
			fields: Vec::new(),
			targets: [Target::Other; MAX_TARGETS],
			tracked: false,
			collective: false,
			beside: false,
			direction: None,
			alignment: false,
			pieces: None,
		}
	}

	pub fn field(&self, target: Target) -> Option<usize> {
		self.targets.iter().take(self.fields.len()).position(|&t| t == target)
	}
}

/// Streams of earlier versions say it by the kind alone.
fn direction(record: &OpRecord<'_>) -> Option<Direction> {
	let flagged = |flag| record.flags & flag != 0;
	if flagged(op_flag::READS) || record.kind == b"read" {
		Some(Direction::Read)
	} else if flagged(op_flag::WRITES) || record.kind == b"write" {
		Some(Direction::Write)
	} else {
		None
	}
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ObjectDef {
	pub stream: u64,
	pub number: u32,
	pub class: u32,
	pub parent: u32,
	pub created_by: u64,
	pub name: String,
	pub numbers: Vec<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SiteDef {
	pub module: u32,
	pub offset: u64,
	pub entry: String,
	pub script: ScriptLine,
	/// 0: unknown.
	pub caller: u32,
}

/// Where a call was made in an interpreted program, or in code that it made while it ran; empty: it was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScriptLine {
	pub source: String,
	/// 0: not known.
	pub line: u32,
	pub function: String,
}

impl ScriptLine {
	pub fn of(site: &Site<'_>) -> ScriptLine {
		ScriptLine { source: text(site.source), line: site.line, function: text(site.function) }
	}
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModuleDef {
	pub build_id: Vec<u8>,
	pub path: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupDef {
	pub hash: u64,
	pub size: u32,
	pub ordinal: u32,
	pub own: u32,
	pub members: Vec<u32>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HintDef {
	pub object: u32,
	pub source: u32,
	pub key: String,
	pub value: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MarkDef {
	pub stream: u64,
	pub ticks: u64,
	pub kind: String,
	pub detail: String,
	pub value: u64,
}

/// The process, as its own record describes it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Identity {
	pub parent_pid: Option<u32>,
	pub host: String,
	pub boot_id: String,
	pub exe: Option<String>,
	pub command: Vec<String>,
	pub cwd: Option<String>,
	pub ticks_per_second: u64,
	pub start: Option<u64>,
	pub rank: Option<u32>,
	pub ranks: Option<u32>,
	/// What of `rank` comes from where its world stands in the run: crate::worlds.
	pub first_rank: u32,
	pub mpi: Option<String>,
	/// Processors that its main thread may run on, as `0-1,4`.
	pub allowed: Option<String>,
	/// How many of them its cgroups give it.
	pub allowed_processors: Option<u32>,
}

impl Identity {
	fn introduce(&mut self, record: &ProcessRecord<'_>) {
		let known = |bytes: &[u8]| (!bytes.is_empty()).then(|| text(bytes));
		self.parent_pid = Some(record.parent_pid);
		self.host = text(record.host);
		self.boot_id = text(record.boot_id);
		self.exe = known(record.executable);
		let command = record.command.strip_suffix(b"\0").unwrap_or(record.command);
		if !command.is_empty() {
			self.command = command.split(|&byte| byte == 0).map(text).collect();
		}
		self.cwd = known(record.cwd);
		self.ticks_per_second = record.ticks_per_second;
		self.start = (record.start > 0).then_some(record.start);
		self.rank = self.rank.or(record.rank.checked_sub(1));
		self.ranks = self.ranks.or((record.ranks > 0).then_some(record.ranks));
		let processors: Vec<usize> = record.processors().collect();
		let count = processors.len() as u32;
		self.allowed = (count > 0).then(|| ranges(&processors));
		let given = if record.quota > 0 { count.min(record.quota) } else { count };
		self.allowed_processors = (count > 0).then_some(given);
	}
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Definitions {
	pub ops: HashMap<u32, Op>,
	pub objects: HashMap<u32, ObjectDef>,
	pub sites: HashMap<u32, SiteDef>,
	pub modules: HashMap<u32, ModuleDef>,
	pub selections: HashMap<u32, fathom_stream::Selection>,
	pub groups: HashMap<u32, GroupDef>,
	pub hints: Vec<HintDef>,
	pub marks: Vec<MarkDef>,
	/// Bytes of the image that were resident at once, at most.
	pub memory_peak: Option<u64>,
	/// Those that told their versions.
	pub libraries: BTreeSet<String>,
	/// Packages of Python alone, as `zarr 3.0.1`, and the folder that has them: used where a file of theirs is opened.
	pub packages: Vec<(String, String)>,
	pub datatypes: HashMap<u32, String>,
	/// By pid: a vfork's child records into its parent's file.
	pub identities: HashMap<u32, Identity>,
}

impl Definitions {
	/// Libraries in use, with their versions.
	pub fn libraries_used(&self) -> BTreeSet<String> {
		let opened =
			|below: &str| self.objects.values().any(|object| object.name.starts_with(below));
		let packages = self.packages.iter().filter(|(package, folder)| {
			let name = package.split(' ').next().unwrap_or_default();
			opened(&format!("{folder}/{name}/"))
		});
		self.libraries.iter().chain(packages.map(|(package, _)| package)).cloned().collect()
	}

	/// Takes what `record`, of `stream` of process `pid`, defines.
	pub fn take(&mut self, pid: u32, stream: u64, record: &Record<'_>) {
		match record {
			Record::Op(op) => {
				self.ops.entry(op.op).or_insert_with(|| Op::new(op));
			}
			Record::Object(object) => {
				self.objects.insert(
					object.object,
					ObjectDef {
						stream,
						number: object.object,
						class: object.class,
						parent: object.parent,
						created_by: object.created_by,
						name: text(object.name),
						numbers: object.numbers.clone(),
					},
				);
			}
			Record::Site(site) => {
				let site_def = SiteDef {
					module: site.module,
					offset: site.offset,
					entry: text(site.entry),
					script: ScriptLine::of(site),
					caller: site.caller,
				};
				self.sites.insert(site.site, site_def);
			}
			Record::Module(module) => {
				let build_id = module.build_id.to_vec();
				self.modules.insert(module.module, ModuleDef { build_id, path: text(module.path) });
			}
			Record::Selection(selection) => {
				self.selections.insert(selection.selection, selection.clone());
			}
			Record::Hint(hint) => self.hints.push(HintDef {
				object: hint.object,
				source: hint.source,
				key: text(hint.key),
				value: text(hint.value),
			}),
			Record::Mark(mark) if mark.kind == b"memory" => {
				self.memory_peak = self.memory_peak.max(Some(mark.value));
			}
			Record::Mark(mark) if mark.kind == b"library" => {
				self.libraries.insert(text(mark.detail));
			}
			Record::Mark(mark) if mark.kind == b"package" => {
				let detail = text(mark.detail);
				self.packages.extend(
					detail.split_once(" of ").map(|(name, at)| (name.to_owned(), at.to_owned())),
				);
			}
			Record::Mark(mark)
				if [RENAMED, REMOVED, USED_BY].map(str::as_bytes).contains(&mark.kind) => {}
			Record::Mark(mark) => self.marks.push(MarkDef {
				stream,
				ticks: mark.ticks,
				kind: text(mark.kind),
				detail: text(mark.detail),
				value: mark.value,
			}),
			Record::Datatype(datatype) => {
				self.datatypes.insert(datatype.datatype, text(datatype.name));
			}
			Record::Process(process) => {
				self.identities.entry(pid).or_default().introduce(process);
			}
			Record::Rank(rank) => {
				let identity = self.identities.entry(pid).or_default();
				identity.rank = Some(rank.rank);
				identity.ranks = (rank.ranks > 0).then_some(rank.ranks).or(identity.ranks);
				identity.mpi = (!rank.mpi.is_empty()).then(|| text(rank.mpi));
			}
			Record::Group(group) => {
				self.groups.insert(
					group.object,
					GroupDef {
						hash: group.hash,
						size: group.size,
						ordinal: group.ordinal,
						own: group.own,
						members: group.members.clone(),
					},
				);
			}
			_ => {}
		}
	}

	/// The group that calls on `object` are collective in: its own, or that of the file it lies in.
	pub fn group_of(&self, object: u32) -> Option<(u32, &GroupDef)> {
		let mut at = object;
		for _ in 0..8 {
			if let Some(group) = self.groups.get(&at) {
				return Some((at, group));
			}
			at = self.objects.get(&at).map(|def| def.parent).filter(|&parent| parent != 0)?;
		}
		None
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn numbers_as_ranges() {
		for (numbers, text) in
			[(&[][..], ""), (&[3], "3"), (&[0, 1], "0-1"), (&[0, 1, 2, 4, 6, 7], "0-2,4,6-7")]
		{
			assert_eq!(ranges(numbers), text);
		}
	}
}
