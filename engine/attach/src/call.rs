//! Calls made by a borrowed thread. Whatever becomes of us, it goes back to where it was on its own: the call returns to
//! the end of a signal handler, and beside it lies the frame of a signal that came there.

use std::time::{Duration, Instant};

use crate::AttachError;
use crate::beside::Beside;
use crate::choice::Choice;
use crate::frame::{Place, Saved};
use crate::machine::{self, EXTENDED, RESTORES_AT_ONCE, Registers};
use crate::ptrace::{self, Event};
use crate::threads::{Threads, is_signalled, registers, set_registers};
use crate::view::View;

/// Signals that say that the call itself went wrong.
const FAULTS: &[i32] =
	&[libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// How long a call that is given up may take to stop.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(5);

/// A stopped thread that calls for us.
pub struct Borrowed<'a> {
	thread: i32,
	saved: Saved<Registers>,
	place: Place,
	view: &'a View,
	/// The others that are still traced: those that had not stopped when it was chosen.
	others: Threads,
	until: Instant,
	/// Is it about to go back?
	returning: bool,
	/// Was it not given back yet?
	open: bool,
	_beside: Option<Beside>,
}

impl<'a> Borrowed<'a> {
	/// Writes down what it is, and `data` beside it, which a called function may change.
	pub fn take(
		view: &'a View,
		choice: &Choice,
		data: &[u8],
		others: Threads,
		until: Instant,
	) -> Result<Borrowed<'a>, AttachError> {
		let thread = choice.thread;
		let cut_short = choice.registers.was_cut_short() && !is_signalled(view.process, thread, 0);
		let sets = EXTENDED.iter().filter_map(|&set| ptrace::registers(thread, set).ok());
		let saved = Saved {
			registers: choice.registers.resumed(cut_short),
			extended: sets.collect(),
			mask: ptrace::signal_mask(thread).map_err(|_| AttachError::Ended)?,
		};
		let place = machine::place(choice.registers.sp(), &saved.extended, data.len());
		let frame = machine::frame(&saved, &place, view.returns);
		let beside = Beside::of(view.process, thread);
		let borrowed = Borrowed {
			thread,
			saved,
			place,
			view,
			others,
			until,
			returning: false,
			open: true,
			_beside: beside,
		};
		if borrowed.saved.extended.is_empty() {
			return Err(AttachError::Foreign);
		}
		view.memory.write(place.data, data).map_err(AttachError::Memory)?;
		view.memory.write(place.frame, &frame).map_err(AttachError::Memory)?;
		Ok(borrowed)
	}

	/// Where `data` lies.
	pub fn data(&self) -> u64 {
		self.place.data
	}

	/// Calls a function to its end.
	pub fn call(&mut self, function: u64, arguments: [u64; 2]) -> Result<(), AttachError> {
		self.begin(function, arguments).and_then(|()| self.run())
	}

	/// Calls one that writes a word where its second argument says.
	pub fn ask(&mut self, function: u64, argument: u64) -> Result<u64, AttachError> {
		self.call(function, [argument, self.place.data])?;
		self.view.memory.read_word(self.place.data).map_err(AttachError::Memory)
	}

	/// Puts it back, and lets it go on.
	pub fn give_back(mut self) -> Result<(), AttachError> {
		if self.returning && !RESTORES_AT_ONCE {
			self.go_back()?;
		} else {
			self.restore()?;
		}
		self.open = false;
		let _gone = ptrace::detach(self.thread);
		Ok(())
	}

	/// Registers first: from then on the frame brings the rest back.
	fn begin(&mut self, function: u64, arguments: [u64; 2]) -> Result<(), AttachError> {
		if self.returning && !RESTORES_AT_ONCE {
			self.go_back()?;
		}
		self.returning = false;
		let call =
			self.saved.registers.calling(function, arguments, &self.place, self.view.returns);
		set_registers(self.thread, &call)?;
		let faults = FAULTS.iter().fold(0_u64, |mask, signal| mask | 1 << (signal - 1));
		ptrace::set_signal_mask(self.thread, !faults).map_err(|_| AttachError::Ended)
	}

	/// System call by system call, up to the one that would take it back.
	fn run(&mut self) -> Result<(), AttachError> {
		let mut signal = 0;
		loop {
			ptrace::go_on_to_system_call(self.thread, signal).map_err(|_| AttachError::Ended)?;
			signal = 0;
			match self.others.next_event(self.thread, self.until)? {
				Event::SystemCall if registers(self.thread)?.is_returning(&self.place) => {
					self.returning = true;
					return Ok(());
				}
				Event::Signal(fault) if FAULTS.contains(&fault) => {
					return Err(AttachError::Fault(fault));
				}
				Event::Signal(other) => signal = other,
				_ => {}
			}
		}
	}

	/// Lets it take itself back, to the end of that system call.
	fn go_back(&mut self) -> Result<(), AttachError> {
		ptrace::go_on_to_system_call(self.thread, 0).map_err(|_| AttachError::Ended)?;
		self.others.next_event(self.thread, self.until).map(drop)
	}

	fn restore(&self) -> Result<(), AttachError> {
		for (&set, bytes) in EXTENDED.iter().zip(&self.saved.extended) {
			ptrace::set_registers(self.thread, set, bytes).map_err(AttachError::Memory)?;
		}
		ptrace::set_signal_mask(self.thread, self.saved.mask).map_err(|_| AttachError::Ended)?;
		set_registers(self.thread, &self.saved.registers)
	}
}

/// After an error, perhaps in the midst of a call: it goes on where it was all the same.
impl Drop for Borrowed<'_> {
	fn drop(&mut self) {
		let until = Instant::now() + GIVEN_UP_WITHIN;
		let mut stopped = |thread| {
			registers(thread).is_ok()
				|| (ptrace::interrupt(thread).is_ok()
					&& self.others.next_event(thread, until).is_ok())
		};
		if self.open && stopped(self.thread) && self.restore().is_ok() {
			let _gone = ptrace::detach(self.thread);
		}
	}
}
