//! Programs that no library is in: which they are, and their calls as streams.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use fathom_import::{Node, write};
use fathom_strace::{Live, Program};

use crate::KernelError;
use crate::calls::{self, DONE, EXEC, FETCHED, FORK, Known, POST, POSTS, RECORDED, RING, Told};
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

	pub fn take(&mut self, told: &Told<'_>) {
		match told.kind {
			FORK => self.fork(told),
			EXEC => self.exec(told),
			RECORDED => self.live.forget(told.thread),
			RING => {
				let [fd, ring, ..] = told.arguments;
				self.rings.insert((told.process, fd), ring);
			}
			POST | DONE | POSTS | FETCHED => self.operations(told),
			_ => self.call(told),
		}
	}

	fn fork(&mut self, told: &Told<'_>) {
		let [thread, process, same_files, same_directory, ..] = told.arguments;
		let (thread, process) = (thread as u32, process as u32);
		let of_its_own = process != told.process;
		if told.process == self.parent || self.starting.contains(&told.process) {
			self.starting.insert(process);
			return;
		}
		let mut shares = vec!["clone("];
		shares.extend((!of_its_own).then_some("CLONE_THREAD|"));
		shares.extend((same_files != 0).then_some("CLONE_FILES|"));
		shares.extend((same_directory != 0).then_some("CLONE_FS|"));
		let text = shares.concat().into_bytes();
		self.live.call(
			told.thread,
			(told.began, told.ended),
			[text, b"0)".to_vec()].concat(),
			i64::from(thread),
		);
	}

	fn exec(&mut self, told: &Told<'_>) {
		let (process, first) = (told.process, self.starting.remove(&told.process));
		// The program has what `fathom run` has; of another it is looked up while it runs.
		let of = if first { self.parent } else { process };
		let open = |fd: i64| Some((fd, link(of, &format!("fd/{fd}"))?));
		let program = Program {
			parent: self.parent,
			path: told.path.unwrap_or_default().to_vec(),
			words: told.words(),
			directory: link(of, "cwd"),
			open: (0..FIRST_DESCRIPTORS).filter_map(open).collect(),
		};
		self.live.program(told.thread, told.began, program);
	}

	fn call(&mut self, told: &Told<'_>) {
		let known = self.known.get(&told.number).filter(|_| !self.starting.contains(&told.process));
		if let Some(known) = known {
			if let Some((first, files)) = operations::registered(told, known.name)
				&& let Some(&ring) = self.rings.get(&(told.process, told.arguments[0]))
			{
				self.live.register(told.thread, ring, first, &files);
			}
			self.live.call(told.thread, (told.began, told.ended), told.text(known), told.result);
		}
	}

	fn operations(&mut self, told: &Told<'_>) {
		let (at, process) = (told.began, u64::from(told.process));
		let who = (told.process, told.thread);
		match told.kind {
			POST => {
				if let Some(post) = operations::of_ring(told) {
					self.live.post(who, at, &post);
				}
			}
			DONE => self.live.done(None, at, operations::key_of_ring(told), told.result),
			POSTS => operations::of_blocks(told.path.unwrap_or_default(), process)
				.for_each(|post| self.live.post(who, at, &post)),
			_ => operations::fetched(told.path.unwrap_or_default(), process)
				.for_each(|(key, result)| self.live.done(Some(told.thread), at, key, result)),
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
