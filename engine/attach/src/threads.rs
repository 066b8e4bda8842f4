//! All threads of a process, stopped for a moment.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::AttachError;
use crate::machine::{MADE_AGAIN, Registers, WORDS};
use crate::ptrace::{self, Event};

/// Who has not stopped by then waits in the kernel, where nothing interrupts it.
const STOPS_WITHIN: Duration = Duration::from_millis(20);
/// … unless it only waits for a processor. Were others let go before it, and a child of it ended while it stands still, the
/// kernel would give SIGCHLD to one of those, who then says EINTR.
const RUNS_WITHIN: Duration = Duration::from_millis(500);
/// … and how long those are waited for at last that only wait for a processor.
const STOPS_AT_LAST_WITHIN: Duration = Duration::from_secs(5);
const GENERAL: i32 = libc::NT_PRSTATUS;

/// Threads that we trace, by id.
#[derive(Debug)]
pub struct Threads {
	process: i32,
	state: BTreeMap<i32, State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
	/// Was asked to stop.
	Stopping,
	Stopped,
}

impl Threads {
	pub fn of(process: i32) -> Threads {
		ptrace::hear_of_threads();
		Threads { process, state: BTreeMap::new() }
	}

	/// Stops all that can be stopped, those that are made meanwhile too. At least one stands still then.
	pub fn stop(&mut self, until: Instant) -> Result<(), AttachError> {
		let began = Instant::now();
		let soon = began + STOPS_WITHIN;
		loop {
			let any_new = self.seize_new()?;
			self.collect(soon)?;
			let stopped = self.stopped().next().is_some();
			let enough = Instant::now() >= soon
				&& (began.elapsed() >= RUNS_WITHIN || !self.any_waits_for_a_processor());
			if !any_new && (self.all_stopped() || (stopped && enough)) {
				return Ok(());
			}
			if Instant::now() >= until.max(soon) {
				return Err(AttachError::Uninterruptible);
			}
			if Instant::now() >= soon && !self.all_stopped() {
				ptrace::wait(Duration::from_millis(1));
			}
		}
	}

	/// Those that stand still.
	pub fn stopped(&self) -> impl Iterator<Item = i32> {
		self.state.iter().filter(|(_, state)| **state == State::Stopped).map(|(&id, _)| id)
	}

	/// Those that go on inside the kernel.
	pub fn unstopped(&self) -> impl Iterator<Item = i32> {
		self.state.iter().filter(|(_, state)| **state == State::Stopping).map(|(&id, _)| id)
	}

	/// Lets all go on but this one. Who has not stopped yet is let go as soon as it has.
	pub fn release_all_but(&mut self, spared: Option<i32>) {
		let mut others: Vec<i32> = self.stopped().filter(|&id| Some(id) != spared).collect();
		others.sort_by_cached_key(|&id| !has_children(self.process, id));
		for id in others {
			self.release(id);
		}
	}

	/// Waits a while; who stops only now is let go.
	pub fn rest(&mut self, time: Duration) -> Result<(), AttachError> {
		let until = Instant::now() + time;
		while Instant::now() < until {
			ptrace::wait(until.saturating_duration_since(Instant::now()));
			self.look_at_all()?;
			self.release_all_but(None);
		}
		Ok(())
	}

	/// Waits for what becomes of a thread that runs, which is not among these; who stops only now is let go meanwhile:
	/// it may hold what that one waits for.
	pub fn next_event(&mut self, id: i32, until: Instant) -> Result<Event, AttachError> {
		loop {
			if let Some(event) = event_of(id)? {
				return Ok(event);
			}
			let _suspended = self.look_at_all();
			self.release_all_but(None);
			wait_until(until)?;
		}
	}

	/// It is not ours any more, and not stopped.
	pub fn forget(&mut self, id: i32) {
		self.state.remove(&id);
	}

	fn any_waits_for_a_processor(&self) -> bool {
		self.unstopped().any(|id| !is_held(self.process, id))
	}

	fn all_stopped(&self) -> bool {
		self.unstopped().next().is_none()
	}

	/// Were there any that we did not trace yet? Of a child of a traced thread SIGCHLD interrupts even those who ignore it,
	/// and who is not traced then says EINTR: those who would say it come first, and parents last; these go first.
	fn seize_new(&mut self) -> Result<bool, AttachError> {
		let mut new = self.alive()?;
		new.retain(|id| !self.state.contains_key(id));
		new.sort_by_cached_key(|&id| {
			(has_children(self.process, id), !may_be_cut_short(self.process, id))
		});
		new.retain(|&id| ptrace::seize(id).is_ok() || is_alive(self.process, id));
		for &id in &new {
			match ptrace::interrupt(id) {
				Ok(()) => drop(self.state.insert(id, State::Stopping)),
				Err(_) if !is_alive(self.process, id) => {}
				Err(_) => return Err(AttachError::Forbidden),
			}
		}
		if self.state.is_empty() { Err(AttachError::Ended) } else { Ok(!new.is_empty()) }
	}

	fn alive(&self) -> Result<Vec<i32>, AttachError> {
		let folder = std::fs::read_dir(format!("/proc/{}/task", self.process))
			.map_err(|_| AttachError::Ended)?;
		let ids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
		Ok(ids.filter(|&id| is_alive(self.process, id)).collect())
	}

	/// Waits until all have stopped, or the time is over.
	fn collect(&mut self, until: Instant) -> Result<(), AttachError> {
		loop {
			self.look_at_all()?;
			let left = until.saturating_duration_since(Instant::now());
			if self.all_stopped() || left.is_zero() {
				return Ok(());
			}
			ptrace::wait(left.min(Duration::from_millis(1)));
		}
	}

	/// At each that has not stopped.
	fn look_at_all(&mut self) -> Result<(), AttachError> {
		let pending: Vec<i32> = self.unstopped().collect();
		pending.into_iter().try_for_each(|id| self.look(id))
	}

	/// A signal that it had stopped for is delivered first: its stop is what we wait for.
	fn look(&mut self, id: i32) -> Result<(), AttachError> {
		match ptrace::look(id) {
			Ok(None) => {}
			Ok(Some(Event::Stopped(Some(_)))) => {
				self.state.insert(id, State::Stopped);
				return Err(AttachError::Suspended(self.process));
			}
			Ok(Some(Event::Stopped(None))) => {
				self.state.insert(id, State::Stopped);
			}
			Ok(Some(Event::Signal(signal))) => {
				self.make_again(id, signal);
				let _gone = ptrace::go_on(id, signal);
			}
			Ok(Some(Event::SystemCall)) => {
				let _gone = ptrace::go_on(id, 0);
			}
			Ok(Some(Event::Ended)) => self.forget(id),
			Err(error) if error.kind() == ErrorKind::Interrupted => {}
			Err(_) => self.forget(id),
		}
		Ok(())
	}

	/// As if nothing had been.
	fn release(&mut self, id: i32) {
		self.make_again(id, 0);
		let _gone = ptrace::detach(id);
		self.forget(id);
	}

	/// A system call that says EINTR only because of us is made again; `come`: a signal that it has stopped for.
	fn make_again(&self, id: i32, come: c_int) {
		if let Ok(registers) = registers(id)
			&& registers.was_cut_short()
			&& !is_signalled(self.process, id, come)
		{
			let _gone = set_registers(id, &registers.resumed(true));
		}
	}
}

impl Drop for Threads {
	/// Who was asked to stop and is let go only by our end says EINTR: all but those whom the kernel holds are waited for.
	fn drop(&mut self) {
		let until = Instant::now() + STOPS_AT_LAST_WITHIN;
		loop {
			let _suspended = self.look_at_all();
			self.release_all_but(None);
			if !self.any_waits_for_a_processor() || Instant::now() >= until {
				return;
			}
			ptrace::wait(Duration::from_millis(1));
		}
	}
}

/// Waits for what becomes of a thread that runs.
pub fn next_event(id: i32, until: Instant) -> Result<Event, AttachError> {
	loop {
		if let Some(event) = event_of(id)? {
			return Ok(event);
		}
		wait_until(until)?;
	}
}

fn event_of(id: i32) -> Result<Option<Event>, AttachError> {
	match ptrace::look(id) {
		Ok(Some(Event::Ended)) | Err(_) => Err(AttachError::Ended),
		Ok(event) => Ok(event),
	}
}

fn wait_until(until: Instant) -> Result<(), AttachError> {
	let left = until.saturating_duration_since(Instant::now());
	if left.is_zero() {
		return Err(AttachError::NoAnswer);
	}
	ptrace::wait(left.min(Duration::from_millis(100)));
	Ok(())
}

/// General registers of a stopped thread.
pub fn registers(id: i32) -> Result<Registers, AttachError> {
	let bytes = ptrace::registers(id, GENERAL).map_err(|_| AttachError::Ended)?;
	let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok());
	let words: Vec<u64> = words.map(u64::from_ne_bytes).collect();
	if words.len() == WORDS { Ok(Registers(words)) } else { Err(AttachError::Foreign) }
}

pub fn set_registers(id: i32, registers: &Registers) -> Result<(), AttachError> {
	let bytes: Vec<u8> = registers.0.iter().flat_map(|word| word.to_ne_bytes()).collect();
	ptrace::set_registers(id, GENERAL, &bytes).map_err(|_| AttachError::Ended)
}

/// Is a signal waiting, or has just come, that it has a handler for? One that it ignores waits as well where it is traced.
pub fn is_signalled(process: i32, id: i32, come: c_int) -> bool {
	let Some(status) = status(process, id) else { return true };
	let field = |name: &str| {
		let line = status.lines().find_map(|line| line.strip_prefix(name));
		line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
	};
	let waiting = (field("SigPnd:") | field("ShdPnd:")) & !field("SigBlk:");
	let come = if come == 0 { 0 } else { 1 << (come - 1) };
	(waiting | come) & field("SigCgt:") != 0
}

fn status(process: i32, id: i32) -> Option<String> {
	let bytes = std::fs::read(format!("/proc/{process}/task/{id}/status")).ok()?;
	Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Children that this very thread has made.
pub fn has_children(process: i32, id: i32) -> bool {
	let children = std::fs::read(format!("/proc/{process}/task/{id}/children"));
	children.is_ok_and(|children| !children.is_empty())
}

/// Does it wait in a system call that says EINTR to whoever is stopped in it?
fn may_be_cut_short(process: i32, id: i32) -> bool {
	let call = std::fs::read_to_string(format!("/proc/{process}/task/{id}/syscall"));
	let number = call.ok().and_then(|call| call.split(' ').next()?.parse().ok());
	number.is_some_and(|number: u64| MADE_AGAIN.contains(&number))
}

/// Does it wait in the kernel, where nothing interrupts it?
fn is_held(process: i32, id: i32) -> bool {
	state(process, id).is_none_or(|state| state == 'D')
}

/// Dead threads stay listed until somebody has asked how they ended.
fn is_alive(process: i32, id: i32) -> bool {
	state(process, id).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// R, S, D…: see proc(5).
fn state(process: i32, id: i32) -> Option<char> {
	let status = status(process, id)?;
	let state = status.lines().find_map(|line| line.strip_prefix("State:"))?;
	state.trim_start().chars().next()
}
