//! What a process image calls its ops, objects and sites, and what all images of the run mean by them.

use std::collections::HashMap;

use fathom_pack::{Frames, Resolved, ScriptLine, SiteKey, Sites};
use fathom_stream::{OpRecord, Record, object_class, op_flag};

use crate::sums::Table;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OpName {
	pub layer: String,
	pub op: String,
	pub kind: String,
}

/// The run's names, each once.
#[derive(Default)]
pub struct Book {
	pub ops: Vec<OpName>,
	op_numbers: HashMap<OpName, u32>,
	pub files: Vec<String>,
	file_numbers: HashMap<String, u32>,
	sites: Sites,
	frames: Frames,
}

/// Files beyond these count as one.
const MOST_FILES: usize = 1 << 18;
const OTHER_FILES: &str = "(other files)";

impl Book {
	/// `skipped`: wrappers, whose lines are not the user's own.
	pub fn new(skipped: Vec<String>) -> Book {
		Book { frames: Frames::new(skipped), ..Book::default() }
	}

	fn op(&mut self, name: OpName) -> u32 {
		if let Some(&number) = self.op_numbers.get(&name) {
			return number;
		}
		self.ops.push(name.clone());
		let number = self.ops.len() as u32 - 1;
		self.op_numbers.insert(name, number);
		number
	}

	fn file(&mut self, name: &str) -> u32 {
		let name = if self.files.len() < MOST_FILES || self.file_numbers.contains_key(name) {
			name
		} else {
			OTHER_FILES
		};
		if let Some(&number) = self.file_numbers.get(name) {
			return number;
		}
		self.files.push(name.to_owned());
		let number = self.files.len() as u32 - 1;
		self.file_numbers.insert(name.to_owned(), number);
		number
	}

	fn site(&mut self, site: u32, told: impl Fn(u32) -> Option<(SiteKey, u32)>) -> Option<u32> {
		let number = self.sites.number(site, told)?;
		self.frames.look_up(&self.sites);
		Some(number)
	}

	/// The user's line of a site.
	pub fn line(&self, site: u32) -> Resolved {
		self.frames.users(&self.sites, site)
	}
}

/// An op of one image.
#[derive(Debug, Clone, Copy)]
pub struct Op {
	/// In [`Book::ops`].
	pub number: u32,
	/// Which of its fields is the bytes that moved.
	pub bytes: Option<usize>,
	/// Calls in it are as if outermost: a region of the program, a lock.
	pub transparent: bool,
	pub collective: bool,
}

#[derive(Debug, Clone, Copy)]
struct Object {
	parent: u32,
	/// In [`Book::files`].
	file: Option<u32>,
}

struct Site {
	module: u32,
	offset: u64,
	entry: String,
	script: ScriptLine,
	caller: u32,
	/// In the book, once somebody asked.
	known: Option<u32>,
}

/// What one image names.
#[derive(Default)]
pub struct Names {
	ops: Table<u32, Op>,
	objects: Table<u32, Object>,
	sites: Table<u32, Site>,
	modules: Table<u32, (String, Vec<u8>)>,
	executable: String,
}

fn text(bytes: &[u8]) -> String {
	String::from_utf8_lossy(bytes).into_owned()
}

impl Names {
	pub fn take(&mut self, record: &Record<'_>, book: &mut Book) {
		match record {
			Record::Op(op) if !self.ops.contains_key(&op.op) => {
				self.ops.insert(op.op, named(op, book));
			}
			Record::Object(object) => {
				let named = object_class::PATHS.contains(&object.class) && !object.name.is_empty();
				let file = named.then(|| book.file(&String::from_utf8_lossy(object.name)));
				self.objects.insert(object.object, Object { parent: object.parent, file });
			}
			Record::Site(site) => {
				let (module, offset, entry) = (site.module, site.offset, text(site.entry));
				let (script, caller) = (ScriptLine::of(site), site.caller);
				let named = Site { module, offset, entry, script, caller, known: None };
				self.sites.insert(site.site, named);
			}
			Record::Module(module) => {
				let content = (text(module.path), module.build_id.to_vec());
				self.modules.insert(module.module, content);
			}
			Record::Process(process) if self.executable.is_empty() => {
				self.executable = text(process.executable);
			}
			_ => {}
		}
	}

	pub fn executable(&self) -> &str {
		&self.executable
	}

	pub fn op(&self, op: u32) -> Option<Op> {
		self.ops.get(&op).copied()
	}

	/// Are object and site known by now? Another thread's stream may tell of them a little later.
	pub fn knows(&self, object: u32, site: u32) -> bool {
		(object == 0 || self.objects.contains_key(&object))
			&& (site == 0 || self.sites.contains_key(&site))
	}

	/// The file that an object is, or lies in.
	pub fn file(&self, object: u32) -> Option<u32> {
		let mut at = self.objects.get(&object)?;
		for _ in 0..8 {
			if at.file.is_some() {
				return at.file;
			}
			at = self.objects.get(&at.parent)?;
		}
		None
	}

	/// In the book, where [`Names::site`] was asked before.
	pub fn known_site(&self, site: u32) -> Option<u32> {
		self.sites.get(&site)?.known
	}

	pub fn site(&mut self, site: u32, book: &mut Book) -> Option<u32> {
		if self.sites.get(&site)?.known.is_none() {
			let known = book.site(site, |number| self.key_of(number));
			self.sites.get_mut(&site)?.known = known;
		}
		self.known_site(site)
	}

	/// What the streams say of a site, and the site of its caller.
	fn key_of(&self, site: u32) -> Option<(SiteKey, u32)> {
		let site = self.sites.get(&site)?;
		let module = self.modules.get(&site.module);
		let module = module.map_or(("", &[][..]), |(path, build_id)| (path, build_id));
		let key = SiteKey::of(module, &self.executable, site.offset, &site.entry, &site.script);
		Some((key, site.caller))
	}
}

fn named(record: &OpRecord<'_>, book: &mut Book) -> Op {
	let name = OpName { layer: text(record.layer), op: text(record.name), kind: text(record.kind) };
	let transparent = matches!(name.layer.as_str(), "user" | "threads");
	let bytes = record.fields.split(|&byte| byte == b',').position(|field| field == b"bytes");
	let collective = record.flags & op_flag::COLLECTIVE != 0;
	Op { number: book.op(name), bytes, transparent, collective }
}
