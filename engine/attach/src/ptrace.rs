//! ptrace, one request a function. Each is of one stopped thread, by the thread that seized it.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::io::{Error, Result};
use std::ptr::{null_mut, without_provenance_mut};
use std::time::Duration;

/// What a wait has seen of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
	/// It has ended, and with which status nobody needs to know here.
	Ended,
	/// It entered a system call, or left one.
	SystemCall,
	/// It was asked to stop; or stands still with the whole process, by this signal of job control.
	Stopped(Option<c_int>),
	/// This signal is about to be delivered.
	Signal(c_int),
}

fn request(what: c_uint, thread: i32, address: usize, data: *mut c_void) -> Result<c_long> {
	// SAFETY: the callers pass data that the request may read or write, or a number.
	let done =
		unsafe { libc::ptrace(what, thread, without_provenance_mut::<c_void>(address), data) };
	if done < 0 { Err(Error::last_os_error()) } else { Ok(done) }
}

fn number(of: c_int) -> *mut c_void {
	without_provenance_mut(of as usize)
}

/// Makes this thread its tracer. It runs on, and would do so after our death.
pub fn seize(thread: i32) -> Result<()> {
	request(libc::PTRACE_SEIZE, thread, 0, number(libc::PTRACE_O_TRACESYSGOOD)).map(drop)
}

/// Asks it to stop, even inside a system call that waits.
pub fn interrupt(thread: i32) -> Result<()> {
	request(libc::PTRACE_INTERRUPT, thread, 0, null_mut()).map(drop)
}

/// Lets it run; `signal`: 0, or one that it had stopped for.
pub fn go_on(thread: i32, signal: c_int) -> Result<()> {
	request(libc::PTRACE_CONT, thread, 0, number(signal)).map(drop)
}

/// … up to the next system call.
pub fn go_on_to_system_call(thread: i32, signal: c_int) -> Result<()> {
	request(libc::PTRACE_SYSCALL, thread, 0, number(signal)).map(drop)
}

/// … for one instruction.
pub fn step(thread: i32) -> Result<()> {
	request(libc::PTRACE_SINGLESTEP, thread, 0, null_mut()).map(drop)
}

/// Lets it run for good.
pub fn detach(thread: i32) -> Result<()> {
	request(libc::PTRACE_DETACH, thread, 0, null_mut()).map(drop)
}

/// A set of registers (`NT_…`), as long as the kernel has it.
pub fn registers(thread: i32, set: c_int) -> Result<Vec<u8>> {
	let mut bytes = vec![0_u8; 16384];
	loop {
		let mut room = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
		request(libc::PTRACE_GETREGSET, thread, set as usize, (&raw mut room).cast())?;
		if room.iov_len < bytes.len() {
			bytes.truncate(room.iov_len);
			return Ok(bytes);
		}
		bytes.resize(2 * bytes.len(), 0);
	}
}

/// Writes a set of registers. Any length but the kernel's own may be refused.
pub fn set_registers(thread: i32, set: c_int, bytes: &[u8]) -> Result<()> {
	let mut room = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
	request(libc::PTRACE_SETREGSET, thread, set as usize, (&raw mut room).cast()).map(drop)
}

/// Its blocked signals, a bit each.
pub fn signal_mask(thread: i32) -> Result<u64> {
	let mut mask = 0_u64;
	request(libc::PTRACE_GETSIGMASK, thread, size_of::<u64>(), (&raw mut mask).cast())?;
	Ok(mask)
}

pub fn set_signal_mask(thread: i32, mask: u64) -> Result<()> {
	let mut mask = mask;
	request(libc::PTRACE_SETSIGMASK as c_uint, thread, size_of::<u64>(), (&raw mut mask).cast())
		.map(drop)
}

/// What became of the thread; `None`: nothing yet.
pub fn look(thread: i32) -> Result<Option<Event>> {
	let mut status = 0;
	// SAFETY: waitpid writes the status.
	let waited = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) };
	match waited {
		0 => Ok(None),
		-1 => Err(Error::last_os_error()),
		_ => Ok(Some(event(status))),
	}
}

fn event(status: c_int) -> Event {
	if !libc::WIFSTOPPED(status) {
		return Event::Ended;
	}
	let signal = libc::WSTOPSIG(status);
	if signal == libc::SIGTRAP | 0x80 {
		Event::SystemCall
	} else if status >> 16 == libc::PTRACE_EVENT_STOP {
		Event::Stopped(Some(signal).filter(|&signal| signal != libc::SIGTRAP))
	} else {
		Event::Signal(signal)
	}
}

/// Waits until something may have become of a thread. `hear_of_threads` comes first.
pub fn wait(at_most: Duration) {
	let time = libc::timespec {
		tv_sec: at_most.as_secs() as libc::time_t,
		tv_nsec: c_long::from(at_most.subsec_nanos() as i32),
	};
	// SAFETY: reads a set and a time, both of ours.
	unsafe {
		let set = child_signal();
		libc::sigtimedwait(&raw const set, null_mut(), &raw const time);
	}
}

/// From now on SIGCHLD waits to be asked for.
pub fn hear_of_threads() {
	// SAFETY: changes the mask of this thread, by a set of ours.
	unsafe {
		let set = child_signal();
		libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut());
	}
}

/// # Safety
/// None is needed: fills a set on the stack.
unsafe fn child_signal() -> libc::sigset_t {
	// SAFETY: a set of signals is plain numbers; sigemptyset makes it one whatever they are.
	unsafe {
		let mut set = std::mem::zeroed();
		libc::sigemptyset(&raw mut set);
		libc::sigaddset(&raw mut set, libc::SIGCHLD);
		set
	}
}

/// Bytes of the standard XSAVE layout that hold all parts of these, bit by bit.
#[cfg(target_arch = "x86_64")]
pub fn xsave_bytes(parts: u64) -> usize {
	(2..63).filter(|part| parts >> part & 1 == 1).fold(512 + 64, |bytes, part| {
		#[allow(unused_unsafe)] // a safe function in newer compilers
		// SAFETY: every x86-64 processor has the instruction.
		let about = unsafe { core::arch::x86_64::__cpuid_count(13, part) };
		bytes.max((about.ebx + about.eax) as usize)
	})
}
