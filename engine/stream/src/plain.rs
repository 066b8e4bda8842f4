//! Made from catalog/stream.toml by `make facts`: records, and what they hold.

use crate::bytes::Cursor;
use crate::error::Reason;
use crate::format::record_type;
use crate::parse;
use crate::record::{Counter, Group, Heat, Object, OpenCall, Part, Plain, Samples, Selection};

#[derive(Debug, Clone, PartialEq)]
pub enum Record<'a> {
	Op(OpRecord<'a>),
	Object(Object<'a>),
	Site(Site<'a>),
	Module(Module<'a>),
	Selection(Selection),
	Link(Link),
	Mark(Mark<'a>),
	Hint(Hint<'a>),
	Counter(Counter),
	Process(ProcessRecord<'a>),
	Open(Vec<OpenCall>),
	Unfinished(Unfinished),
	Rank(Rank<'a>),
	Text(Text<'a>),
	Group(Group),
	Tally(Tally),
	Heat(Heat),
	Datatype(Datatype<'a>),
	Inside(Inside),
	Series(Series<'a>),
	Samples(Samples),
	Kernel(KernelEvent),
	/// Of a later version.
	Unknown(u8),
}

/// The record of type `kind` whose payload is `payload`. Bytes at its end that are not known are left.
pub(crate) fn parse(kind: u8, payload: &[u8]) -> Result<Record<'_>, Reason> {
	let mut from = Cursor::new(payload);
	Ok(match kind {
		record_type::OP => Record::Op(OpRecord::parse(&mut from)?),
		record_type::OBJECT => Record::Object(parse::object(&mut from)?),
		record_type::SITE => Record::Site(Site::parse(&mut from)?),
		record_type::MODULE => Record::Module(Module::parse(&mut from)?),
		record_type::SELECTION => Record::Selection(parse::selection(&mut from)?),
		record_type::LINK => Record::Link(Link::parse(&mut from)?),
		record_type::MARK => Record::Mark(Mark::parse(&mut from)?),
		record_type::HINT => Record::Hint(Hint::parse(&mut from)?),
		record_type::COUNTER => Record::Counter(parse::counter(&mut from)?),
		record_type::PROCESS => Record::Process(ProcessRecord::parse(&mut from)?),
		record_type::OPEN => Record::Open(parse::open(&mut from)?),
		record_type::UNFINISHED => Record::Unfinished(Unfinished::parse(&mut from)?),
		record_type::RANK => Record::Rank(Rank::parse(&mut from)?),
		record_type::TEXT => Record::Text(Text::parse(&mut from)?),
		record_type::GROUP => Record::Group(parse::group(&mut from)?),
		record_type::TALLY => Record::Tally(Tally::parse(&mut from)?),
		record_type::HEAT => Record::Heat(parse::heat(&mut from)?),
		record_type::DATATYPE => Record::Datatype(Datatype::parse(&mut from)?),
		record_type::INSIDE => Record::Inside(Inside::parse(&mut from)?),
		record_type::SERIES => Record::Series(Series::parse(&mut from)?),
		record_type::SAMPLES => Record::Samples(parse::samples(&mut from)?),
		record_type::KERNEL => Record::Kernel(KernelEvent::parse(&mut from)?),
		other => Record::Unknown(other),
	})
}

impl Record<'_> {
	/// The parts and the name of a plain record; `None`: it is another.
	pub fn each_part(&self, see: impl FnMut(&'static str, Part<'_>)) -> Option<&'static str> {
		match self {
			Record::Op(record) => record.named(see),
			Record::Site(record) => record.named(see),
			Record::Module(record) => record.named(see),
			Record::Link(record) => record.named(see),
			Record::Mark(record) => record.named(see),
			Record::Hint(record) => record.named(see),
			Record::Process(record) => record.named(see),
			Record::Unfinished(record) => record.named(see),
			Record::Rank(record) => record.named(see),
			Record::Text(record) => record.named(see),
			Record::Tally(record) => record.named(see),
			Record::Datatype(record) => record.named(see),
			Record::Inside(record) => record.named(see),
			Record::Series(record) => record.named(see),
			Record::Kernel(record) => record.named(see),
			Record::Object(_) | Record::Selection(_) | Record::Counter(_) | Record::Open(_) | Record::Group(_) | Record::Heat(_) | Record::Samples(_) | Record::Unknown(_) => None,
		}
	}
}

/// A function. `fields`: names in order, with commas between. `flags`: docs/stream-format.md#flags-of-ops
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpRecord<'a> {
	pub op: u32,
	pub layer: &'a [u8],
	pub name: &'a [u8],
	pub kind: &'a [u8],
	pub fields: &'a [u8],
	pub flags: u64,
}

impl<'a> OpRecord<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(OpRecord {
			op: from.number("op")?,
			layer: from.text()?,
			name: from.text()?,
			kind: from.text()?,
			fields: from.text()?,
			flags: from.varint()?,
		})
	}
}

impl Plain for OpRecord<'_> {
	const TYPE: u8 = record_type::OP;
	const NAME: &'static str = "op";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("op", Part::Number(u64::from(self.op)));
		see("layer", Part::Text(self.layer));
		see("name", Part::Text(self.name));
		see("kind", Part::Text(self.kind));
		see("fields", Part::Text(self.fields));
		see("flags", Part::Number(self.flags));
	}
}

/// `offset`: return address − load base. `entry`: the Fortran entry, else empty. `source`, `line`, `function`: in
/// Python code, of its innermost frame that is the user's own, else empty. `caller`: the site that the function
/// around it was called from; 0: unknown
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site<'a> {
	pub site: u32,
	pub module: u32,
	pub offset: u64,
	pub entry: &'a [u8],
	pub source: &'a [u8],
	pub line: u32,
	pub function: &'a [u8],
	pub caller: u32,
}

impl<'a> Site<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Site {
			site: from.number("site")?,
			module: from.number("module")?,
			offset: from.varint()?,
			entry: from.text()?,
			source: if from.is_empty() { b"" } else { from.text()? },
			line: if from.is_empty() { 0 } else { from.number("line")? },
			function: if from.is_empty() { b"" } else { from.text()? },
			caller: if from.is_empty() { 0 } else { from.number("caller")? },
		})
	}
}

impl Plain for Site<'_> {
	const TYPE: u8 = record_type::SITE;
	const NAME: &'static str = "site";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("site", Part::Number(u64::from(self.site)));
		see("module", Part::Number(u64::from(self.module)));
		see("offset", Part::Number(self.offset));
		see("entry", Part::Text(self.entry));
		see("source", Part::Text(self.source));
		see("line", Part::Number(u64::from(self.line)));
		see("function", Part::Text(self.function));
		see("caller", Part::Number(u64::from(self.caller)));
	}
}

/// `base`: where it was loaded. The build id is raw bytes
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Module<'a> {
	pub module: u32,
	pub base: u64,
	pub build_id: &'a [u8],
	pub path: &'a [u8],
}

impl<'a> Module<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Module {
			module: from.number("module")?,
			base: from.varint()?,
			build_id: from.text()?,
			path: from.text()?,
		})
	}
}

impl Plain for Module<'_> {
	const TYPE: u8 = record_type::MODULE;
	const NAME: &'static str = "module";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("module", Part::Number(u64::from(self.module)));
		see("base", Part::Number(self.base));
		see("build_id", Part::Text(self.build_id));
		see("path", Part::Text(self.path));
	}
}

/// `kind`: docs/stream-format.md#other-numbers. `percent`: how sure
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link {
	pub seq: u64,
	pub to_stream: u64,
	pub to_seq: u64,
	pub kind: u32,
	pub bytes: u64,
	pub percent: u32,
}

impl Link {
	fn parse(from: &mut Cursor<'_>) -> Result<Self, Reason> {
		Ok(Link {
			seq: from.varint()?,
			to_stream: from.u64()?,
			to_seq: from.varint()?,
			kind: from.number("kind")?,
			bytes: from.varint()?,
			percent: from.number("percent")?,
		})
	}
}

impl Plain for Link {
	const TYPE: u8 = record_type::LINK;
	const NAME: &'static str = "link";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("seq", Part::Number(self.seq));
		see("to_stream", Part::Bytes(self.to_stream));
		see("to_seq", Part::Number(self.to_seq));
		see("kind", Part::Number(u64::from(self.kind)));
		see("bytes", Part::Number(self.bytes));
		see("percent", Part::Number(u64::from(self.percent)));
	}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark<'a> {
	pub ticks: u64,
	pub kind: &'a [u8],
	pub detail: &'a [u8],
	pub value: u64,
}

impl<'a> Mark<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Mark {
			ticks: from.varint()?,
			kind: from.text()?,
			detail: from.text()?,
			value: from.varint()?,
		})
	}
}

impl Plain for Mark<'_> {
	const TYPE: u8 = record_type::MARK;
	const NAME: &'static str = "mark";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("ticks", Part::Number(self.ticks));
		see("kind", Part::Text(self.kind));
		see("detail", Part::Text(self.detail));
		see("value", Part::Number(self.value));
	}
}

/// `source`: docs/stream-format.md#other-numbers
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hint<'a> {
	pub object: u32,
	pub source: u32,
	pub key: &'a [u8],
	pub value: &'a [u8],
}

impl<'a> Hint<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Hint {
			object: from.number("object")?,
			source: from.number("source")?,
			key: from.text()?,
			value: from.text()?,
		})
	}
}

impl Plain for Hint<'_> {
	const TYPE: u8 = record_type::HINT;
	const NAME: &'static str = "hint";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("object", Part::Number(u64::from(self.object)));
		see("source", Part::Number(u64::from(self.source)));
		see("key", Part::Text(self.key));
		see("value", Part::Text(self.value));
	}
}

/// `command`: NUL between words. `start`: in ticks; 0 a second: not known. `rank`: plus 1; 0: not known. `allowed`:
/// a bit for each processor that the main thread may run on, lowest first; empty: not known. `quota`: so many
/// processors its cgroups give it, rounded up; 0: no limit
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessRecord<'a> {
	pub parent_pid: u32,
	pub host: &'a [u8],
	pub boot_id: &'a [u8],
	pub executable: &'a [u8],
	pub command: &'a [u8],
	pub cwd: &'a [u8],
	pub run: &'a [u8],
	pub ticks_per_second: u64,
	pub start: u64,
	pub rank: u32,
	pub ranks: u32,
	pub allowed: &'a [u8],
	pub quota: u32,
}

impl<'a> ProcessRecord<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(ProcessRecord {
			parent_pid: from.number("parent_pid")?,
			host: from.text()?,
			boot_id: from.text()?,
			executable: from.text()?,
			command: from.text()?,
			cwd: from.text()?,
			run: from.text()?,
			ticks_per_second: from.varint()?,
			start: from.varint()?,
			rank: from.number("rank")?,
			ranks: from.number("ranks")?,
			allowed: if from.is_empty() { b"" } else { from.text()? },
			quota: if from.is_empty() { 0 } else { from.number("quota")? },
		})
	}
}

impl Plain for ProcessRecord<'_> {
	const TYPE: u8 = record_type::PROCESS;
	const NAME: &'static str = "process";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("parent_pid", Part::Number(u64::from(self.parent_pid)));
		see("host", Part::Text(self.host));
		see("boot_id", Part::Text(self.boot_id));
		see("executable", Part::Text(self.executable));
		see("command", Part::Text(self.command));
		see("cwd", Part::Text(self.cwd));
		see("run", Part::Text(self.run));
		see("ticks_per_second", Part::Number(self.ticks_per_second));
		see("start", Part::Number(self.start));
		see("rank", Part::Number(u64::from(self.rank)));
		see("ranks", Part::Number(u64::from(self.ranks)));
		see("allowed", Part::Text(self.allowed));
		see("quota", Part::Number(u64::from(self.quota)));
	}
}

/// `reason`: docs/stream-format.md#other-numbers. `op`: plus 1; 0: not known. `began`, `ended`: in ticks
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unfinished {
	pub reason: u32,
	pub seq: u64,
	pub op: u32,
	pub depth: u32,
	pub object: u32,
	pub site: u32,
	pub began: u64,
	pub ended: u64,
	pub size: i64,
	pub offset: i64,
}

impl Unfinished {
	fn parse(from: &mut Cursor<'_>) -> Result<Self, Reason> {
		Ok(Unfinished {
			reason: from.number("reason")?,
			seq: from.varint()?,
			op: from.number("op")?,
			depth: from.number("depth")?,
			object: from.number("object")?,
			site: from.number("site")?,
			began: from.varint()?,
			ended: from.varint()?,
			size: from.zigzag()?,
			offset: from.zigzag()?,
		})
	}
}

impl Plain for Unfinished {
	const TYPE: u8 = record_type::UNFINISHED;
	const NAME: &'static str = "unfinished";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("reason", Part::Number(u64::from(self.reason)));
		see("seq", Part::Number(self.seq));
		see("op", Part::Number(u64::from(self.op)));
		see("depth", Part::Number(u64::from(self.depth)));
		see("object", Part::Number(u64::from(self.object)));
		see("site", Part::Number(u64::from(self.site)));
		see("began", Part::Number(self.began));
		see("ended", Part::Number(self.ended));
		see("size", Part::Signed(self.size));
		see("offset", Part::Signed(self.offset));
	}
}

/// Of MPI_Init; may come after rows. `mpi`: the library's name
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rank<'a> {
	pub rank: u32,
	pub ranks: u32,
	pub mpi: &'a [u8],
}

impl<'a> Rank<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Rank {
			rank: from.number("rank")?,
			ranks: from.number("ranks")?,
			mpi: from.text()?,
		})
	}
}

impl Plain for Rank<'_> {
	const TYPE: u8 = record_type::RANK;
	const NAME: &'static str = "rank";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("rank", Part::Number(u64::from(self.rank)));
		see("ranks", Part::Number(u64::from(self.ranks)));
		see("mpi", Part::Text(self.mpi));
	}
}

/// A textual argument of a call
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text<'a> {
	pub seq: u64,
	pub name: &'a [u8],
	pub value: &'a [u8],
}

impl<'a> Text<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Text {
			seq: from.varint()?,
			name: from.text()?,
			value: from.text()?,
		})
	}
}

impl Plain for Text<'_> {
	const TYPE: u8 = record_type::TEXT;
	const NAME: &'static str = "text";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("seq", Part::Number(self.seq));
		see("name", Part::Text(self.name));
		see("value", Part::Text(self.value));
	}
}

/// How often a value occurred. `enclosing`: op plus 1; 0: none. `what`: docs/stream-format.md#other-numbers. The
/// true number is between `calls − bound` and `calls`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
	pub op: u32,
	pub object: u32,
	pub enclosing: u32,
	pub what: u32,
	pub value: i64,
	pub calls: u64,
	pub bound: u64,
}

impl Tally {
	fn parse(from: &mut Cursor<'_>) -> Result<Self, Reason> {
		Ok(Tally {
			op: from.number("op")?,
			object: from.number("object")?,
			enclosing: from.number("enclosing")?,
			what: from.number("what")?,
			value: from.zigzag()?,
			calls: from.varint()?,
			bound: from.varint()?,
		})
	}
}

impl Plain for Tally {
	const TYPE: u8 = record_type::TALLY;
	const NAME: &'static str = "tally";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("op", Part::Number(u64::from(self.op)));
		see("object", Part::Number(u64::from(self.object)));
		see("enclosing", Part::Number(u64::from(self.enclosing)));
		see("what", Part::Number(u64::from(self.what)));
		see("value", Part::Signed(self.value));
		see("calls", Part::Number(self.calls));
		see("bound", Part::Number(self.bound));
	}
}

/// Names a value of tallies of datatypes or functions
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Datatype<'a> {
	pub datatype: u32,
	pub name: &'a [u8],
}

impl<'a> Datatype<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Datatype {
			datatype: from.number("datatype")?,
			name: from.text()?,
		})
	}
}

impl Plain for Datatype<'_> {
	const TYPE: u8 = record_type::DATATYPE;
	const NAME: &'static str = "datatype";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("datatype", Part::Number(u64::from(self.datatype)));
		see("name", Part::Text(self.name));
	}
}

/// From this seq on, calls are directly inside a counted call of that op, plus 1. 0: in none
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inside {
	pub seq: u64,
	pub op: u32,
}

impl Inside {
	fn parse(from: &mut Cursor<'_>) -> Result<Self, Reason> {
		Ok(Inside {
			seq: from.varint()?,
			op: from.number("op")?,
		})
	}
}

impl Plain for Inside {
	const TYPE: u8 = record_type::INSIDE;
	const NAME: &'static str = "inside";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("seq", Part::Number(self.seq));
		see("op", Part::Number(u64::from(self.op)));
	}
}

/// What an agent samples. Instance 0: the node
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Series<'a> {
	pub series: u32,
	pub instance: u64,
	pub pid: u32,
	pub what: &'a [u8],
	pub device: &'a [u8],
	pub unit: &'a [u8],
}

impl<'a> Series<'a> {
	fn parse(from: &mut Cursor<'a>) -> Result<Self, Reason> {
		Ok(Series {
			series: from.number("series")?,
			instance: from.u64()?,
			pid: from.number("pid")?,
			what: from.text()?,
			device: from.text()?,
			unit: from.text()?,
		})
	}
}

impl Plain for Series<'_> {
	const TYPE: u8 = record_type::SERIES;
	const NAME: &'static str = "series";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("series", Part::Number(u64::from(self.series)));
		see("instance", Part::Bytes(self.instance));
		see("pid", Part::Number(u64::from(self.pid)));
		see("what", Part::Text(self.what));
		see("device", Part::Text(self.device));
		see("unit", Part::Text(self.unit));
	}
}

/// What the kernel did. `kind`: docs/stream-format.md#other-numbers. `pid` 0: for no process of the run. `began`,
/// `ended`: CLOCK_MONOTONIC ns. `device`: major << 20 + minor; 0: none. `at`: bytes in the file or on the disk; a
/// transaction's number. `queued`: ns before the device had it
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelEvent {
	pub kind: u32,
	pub pid: u32,
	pub tid: u32,
	pub device: u32,
	pub began: u64,
	pub ended: u64,
	pub inode: u64,
	pub at: u64,
	pub bytes: u64,
	pub queued: u64,
}

impl KernelEvent {
	fn parse(from: &mut Cursor<'_>) -> Result<Self, Reason> {
		Ok(KernelEvent {
			kind: from.number("kind")?,
			pid: from.number("pid")?,
			tid: from.number("tid")?,
			device: from.number("device")?,
			began: from.varint()?,
			ended: from.varint()?,
			inode: from.varint()?,
			at: from.varint()?,
			bytes: from.varint()?,
			queued: from.varint()?,
		})
	}
}

impl Plain for KernelEvent {
	const TYPE: u8 = record_type::KERNEL;
	const NAME: &'static str = "kernel";

	fn each_part(&self, mut see: impl FnMut(&'static str, Part<'_>)) {
		see("kind", Part::Number(u64::from(self.kind)));
		see("pid", Part::Number(u64::from(self.pid)));
		see("tid", Part::Number(u64::from(self.tid)));
		see("device", Part::Number(u64::from(self.device)));
		see("began", Part::Number(self.began));
		see("ended", Part::Number(self.ended));
		see("inode", Part::Number(self.inode));
		see("at", Part::Number(self.at));
		see("bytes", Part::Number(self.bytes));
		see("queued", Part::Number(self.queued));
	}
}
