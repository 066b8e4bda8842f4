//! Where reads and writes without an offset were in a file, for a process of which only names of files are known.

use std::collections::HashMap;

const APPEND: i64 = 0o2000;

struct Open {
	thread: u32,
	at: Option<i64>,
	opens: u32,
	/// One descriptor, used by one thread.
	alone: bool,
}

/// Of one process; files by number. `None`: unknown, since more than one may use the position.
#[derive(Default)]
pub struct Positions(HashMap<u32, Open>);

impl Positions {
	/// At its beginning, unless it is open already, or appends; `flags`: unknown where there are none.
	fn opened(&mut self, file: u32, thread: u32, flags: Option<i64>) {
		if let Some(known) = self.0.get_mut(&file) {
			known.alone = false;
			known.opens += 1;
			return;
		}
		let at = flags.filter(|flags| flags & APPEND == 0).map(|_| 0);
		self.0.insert(file, Open { thread, at, opens: 1, alone: true });
	}

	/// One of the opens that it has.
	fn closed(&mut self, file: u32) {
		match self.0.get_mut(&file) {
			Some(known) if known.opens > 1 => known.opens -= 1,
			_ => drop(self.0.remove(&file)),
		}
	}

	/// From now on another process has the same positions, or nobody knows whose calls are whose.
	pub fn forked(&mut self) {
		self.0.values_mut().for_each(|known| known.alone = false);
	}

	pub fn at(&self, file: u32) -> Option<i64> {
		self.0.get(&file).filter(|known| known.alone)?.at
	}

	/// Where a read or write of so many bytes began.
	pub fn moved(&mut self, file: u32, thread: u32, moved: i64) -> Option<i64> {
		let known = self.0.get_mut(&file)?;
		known.alone &= known.thread == thread;
		let began = known.at.filter(|_| known.alone);
		known.at = began.map(|began| began.saturating_add(moved.max(0)));
		began
	}

	/// What a call of this op does that moves no data.
	pub fn follow(
		&mut self,
		op: &str,
		(file, thread): (u32, u32),
		flags: Option<i64>,
		result: Option<i64>,
	) {
		match op {
			"creat" => self.opened(file, thread, flags.or(Some(0))),
			"open" | "openat" => self.opened(file, thread, flags),
			"close" => self.closed(file),
			// Another descriptor has the same position.
			"dup" | "dup2" | "dup3" | "fcntl" => {
				if let Some(known) = self.0.get_mut(&file) {
					known.alone = false;
				}
			}
			"lseek" => {
				if let Some(known) = self.0.get_mut(&file).filter(|known| known.thread == thread) {
					known.at = result;
				}
			}
			_ => {}
		}
	}
}
