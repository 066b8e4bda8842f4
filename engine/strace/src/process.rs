//! What calls did to processes: who made whom, where each is, what it has open; and each call as a row.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use fathom_import::Node;

use crate::calls::{self, About, CALLS, Field, Shape};
use crate::descriptors::{Entry, Numbers, Table};
use crate::line::Outcome;
use crate::log::Event;
use crate::operations::Operations;
use crate::rows::{Image, ObjectDef, Row, path_object, unknown};
use crate::text::{self, AT_FDCWD, Descriptor};

struct Thread {
	image: usize,
	table: Rc<RefCell<Table>>,
	directory: Rc<RefCell<Option<Vec<u8>>>>,
	/// When a call began that a signal interrupted and the kernel will make again, and its first words.
	held: Option<(u64, Vec<u8>)>,
	/// Posts and completions of asynchronous I/O, until it is known which call they lie in.
	points: Vec<Row>,
}

/// A thread of the kernel's own, which posts for the program, makes no call around them.
const MOST_POINTS: usize = 4096;

pub struct Processes<'n> {
	pub images: Vec<Image>,
	threads: HashMap<u32, Thread>,
	numbers: Numbers,
	pub operations: Operations,
	node: &'n Node,
	/// Where the first process begins.
	directory: Option<Vec<u8>>,
	/// Words of the first program, where a log without texts does not have them.
	command: Vec<u8>,
	renamed: bool,
}

/// A call's arguments.
struct Arguments<'a> {
	all: Vec<&'a [u8]>,
}

impl<'a> Arguments<'a> {
	/// Of a call that never returned, as far as they are known.
	fn read(text: &'a [u8], name: usize) -> Arguments<'a> {
		let inside = text.get(name + 1..).unwrap_or_default();
		if let Some((ranges, _)) = text::arguments(inside) {
			return Arguments { all: ranges.into_iter().map(|range| &inside[range]).collect() };
		}
		let mut closed = inside.trim_ascii_end().to_vec();
		closed.push(b')');
		let ranges = text::arguments(&closed).map(|(ranges, _)| ranges).unwrap_or_default();
		Arguments { all: ranges.into_iter().filter_map(|range| inside.get(range)).collect() }
	}

	fn at(&self, place: usize) -> &'a [u8] {
		self.all.get(place).copied().unwrap_or_default()
	}

	fn number(&self, place: usize) -> i64 {
		calls::value(self.at(place))
	}

	fn descriptor(&self, place: usize) -> Option<Descriptor> {
		text::descriptor(self.at(place))
	}

	fn path(&self, place: usize) -> Option<Vec<u8>> {
		text::quoted(self.at(place))
	}
}

fn join(directory: Option<&[u8]>, path: Vec<u8>) -> Vec<u8> {
	match directory {
		Some(directory) if !path.starts_with(b"/") => {
			let slash: &[u8] = if directory.ends_with(b"/") { b"" } else { b"/" };
			[directory, slash, &path].concat()
		}
		_ => path,
	}
}

impl<'n> Processes<'n> {
	pub fn new(node: &'n Node, directory: Option<Vec<u8>>, command: Vec<u8>) -> Processes<'n> {
		Processes {
			images: Vec::new(),
			threads: HashMap::new(),
			numbers: Numbers::default(),
			operations: Operations::default(),
			node,
			directory,
			command,
			renamed: false,
		}
	}

	/// A process that was there before, where it is and what it has open.
	pub fn add(
		&mut self,
		(tid, parent): (u32, u32),
		directory: Option<Vec<u8>>,
		open: Vec<(i64, Vec<u8>)>,
	) {
		self.directory = directory;
		self.appear(tid);
		if let Some(image) = self.images.last_mut() {
			image.parent = parent;
		}
		let mut table = self.threads[&tid].table.borrow_mut();
		for (fd, name) in open {
			table.open(fd, (name, None), 0, None, &mut self.numbers);
		}
	}

	pub fn knows(&self, tid: u32) -> bool {
		self.threads.contains_key(&tid)
	}

	/// A thread that the kernel made in this process, without a call that says so.
	pub fn know(&mut self, tid: u32, process: u32) {
		let Some(of) = self.threads.get(&process).filter(|_| !self.threads.contains_key(&tid))
		else {
			return;
		};
		let (table, directory) = (Rc::clone(&of.table), Rc::clone(&of.directory));
		let thread = Thread { image: of.image, table, directory, held: None, points: Vec::new() };
		self.threads.insert(tid, thread);
	}

	/// The image of a thread is recorded by somebody else.
	pub fn forget(&mut self, tid: u32) {
		let Some(image) = self.threads.get(&tid).map(|thread| thread.image) else { return };
		self.threads.retain(|_, thread| thread.image != image);
		self.images[image] = Image::new(0, 0);
	}

	/// Events must come in their order.
	pub fn take(&mut self, event: &Event<'_>) {
		let name = event.name();
		if name.is_empty() {
			return;
		}
		if !self.threads.contains_key(&event.tid) {
			self.appear(event.tid);
		}
		let arguments = Arguments::read(&event.text, name.len());
		match name {
			b"clone" | b"clone3" | b"fork" | b"vfork" => self.make(event, name, &arguments),
			b"execve" | b"execveat" => self.exec(event, name, &arguments),
			b"rt_sigreturn" => self.signal_over(event),
			_ => {
				if let Some(place) = calls::place(name).or_else(|| calls::place_of_op(name)) {
					self.call(event, place, &arguments);
				}
			}
		}
	}

	pub fn end(&mut self) {
		let threads: Vec<u32> = self.threads.keys().copied().collect();
		for tid in threads {
			self.points_before(tid, u64::MAX);
		}
		self.images.iter_mut().for_each(|image| image.end(self.node, false));
	}

	/// The program itself, or a process whose start is not in the log.
	fn appear(&mut self, tid: u32) {
		let mut image = Image::new(tid, 0);
		image.directory = self.directory.clone().unwrap_or_default();
		self.images.push(image);
		let thread = Thread {
			image: self.images.len() - 1,
			table: Rc::default(),
			directory: Rc::new(RefCell::new(self.directory.clone())),
			held: None,
			points: Vec::new(),
		};
		self.threads.insert(tid, thread);
	}

	/// A thread, or a process that shares what its flags say.
	fn make(&mut self, event: &Event<'_>, name: &[u8], arguments: &Arguments<'_>) {
		let result = event.outcome.as_ref().and_then(|outcome| outcome.result);
		let Some(child) = result.and_then(|tid| u32::try_from(tid).ok()).filter(|&tid| tid > 0)
		else {
			return;
		};
		let flags =
			if name.ends_with(b"fork") { Vec::new() } else { arguments.all.join(&b","[..]) };
		let shares = |flag: &[u8]| flags.windows(flag.len()).any(|window| window == flag);
		let Some(parent) = self.threads.get(&event.tid) else { return };
		let table = match shares(b"CLONE_FILES") {
			true => Rc::clone(&parent.table),
			false => Rc::new(RefCell::new(parent.table.borrow().clone())),
		};
		let directory = match shares(b"CLONE_FS") {
			true => Rc::clone(&parent.directory),
			false => Rc::new(RefCell::new(parent.directory.borrow().clone())),
		};
		let mut image = parent.image;
		if !shares(b"CLONE_THREAD") {
			let from = &self.images[image];
			let mut child_image = Image::new(child, from.pid);
			child_image.executable.clone_from(&from.executable);
			child_image.command.clone_from(&from.command);
			child_image.directory = directory.borrow().clone().unwrap_or_default();
			self.images.push(child_image);
			image = self.images.len() - 1;
		}
		self.threads
			.insert(child, Thread { image, table, directory, held: None, points: Vec::new() });
	}

	fn exec(&mut self, event: &Event<'_>, name: &[u8], arguments: &Arguments<'_>) {
		let done = event.outcome.as_ref().is_some_and(|outcome| outcome.result == Some(0));
		self.points_before(event.tid, u64::MAX);
		let Some(thread) = self.threads.get_mut(&event.tid).filter(|_| done) else { return };
		let first = if name == b"execveat" { 1 } else { 0 };
		let before = &mut self.images[thread.image];
		let mut image = Image::new(before.pid, before.parent);
		before.end(self.node, true);
		let directory = thread.directory.borrow().clone();
		let path = arguments.path(first).unwrap_or_default();
		image.executable = join(directory.as_deref(), path);
		image.command = words(arguments.at(first + 1));
		let known = std::mem::take(&mut self.command);
		if image.command.is_empty() {
			let alone = || [&image.executable[..], b"\0"].concat();
			image.command = if known.is_empty() { alone() } else { known };
		}
		image.directory = directory.unwrap_or_default();
		// Another program has a table of its own.
		let mut table = thread.table.borrow().clone();
		table.exec();
		thread.table = Rc::new(RefCell::new(table));
		self.images.push(image);
		thread.image = self.images.len() - 1;
	}

	/// A handler returned; the call that it interrupted ends with EINTR, or is made again.
	fn signal_over(&mut self, event: &Event<'_>) {
		let ended = event.outcome.as_ref().and_then(|outcome| outcome.error.as_deref());
		let held = self.threads.get_mut(&event.tid).filter(|_| ended == Some(b"EINTR"));
		let Some((began, words)) = held.and_then(|thread| thread.held.take()) else { return };
		let outcome =
			Outcome { result: Some(-1), error: Some(b"EINTR".to_vec()), ..Outcome::default() };
		let text = std::borrow::Cow::Owned(words);
		let call =
			Event { tid: event.tid, began, ended: event.began, text, outcome: Some(outcome) };
		self.take(&call);
	}

	fn call(&mut self, event: &Event<'_>, place: usize, arguments: &Arguments<'_>) {
		let restarts = |outcome: &Outcome| {
			outcome.error.as_ref().is_some_and(|error| error.starts_with(b"ERESTART"))
		};
		let Some(thread) = self.threads.get_mut(&event.tid) else { return };
		let held = thread.held.take();
		let words = || event.text.to_vec();
		let again = held.filter(|(_, before)| same_call(before, &event.text));
		let began = again.map_or(event.began, |(began, _)| began);
		if event.outcome.as_ref().is_some_and(restarts) {
			thread.held = Some((began, words()));
			return;
		}
		let place = variant(place, arguments);
		let shape = &CALLS[place];
		let outcome = event.outcome.clone().unwrap_or_default();
		let failed = outcome.error.is_some();
		let entry = self.entry(event, shape, arguments);
		if shape.op == "mmap" && entry.is_none() {
			return;
		}
		if matches!(shape.about, About::Address(_)) && self.mapping(event.tid, arguments).is_none()
		{
			return;
		}
		let fields = fields(shape, arguments, &outcome, entry.as_ref());
		let about = self.about(event, shape, arguments, entry.as_ref());
		let to = shape.to.and_then(|to| self.second(event.tid, to, arguments));
		let mut row = Row {
			shape: place,
			about,
			began,
			ended: event.ended,
			error: outcome.error.as_deref().map_or(0, calls::errno),
			fields,
			to,
			open: outcome.result.is_none(),
			operation: None,
		};
		let other = self.other_side(event, shape, arguments, &outcome);
		if !failed {
			self.effect(event, shape, arguments, &outcome, entry.as_ref(), &mut row);
		}
		let inside = self.points_before(event.tid, row.began);
		let image = &mut self.images[self.threads[&event.tid].image];
		image.tree(self.node, event.tid, &inside, &row);
		if let Some(other) = other {
			image.row(self.node, event.tid, &other);
		}
	}

	/// Posts and completions of a thread that wait for the call around them; those from before it have none.
	fn points_before(&mut self, tid: u32, call: u64) -> Vec<Row> {
		let Some(thread) = self.threads.get_mut(&tid) else { return Vec::new() };
		let inside = thread.points.iter().position(|row| row.began >= call);
		let inside = thread.points.split_off(inside.unwrap_or(thread.points.len()));
		let image = &mut self.images[thread.image];
		for row in thread.points.drain(..) {
			image.row(self.node, tid, &row);
		}
		inside
	}

	pub fn point(&mut self, tid: u32, row: Row) {
		let Some(thread) = self.threads.get_mut(&tid) else { return };
		thread.points.push(row);
		if thread.points.len() > MOST_POINTS {
			self.points_before(tid, u64::MAX);
		}
	}

	/// The row of a copy's other descriptor.
	fn other_side(
		&mut self,
		event: &Event<'_>,
		shape: &Shape,
		arguments: &Arguments<'_>,
		outcome: &Outcome,
	) -> Option<Row> {
		let op = match shape.op {
			"sendfile" => "copy_target",
			"copy_file_range" | "splice" => "copy_source",
			_ => return None,
		};
		outcome.result.filter(|&moved| moved > 0)?;
		let place = CALLS.iter().position(|shape| shape.op == op)?;
		let entry = self.entry(event, &CALLS[place], arguments)?;
		Some(Row {
			shape: place,
			about: self.about(event, &CALLS[place], arguments, Some(&entry)),
			began: event.ended,
			ended: event.ended,
			error: 0,
			fields: fields(&CALLS[place], arguments, outcome, Some(&entry)),
			to: None,
			open: false,
			operation: None,
		})
	}

	/// The open file that a call is about.
	fn entry(
		&mut self,
		event: &Event<'_>,
		shape: &Shape,
		arguments: &Arguments<'_>,
	) -> Option<Entry> {
		let place = match (shape.about, shape.op) {
			(About::Fd(place), _) => place,
			(About::At(place, _), "fstat") => place,
			_ => return None,
		};
		let descriptor = arguments.descriptor(place).filter(|descriptor| descriptor.number >= 0)?;
		let entry = self.entry_of(event.tid, &descriptor)?;
		entry.description.borrow_mut().used(event.tid, event.began, event.ended);
		Some(entry)
	}

	pub fn entry_of(&mut self, tid: u32, descriptor: &Descriptor) -> Option<Entry> {
		let table = &self.threads.get(&tid).filter(|_| descriptor.number >= 0)?.table;
		Some(table.borrow_mut().find(descriptor, self.renamed, &mut self.numbers))
	}

	/// A file that a thread opened, of which no descriptor was known.
	pub fn opened(&mut self, tid: u32, fd: i64, name: Vec<u8>, flags: i64) -> Option<ObjectDef> {
		let mut table = self.threads.get(&tid)?.table.borrow_mut();
		let entry = table.open(fd, (name, None), flags, Some(0), &mut self.numbers);
		Some(entry.description.borrow().object(fd, true))
	}

	pub fn closed(&mut self, tid: u32, fd: i64) {
		if let Some(thread) = self.threads.get(&tid) {
			thread.table.borrow_mut().close(fd);
		}
	}

	fn mapping(&self, tid: u32, arguments: &Arguments<'_>) -> Option<ObjectDef> {
		let table = self.threads.get(&tid)?.table.borrow();
		table.mapped(text::number(arguments.at(0))? as u64)
	}

	/// A path from where the thread is, or from a directory that it has open.
	pub fn whole(&self, tid: u32, directory: Option<&Descriptor>, path: Vec<u8>) -> Vec<u8> {
		let thread = &self.threads[&tid];
		match directory {
			Some(descriptor) if descriptor.number != AT_FDCWD || descriptor.path.is_some() => {
				if descriptor.number == AT_FDCWD {
					thread.directory.borrow_mut().clone_from(&descriptor.path);
				}
				join(descriptor.path.as_deref(), path)
			}
			_ => join(thread.directory.borrow().as_deref(), path),
		}
	}

	fn about(
		&self,
		event: &Event<'_>,
		shape: &Shape,
		arguments: &Arguments<'_>,
		entry: Option<&Entry>,
	) -> Option<ObjectDef> {
		if let Some(entry) = entry {
			let place =
				if let About::Fd(place) | About::At(place, _) = shape.about { place } else { 0 };
			let fd = arguments.descriptor(place)?.number;
			return Some(entry.description.borrow().object(fd, false));
		}
		match shape.about {
			About::Path(place) => {
				Some(path_object(self.whole(event.tid, None, arguments.path(place)?)))
			}
			About::At(directory, place) => {
				let directory = arguments.descriptor(directory);
				Some(path_object(self.whole(event.tid, directory.as_ref(), arguments.path(place)?)))
			}
			About::Address(_) => self.mapping(event.tid, arguments),
			About::Fd(_) | About::Nothing => None,
		}
	}

	fn second(&self, tid: u32, to: (usize, usize), arguments: &Arguments<'_>) -> Option<Vec<u8>> {
		let directory = if to.0 == to.1 { None } else { arguments.descriptor(to.0) };
		Some(self.whole(tid, directory.as_ref(), arguments.path(to.1)?))
	}

	/// What a call that succeeded changed.
	fn effect(
		&mut self,
		event: &Event<'_>,
		shape: &Shape,
		arguments: &Arguments<'_>,
		outcome: &Outcome,
		entry: Option<&Entry>,
		row: &mut Row,
	) {
		let Some(result) = outcome.result else { return };
		let Some(thread) = self.threads.get(&event.tid) else { return };
		let mut table = thread.table.borrow_mut();
		match (shape.op, entry) {
			("pipe" | "pipe2", _) => {
				let flags = if shape.op == "pipe2" { arguments.number(1) } else { 0 };
				for end in pair(arguments.at(0)) {
					let name = end.path.clone().unwrap_or_else(|| b"pipe".to_vec());
					table.open(end.number, (name, end.path), flags, Some(0), &mut self.numbers);
				}
			}
			("close", _) => {
				table.close(arguments.descriptor(0).map_or(-1, |descriptor| descriptor.number))
			}
			("close_range", _) => {
				let marks = arguments.at(2).ends_with(b"CLOEXEC");
				let last = match arguments.number(1) {
					-1 => i64::MAX,
					last => last,
				};
				table.close_range(arguments.number(0), last, marks);
			}
			("dup" | "dup2" | "dup3", Some(entry)) => {
				let closes = shape.op == "dup3" && arguments.number(2) & calls::O_CLOEXEC != 0;
				table.duplicate(entry, result, closes);
			}
			("fcntl", Some(entry)) => control(&mut table, entry, arguments, result),
			("mmap", Some(entry)) => {
				let fd = arguments.descriptor(4).map_or(-1, |descriptor| descriptor.number);
				let file = entry.description.borrow().object(fd, false);
				table.map(result as u64, arguments.number(1) as u64, file, &mut self.numbers);
			}
			("io_uring_setup", _) => {
				let name = b"anon_inode:[io_uring]".to_vec();
				table.open(result, (name, None), 0, Some(0), &mut self.numbers);
			}
			("munmap", _) => table.unmap(arguments.number(0) as u64, arguments.number(1) as u64),
			("chdir", _) => {
				*thread.directory.borrow_mut() = row.about.as_ref().map(|about| about.name.clone());
			}
			("fchdir", _) => {
				let shown = arguments.descriptor(0).and_then(|descriptor| descriptor.path);
				*thread.directory.borrow_mut() = shown;
			}
			("rename" | "renameat" | "renameat2" | "link" | "linkat", _) => self.renamed = true,
			(_, Some(entry)) => {
				let numbers = &mut self.numbers;
				moved(&mut table, numbers, entry, shape, arguments, result);
			}
			_ if shape.kind == "open" && shape.layer == "posix" => {
				let shown =
					outcome.descriptor.as_ref().and_then(|descriptor| descriptor.path.clone());
				let argument = row.about.take().map(|about| about.name);
				let name = argument.or_else(|| shown.clone()).unwrap_or_default();
				let flags = opened_with(shape, arguments);
				let entry = table.open(result, (name, shown), flags, Some(0), &mut self.numbers);
				row.about = Some(entry.description.borrow().object(result, true));
			}
			_ => {}
		}
	}
}

fn opened_with(shape: &Shape, arguments: &Arguments<'_>) -> i64 {
	match shape.syscall {
		"openat" => arguments.number(2),
		"open" => arguments.number(1),
		"creat" => calls::value(b"O_WRONLY|O_CREAT|O_TRUNC"),
		"openat2" => {
			let how = arguments.at(2).strip_prefix(b"{flags=").unwrap_or_default();
			calls::value(how.split(|&byte| byte == b',').next().unwrap_or_default())
		}
		"memfd_create" => calls::value(b"O_RDWR"),
		_ => 0,
	}
}

fn control(table: &mut Table, entry: &Entry, arguments: &Arguments<'_>, result: i64) {
	let fd = arguments.descriptor(0).map_or(-1, |descriptor| descriptor.number);
	let is_copy = arguments.at(1) == b"F_DUPFD" || arguments.at(1) == b"0";
	match arguments.number(1) {
		calls::F_DUPFD if is_copy => table.duplicate(entry, result, false),
		calls::F_DUPFD_CLOEXEC => table.duplicate(entry, result, true),
		calls::F_SETFD => table.keep_on_exec(fd, arguments.number(2) & 1 != 0),
		calls::F_SETFL => {
			let mut description = entry.description.borrow_mut();
			let append = arguments.number(2) & calls::O_APPEND;
			description.flags = description.flags & !calls::O_APPEND | append;
		}
		_ => {}
	}
}

/// Positions after a transfer or a seek.
fn moved(
	table: &mut Table,
	numbers: &mut Numbers,
	entry: &Entry,
	shape: &Shape,
	arguments: &Arguments<'_>,
	result: i64,
) {
	if shape.op == "lseek" {
		entry.description.borrow_mut().position = Some(result);
		return;
	}
	let by_position = shape.fields.iter().any(|(_, from)| match from {
		Field::Position => true,
		Field::Pointed(place) => arguments.at(*place) == b"NULL",
		Field::GivenOrPosition(place) => arguments.number(*place) == -1,
		_ => false,
	});
	if by_position {
		advance(entry, shape.kind == "write", result);
	}
	let other = match shape.op {
		"sendfile" => Some((0, true)),
		"copy_file_range" | "splice" if arguments.at(1) == b"NULL" => Some((0, false)),
		_ => None,
	};
	if let Some((place, writes)) = other
		&& let Some(descriptor) = arguments.descriptor(place)
	{
		let entry = table.find(&descriptor, true, numbers);
		advance(&entry, writes, result);
	}
}

fn advance(entry: &Entry, writes: bool, bytes: i64) {
	let mut description = entry.description.borrow_mut();
	let appends = writes && description.flags & calls::O_APPEND != 0;
	description.position = match description.position {
		Some(at) if !appends => at.checked_add(bytes),
		_ => None,
	};
}

/// libc's function by the arguments.
fn variant(place: usize, arguments: &Arguments<'_>) -> usize {
	let at_cwd = arguments.at(0).starts_with(b"AT_FDCWD");
	let op = match CALLS[place].syscall {
		"openat" if at_cwd => "open",
		"newfstatat" if arguments.path(1).is_some_and(|path| path.is_empty()) => "fstat",
		"newfstatat" if at_cwd && arguments.number(3) & calls::AT_SYMLINK_NOFOLLOW != 0 => "lstat",
		"newfstatat" if at_cwd => "stat",
		_ => return place,
	};
	let syscall = CALLS[place].syscall;
	let known = CALLS.iter().position(|shape| shape.syscall == syscall && shape.op == op);
	known.unwrap_or(place)
}

/// Name and first argument: the rest is what the kernel wrote.
fn same_call(before: &[u8], now: &[u8]) -> bool {
	let first = |text: &[u8]| text.split(|&byte| byte == b',').next().map(<[u8]>::to_vec);
	first(before) == first(now)
}

fn fields(
	shape: &Shape,
	arguments: &Arguments<'_>,
	outcome: &Outcome,
	entry: Option<&Entry>,
) -> Vec<i64> {
	let position = || {
		let description = entry?.description.borrow();
		let appends = shape.kind == "write" && description.flags & calls::O_APPEND != 0;
		description.position.filter(|_| !appends)
	};
	let result = if outcome.error.is_some() { -1 } else { outcome.result.unwrap_or(0) };
	let one = |from: Field| match from {
		Field::Argument(place) => Some(arguments.number(place)),
		Field::Result => Some(result),
		Field::Position => position(),
		Field::Pointed(place) if arguments.at(place) == b"NULL" => position(),
		Field::Pointed(place) => text::pointed(arguments.at(place)),
		Field::GivenOrPosition(place) if arguments.number(place) == -1 => position(),
		Field::GivenOrPosition(place) => Some(arguments.number(place)),
		Field::Vector(place) => text::vector(arguments.at(place)).or(Some(result.max(0))),
	};
	shape.fields.iter().map(|(_, from)| one(*from).unwrap_or(unknown(*from))).collect()
}

/// `[5<pipe:[1]>, 6<pipe:[1]>]`
fn pair(text: &[u8]) -> Vec<Descriptor> {
	let inside = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
	let parts = inside.unwrap_or_default().split(|&byte| byte == b',');
	parts.filter_map(|part| text::descriptor(part.trim_ascii())).collect()
}

/// `["true", "-v"]`, with a zero byte after each.
fn words(text: &[u8]) -> Vec<u8> {
	let mut closed = text.strip_prefix(b"[").unwrap_or_default().to_vec();
	if closed.pop() != Some(b']') {
		return Vec::new();
	}
	closed.push(b')');
	let ranges = text::arguments(&closed).map(|(ranges, _)| ranges).unwrap_or_default();
	let all = ranges.into_iter().filter_map(|range| text::quoted(&closed[range]));
	all.flat_map(|word| [word, vec![0]].concat()).collect()
}
