//! One node's kernel, as long as a run lasts.

use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use fathom_stream::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::event::{self, Scale};
use crate::file::EventFile;
use crate::programs::Programs;
use crate::unrecorded::{self, Unrecorded};
use crate::{KernelError, calls, rights};

/// Between two looks into the ring, which would wake us for each event else; it has room for 230 thousand calls.
const INTERVAL: Duration = Duration::from_millis(20);
/// What may wait for the worker: 256 MiB.
const BATCH_BYTES: usize = 64 << 10;
const MOST_BATCHES: usize = 4096;
/// What a kill of ours may cost.
const FLUSH: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub enum Whose {
	/// Of what a process starts; with `calls` system calls, too, of programs that no library is in.
	Children { parent: u32, calls: bool },
	/// Of these processes and what they start; `calls_of`: no library is in them, so with their system calls.
	Processes { recorded: Vec<u32>, calls_of: Vec<u32> },
}

impl Whose {
	fn with_calls(&self) -> bool {
		match self {
			Whose::Children { calls, .. } => *calls,
			Whose::Processes { calls_of, .. } => !calls_of.is_empty(),
		}
	}
}

/// Standard input says the node's folder when the run begins, and then the library's path, or of given processes the
/// folder of their rings and the library's path. `say` gives a line to who started us: "loaded"; "ready", when they follow.
///
/// Of children it ends when standard input is closed, and says at the end what was lost, if anything was, and "done".
/// Of given processes it outlives who started it, until none of them is left, or the rings are gone.
pub fn run(of: &Whose, say: impl Fn(&str)) -> Result<(), KernelError> {
	rights::check()?;
	if let Whose::Children { parent, .. } = of {
		rights::check_owner(*parent)?;
	}
	let mut programs = Programs::load(of.with_calls())?;
	say("loaded");
	let Some(folder) = next_line() else { return Ok(()) };
	let folder = Path::new(&folder);
	let mut file = EventFile::create(folder)?;
	match of {
		Whose::Children { parent, .. } => {
			let Some(library) = next_line() else { return Ok(()) };
			programs.know_library(library.as_bytes())?;
			programs.follow_children(*parent)?;
			say("ready");
			let is_over = |_: &Programs| closed(INTERVAL);
			record(*parent, &[], folder, &mut programs, &mut file, is_over)?;
			say_lost(&mut programs, &mut file, &say);
			file.finish()?;
			say("done");
		}
		Whose::Processes { recorded, calls_of } => {
			let (Some(rings), Some(library)) = (next_line(), next_line()) else { return Ok(()) };
			programs.know_library(library.as_bytes())?;
			for (processes, calls) in [(recorded, false), (calls_of, true)] {
				for &process in processes {
					programs.follow_process(process, calls)?;
					// It cannot have become another's since: its end is seen.
					rights::check_owner(process)?;
				}
			}
			say("ready");
			let rings = Path::new(&rings);
			let is_over = |programs: &Programs| {
				thread::sleep(INTERVAL);
				!rings.exists() || programs.follow_none()
			};
			record(0, calls_of, folder, &mut programs, &mut file, is_over)?;
			say_lost(&mut programs, &mut file, &|_: &str| ());
			file.finish()?;
		}
	}
	Ok(())
}

/// Events into the file, and calls of programs that no library is in into files of theirs. `parent` started what begins;
/// `there`: such programs that run already.
fn record(
	parent: u32,
	there: &[u32],
	folder: &Path,
	programs: &mut Programs,
	file: &mut EventFile,
	is_over: impl Fn(&Programs) -> bool,
) -> Result<(), KernelError> {
	let now = Clock::now();
	let node = unrecorded::node_of(folder, now.monotonic, now.realtime)?;
	thread::scope(|scope| {
		let (calls, told) = sync_channel(MOST_BATCHES);
		let unrecorded = || Unrecorded::new(&node, parent, there);
		let worker = scope.spawn(move || work(unrecorded(), &told).finish(folder));
		follow(programs, file, is_over, |batch| send(&calls, batch))?;
		drop(calls);
		let worked = worker.join();
		worked.unwrap_or_else(|_| Err(KernelError::Refused("its worker panicked".to_owned())))
	})
}

fn say_lost(programs: &mut Programs, file: &mut EventFile, say: &impl Fn(&str)) {
	for point in std::mem::take(&mut programs.absent) {
		file.mark(&format!("this kernel does not tell of {point}"), 0);
	}
	let [events, processes, without_end] = programs.lost();
	if without_end > 0 {
		file.mark(
			"requests last until their memory was used again: their end was not told",
			without_end,
		);
	}
	for (count, what) in [
		(events, "events were lost: they came faster than they were written"),
		(processes, "processes were not followed: there were too many"),
	] {
		if count > 0 {
			file.mark(what, count);
			say(&format!("{count} {what}"));
		}
	}
}

/// Calls, each after its length. They are read beside the ring, which must not fill up meanwhile.
fn work<'n>(mut unrecorded: Unrecorded<'n>, batches: &Receiver<Vec<u8>>) -> Unrecorded<'n> {
	for batch in batches {
		let mut rest = &batch[..];
		while let Some((length, after)) = rest.split_first_chunk() {
			let (bytes, after) = after.split_at(u32::from_le_bytes(*length) as usize);
			rest = after;
			if let Some(told) = calls::read(bytes) {
				unrecorded.take(&told);
			}
		}
	}
	unrecorded
}

/// `None`: there is no more.
fn next_line() -> Option<String> {
	let mut line = String::new();
	std::io::stdin().read_line(&mut line).ok().filter(|&length| length > 0)?;
	Some(line.trim_end_matches('\n').to_owned())
}

/// `is_over` waits a while; `take` has what is no event.
fn follow(
	programs: &mut Programs,
	file: &mut EventFile,
	is_over: impl Fn(&Programs) -> bool,
	take: impl Fn(Vec<u8>),
) -> Result<(), KernelError> {
	let scale = Scale::of_this_machine();
	let mut flushed = Instant::now();
	loop {
		let over = is_over(programs);
		let mut batch = Vec::new();
		while let Some(bytes) = programs.events.next() {
			match event::read(&bytes, scale) {
				Some(event) => file.event(&event)?,
				None => {
					batch.extend((bytes.len() as u32).to_le_bytes());
					batch.extend_from_slice(&bytes);
				}
			}
			if batch.len() >= BATCH_BYTES {
				take(std::mem::take(&mut batch));
			}
		}
		take(batch);
		if over {
			return Ok(());
		}
		if flushed.elapsed() >= FLUSH {
			file.flush()?;
			flushed = Instant::now();
		}
	}
}

/// Where the worker has ended, its outcome says why.
fn send(calls: &SyncSender<Vec<u8>>, batch: Vec<u8>) {
	if !batch.is_empty() {
		let _ = calls.send(batch);
	}
}

/// Was standard input closed within this time?
fn closed(within: Duration) -> bool {
	let mut input = std::io::stdin();
	let within =
		Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
	let ready = {
		let mut fds = [PollFd::new(&input, PollFlags::IN)];
		poll(&mut fds, Some(&within)).is_ok() && !fds[0].revents().is_empty()
	};
	ready && matches!(input.read(&mut [0]), Ok(0) | Err(_))
}
