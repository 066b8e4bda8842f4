//! Programs that no library is in: which they are, and their calls as streams.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use fathom_import::{Node, write};
use fathom_strace::{Live, Program};

use crate::KernelError;
use crate::calls::{self, DONE, EXEC, Event, FETCHED, FORK, Known, POST, POSTS, RECORDED, RING};
use crate::operations;

/// What the log says of such a program.
const LIMITS: &str = "recorded by the kernel: system calls only, no library above them; no inode, so a file is its name";
/// Standard input, output and error.
const FIRST_DESCRIPTORS: i64 = 3;

pub struct Unrecorded<'n> {
	live: Live<'n>,
	known: HashMap<u32, Known>,
	/// Who started the program.
	parent: u32,
	/// Between their fork and their exec they are still `fathom run`.
	starting: HashSet<u32>,
	/// Of io_uring, by process and descriptor.
	rings: HashMap<(u32, u64), u64>,
}

/// `None`: it has ended, or may not be looked at; then its file is one of which nothing is known.
fn link(process: u32, name: &str) -> Option<Vec<u8>> {
	let path = fs::read_link(format!("/proc/{process}/{name}")).ok()?;
	Some(path.into_os_string().into_encoded_bytes())
}

fn numbers_in(folder: &str) -> Vec<u32> {
	let entries = fs::read_dir(folder).into_iter().flatten().flatten();
	entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn threads(process: u32) -> Vec<u32> {
	numbers_in(&format!("/proc/{process}/task"))
}

/// What a program is that runs, and what it has open: nothing of one that has ended, or may not be looked at.
fn running(process: u32) -> Program {
	let read = |name: &str| fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
	let open = |fd: u32| Some((i64::from(fd), link(process, &format!("fd/{fd}"))?));
	let command = read("cmdline");
	let status = String::from_utf8_lossy(&read("status")).into_owned();
	let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok());
	Program {
		parent: parent.unwrap_or(0),
		path: link(process, "exe").unwrap_or_default(),
		words: calls::words(&command),
		directory: link(process, "cwd"),
		open: numbers_in(&format!("/proc/{process}/fd")).into_iter().filter_map(open).collect(),
	}
}

impl<'n> Unrecorded<'n> {
	/// `there`: such programs that run already.
	pub fn new(node: &'n Node, parent: u32, there: &[u32]) -> Unrecorded<'n> {
		let mut live = Live::new(node);
		there.iter().for_each(|&process| live.there(process, &threads(process), running(process)));
		Unrecorded {
			live,
			known: calls::known().collect(),
			parent,
			starting: HashSet::new(),
			rings: HashMap::new(),
		}
	}

	pub fn take(&mut self, event: &Event<'_>) {
		match event.kind {
			FORK => self.fork(event),
			EXEC => self.exec(event),
			RECORDED => self.live.forget(event.thread),
			RING => {
				let [fd, ring, ..] = event.arguments;
				self.rings.insert((event.process, fd), ring);
			}
			POST | DONE | POSTS | FETCHED => self.operations(event),
			_ => self.call(event),
		}
	}

	fn fork(&mut self, event: &Event<'_>) {
		let [thread, process, same_files, same_directory, ..] = event.arguments;
		let (thread, process) = (thread as u32, process as u32);
		let of_its_own = process != event.process;
		if event.process == self.parent || self.starting.contains(&event.process) {
			self.starting.insert(process);
			return;
		}
		let mut shares = vec!["clone("];
		shares.extend((!of_its_own).then_some("CLONE_THREAD|"));
		shares.extend((same_files != 0).then_some("CLONE_FILES|"));
		shares.extend((same_directory != 0).then_some("CLONE_FS|"));
		let text = shares.concat().into_bytes();
		self.live.call(
			event.thread,
			(event.began, event.ended),
			[text, b"0)".to_vec()].concat(),
			i64::from(thread),
		);
	}

	fn exec(&mut self, event: &Event<'_>) {
		let (process, first) = (event.process, self.starting.remove(&event.process));
		// The program has what `fathom run` has; of another it is looked up while it runs.
		let of = if first { self.parent } else { process };
		let open = |fd: i64| Some((fd, link(of, &format!("fd/{fd}"))?));
		let program = Program {
			parent: self.parent,
			path: event.path.unwrap_or_default().to_vec(),
			words: event.words(),
			directory: link(of, "cwd"),
			open: (0..FIRST_DESCRIPTORS).filter_map(open).collect(),
		};
		self.live.program(event.thread, event.began, program);
	}

	fn call(&mut self, event: &Event<'_>) {
		let known =
			self.known.get(&event.number).filter(|_| !self.starting.contains(&event.process));
		if let Some(known) = known {
			if let Some((first, files)) = operations::registered(event, known.name)
				&& let Some(&ring) = self.rings.get(&(event.process, event.arguments[0]))
			{
				self.live.register(event.thread, ring, first, &files);
			}
			self.live.call(
				event.thread,
				(event.began, event.ended),
				event.text(known),
				event.result,
			);
		}
	}

	fn operations(&mut self, event: &Event<'_>) {
		let (at, process) = (event.began, u64::from(event.process));
		let who = (event.process, event.thread);
		match event.kind {
			POST => {
				if let Some(post) = operations::of_ring(event) {
					self.live.post(who, at, &post);
				}
			}
			DONE => self.live.done(None, at, operations::key_of_ring(event), event.result),
			POSTS => operations::of_blocks(event.path.unwrap_or_default(), process)
				.for_each(|post| self.live.post(who, at, &post)),
			_ => operations::fetched(event.path.unwrap_or_default(), process)
				.for_each(|(key, result)| self.live.done(Some(event.thread), at, key, result)),
		}
	}

	/// Their streams, into the node's folder.
	pub fn finish(self, folder: &Path) -> Result<(), KernelError> {
		let images = self.live.finish(LIMITS);
		let failed = |reason| KernelError::File { path: folder.display().to_string(), reason };
		write(folder, &images.iter().collect::<Vec<_>>()).map_err(failed)
	}
}

/// The node as its folder says, with the monotonic clock's zero.
pub fn node_of(folder: &Path, monotonic: u64, realtime: u64) -> Result<Node, KernelError> {
	let path = folder.join("node");
	let text = fs::read_to_string(&path).map_err(|error| KernelError::file(&path, &error))?;
	let of = |key: &str| {
		let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
		line.unwrap_or_default().to_owned()
	};
	let run: PathBuf = folder.ancestors().nth(2).unwrap_or(folder).to_owned();
	Ok(Node {
		host: of("host"),
		boot_id: of("boot_id"),
		run: run.display().to_string(),
		epoch: realtime.saturating_sub(monotonic),
	})
}
