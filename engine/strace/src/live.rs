//! System calls as they are told by the kernel itself (`engine/kernel`), one after another: the same rows as of a log.

use std::borrow::Cow;

use fathom_import::{Image, Node};

use crate::calls;
use crate::line::Outcome;
use crate::log::Event;
use crate::operations::Post;
use crate::process::Processes;

/// Errors are numbers from here to -1.
const LEAST_ERROR: i64 = -4095;

pub struct Live<'n> {
	processes: Processes<'n>,
	node: &'n Node,
}

/// What another program begins with.
#[derive(Debug, Clone, Default)]
pub struct Program {
	pub parent: u32,
	pub path: Vec<u8>,
	pub words: Vec<Vec<u8>>,
	/// Where nothing of the process is known yet.
	pub directory: Option<Vec<u8>>,
	pub open: Vec<(i64, Vec<u8>)>,
}

/// As strace writes a text.
pub fn quote(text: &[u8]) -> Vec<u8> {
	let mut out = vec![b'"'];
	for &byte in text {
		match byte {
			b' '..=b'~' if byte != b'"' && byte != b'\\' => out.push(byte),
			_ => out.extend(format!("\\{byte:03o}").into_bytes()),
		}
	}
	out.push(b'"');
	out
}

impl<'n> Live<'n> {
	pub fn new(node: &'n Node) -> Live<'n> {
		Live { processes: Processes::new(node, None, Vec::new()), node }
	}

	/// A call of strace's form, `name(arguments)`. Times are the node's ticks.
	pub fn call(&mut self, tid: u32, (began, ended): (u64, u64), text: Vec<u8>, result: i64) {
		let failed = (LEAST_ERROR..0).contains(&result);
		let outcome = Outcome {
			result: Some(if failed { -1 } else { result }),
			error: failed.then(|| calls::error_name(-result)),
			..Outcome::default()
		};
		self.processes.take(&Event {
			tid,
			began: began.saturating_add(self.node.epoch),
			ended: ended.saturating_add(self.node.epoch),
			text: Cow::Owned(text),
			outcome: Some(outcome),
		});
	}

	/// An operation of asynchronous I/O is handed over, by the process or by a thread that the kernel has in it.
	pub fn post(&mut self, (process, tid): (u32, u32), at: u64, post: &Post<'_>) {
		self.processes.know(tid, process);
		self.processes.post(tid, at.saturating_add(self.node.epoch), post);
	}

	/// One is done. `tid`: who fetched it; `None`: whoever posted it.
	pub fn done(&mut self, tid: Option<u32>, at: u64, key: (u64, u64), result: i64) {
		self.processes.done(tid, at.saturating_add(self.node.epoch), key, result);
	}

	/// A ring of io_uring knows files by numbers, from `first` on.
	pub fn register(&mut self, tid: u32, ring: u64, first: i64, files: &[i32]) {
		self.processes.register(tid, ring, first, files);
	}

	/// A program that runs already, with its threads.
	pub fn there(&mut self, process: u32, threads: &[u32], program: Program) {
		self.processes.add((process, program.parent), program.directory, program.open);
		if let Some(image) = self.processes.images.last_mut() {
			image.executable = program.path;
			image.command = program.words.join(&0);
			image.command.push(0);
		}
		threads.iter().for_each(|&tid| self.processes.know(tid, process));
	}

	/// A thread becomes another program.
	pub fn program(&mut self, tid: u32, at: u64, program: Program) {
		if !self.processes.knows(tid) {
			self.processes.add((tid, program.parent), program.directory, program.open);
		}
		let words: Vec<Vec<u8>> = program.words.iter().map(|word| quote(word)).collect();
		let text = [b"execve(", &quote(&program.path)[..], b", [", &words.join(&b", "[..]), b"])"];
		self.call(tid, (at, at), text.concat(), 0);
	}

	/// What a thread and those beside it did is recorded by its own library.
	pub fn forget(&mut self, tid: u32) {
		self.processes.forget(tid);
	}

	/// The images that did anything, with this in the run's log.
	pub fn finish(mut self, mark: &str) -> Vec<Image> {
		let node = self.node;
		if let Some(image) = self.processes.images.iter_mut().find(|image| image.goes_on()) {
			image.mark(node, "kernel", mark, 1);
		}
		self.processes.end();
		let images = self.processes.images.into_iter().map(crate::rows::Image::into_inner);
		images.filter(|image| !image.bytes.is_empty()).collect()
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_is_quoted_can_be_read() {
		let all: Vec<u8> = (0..=255).collect();
		assert_eq!(crate::text::quoted(&quote(&all)), Some(all));
	}
}
