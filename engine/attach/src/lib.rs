//! Brings `libfathom.so` into a process that runs, by ptrace: a thread that holds none of the locks involved is borrowed
//! for a call of `dlopen`, and for calls of the library's only door, the entry point of its ELF header
//! (`runtime/edges/attached.c`).
//!
//! The others stand still while it is chosen, well below a millisecond. If we are killed at any moment, the program goes
//! on whole (`call.rs`).

#[cfg_attr(not(target_arch = "aarch64"), allow(dead_code))]
// compiled everywhere, so that it stays whole
mod aarch64;
mod beside;
mod call;
mod choice;
mod frame;
mod image;
mod jumps;
mod locks;
mod memory;
mod ptrace;
mod threads;
mod unwind;
mod view;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as machine;
#[cfg(target_arch = "x86_64")]
use x86_64 as machine;

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use call::Borrowed;
use choice::Choice;
use jumps::Jump;
use threads::Threads;
use view::View;

/// What the door takes.
const ROOM: u64 = 0;
const ATTACH: u64 = 1;
const DETACH: u64 = 2;
const JUMPS: u64 = 3;
/// What it answers when it has begun to record.
const DONE: i64 = 0;
/// The library's room for settings, and for the name of a run.
const ROOM_BYTES: usize = 65536;
const NAME_BYTES: usize = 4096;
/// In an ELF header: where its entry point is said.
const ENTRY: u64 = 24;
/// How long a better moment is waited for, and how long at first and at most between two looks.
const PATIENCE: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(5));

/// Why nothing was done, or not all. The program goes on in any case.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
	#[error("it has ended")]
	Ended,
	#[error("not permitted to trace it; `fathom doctor` says what forbids it")]
	Forbidden,
	#[error("it is stopped; let it go on (kill -CONT {0}), then try again")]
	Suspended(i32),
	#[error("a thread waits inside the memory allocator or the loader; try again later")]
	Busy,
	#[error("it waits in the kernel, where nothing stops it; try again later")]
	Uninterruptible,
	#[error("no answer within {0} s")]
	Late(u64),
	#[error("no answer")]
	NoAnswer,
	#[error("its code is of a kind that no call can be put into")]
	Foreign,
	#[error(
		"its C library has no dlopen, or its end of signal handlers is not where it is looked for"
	)]
	NoLoader,
	#[error("a call put into it ended by signal {0}; it goes on where it was")]
	Fault(i32),
	#[error("its memory: {0}")]
	Memory(#[source] std::io::Error),
}

/// What shall be done to which process.
#[derive(Debug)]
pub struct Job {
	pub process: i32,
	/// To be loaded where it is not; `None`: recording ends.
	pub library: Option<PathBuf>,
	/// `NAME=VALUE`, each with a zero behind it.
	pub settings: Vec<u8>,
	/// For all of it.
	pub seconds: u64,
	/// … and for a moment at which a thread can be borrowed.
	pub patience: Duration,
}

/// The library's status (`runtime/edges/attached.c`), and the run that it names. `None`: it is not there.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
	pub status: i64,
	pub run: Vec<u8>,
}

/// Does the job. `None`: the library is not there, or the process does not take it.
pub fn act(job: &Job) -> Result<Option<Answer>, AttachError> {
	let view = View::of(job.process)?;
	if job.library.is_none() && view.library()?.is_none() {
		return Ok(None);
	}
	let until = Instant::now() + Duration::from_secs(job.seconds);
	let work = Work { job, view, until };
	work.act().map_err(|error| match error {
		AttachError::NoAnswer => AttachError::Late(job.seconds),
		other => other,
	})
}

struct Work<'a> {
	job: &'a Job,
	view: View,
	until: Instant,
}

impl Work<'_> {
	fn act(&self) -> Result<Option<Answer>, AttachError> {
		let mut borrowed = self.borrow()?;
		let Some(door) = self.door(&mut borrowed)? else {
			borrowed.give_back()?;
			return Ok(None);
		};
		let attaches = self.job.library.is_some();
		let done = if attaches { self.attach(borrowed, door) } else { self.detach(borrowed, door) };
		done.map(Some)
	}

	fn attach(&self, mut borrowed: Borrowed, door: u64) -> Result<Answer, AttachError> {
		let answer = self.tell(&mut borrowed, door, ATTACH)?;
		let jumps = if answer.status == DONE { self.jumps(&mut borrowed, door)? } else { vec![] };
		borrowed.give_back()?;
		self.write(&jumps, true)?;
		Ok(answer)
	}

	fn detach<'a>(&'a self, mut borrowed: Borrowed<'a>, door: u64) -> Result<Answer, AttachError> {
		let jumps = self.jumps(&mut borrowed, door)?;
		if !jumps.is_empty() {
			borrowed.give_back()?;
			self.write(&jumps, false)?;
			borrowed = self.borrow()?;
		}
		let answer = self.tell(&mut borrowed, door, DETACH)?;
		borrowed.give_back()?;
		Ok(answer)
	}

	/// A thread that calls for us; the others go on.
	fn borrow(&self) -> Result<Borrowed<'_>, AttachError> {
		let mut threads = Threads::of(self.job.process);
		let choice = choose(&mut threads, &self.view, self.job.patience)?;
		threads.release_all_but(Some(choice.thread));
		threads.forget(choice.thread);
		let mut data =
			self.job.library.as_ref().map_or(vec![], |path| path.as_os_str().as_bytes().to_vec());
		data.resize((data.len() + 1).next_multiple_of(8), 0);
		Borrowed::take(&self.view, &choice, &data, threads, self.until)
	}

	/// Where the library's door is; it is loaded where it is not there.
	fn door(&self, borrowed: &mut Borrowed) -> Result<Option<u64>, AttachError> {
		if self.view.library()?.is_none() {
			let (function, flags) = self.view.loading;
			borrowed.call(function, [borrowed.data(), flags])?;
		}
		let Some(base) = self.view.library()? else { return Ok(None) };
		let entry = self.view.memory.read_word(base + ENTRY).map_err(AttachError::Memory)?;
		Ok(Some(base + entry))
	}

	/// Gives it the settings, and asks it to do something.
	fn tell(&self, borrowed: &mut Borrowed, door: u64, what: u64) -> Result<Answer, AttachError> {
		let room = borrowed.ask(door, ROOM)?;
		let mut words = self.job.settings.clone();
		words.truncate(ROOM_BYTES - 1);
		words.push(0);
		self.view.memory.write(room, &words).map_err(AttachError::Memory)?;
		let status = borrowed.ask(door, what)? as i64;
		let run = self.view.memory.read_text(room, NAME_BYTES).map_err(AttachError::Memory)?;
		Ok(Answer { status, run })
	}

	fn jumps(&self, borrowed: &mut Borrowed, door: u64) -> Result<Vec<Jump>, AttachError> {
		let list = borrowed.ask(door, JUMPS)?;
		if list == 0 {
			return Ok(Vec::new());
		}
		jumps::read(&self.view.memory, list).map_err(AttachError::Memory)
	}

	/// With all threads stopped.
	fn write(&self, jumps: &[Jump], install: bool) -> Result<(), AttachError> {
		if jumps.is_empty() {
			return Ok(());
		}
		let mut threads = Threads::of(self.job.process);
		threads.stop(self.until)?;
		while threads.unstopped().next().is_some() && Instant::now() < self.until {
			threads.stop(self.until)?; // one that waits in the kernel goes on in the midst of a function
		}
		jumps::write(jumps, install, &threads, &self.view.memory, self.until)
	}
}

/// Waits for a moment at which a thread may be borrowed.
fn choose(threads: &mut Threads, view: &View, patience: Duration) -> Result<Choice, AttachError> {
	let until = Instant::now() + patience;
	let mut pause = PATIENCE.0;
	loop {
		threads.stop(until)?;
		if let Some(choice) = choice::choose(threads, view)? {
			return Ok(choice);
		}
		threads.release_all_but(None);
		if Instant::now() >= until {
			return Err(AttachError::Busy);
		}
		threads.rest(pause)?;
		pause = (2 * pause).min(PATIENCE.1);
	}
}
