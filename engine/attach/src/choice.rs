//! Which thread may make a call that nobody in it expects: one that holds none of the locks that the call takes.

use std::path::Path;

use crate::AttachError;
use crate::image::Image;
use crate::locks::{C_LIBRARIES, HOLDING, bare};
use crate::machine::{GUARDS, Registers, SHORT_CALLS, is_guarded};
use crate::memory::{Mapping, Memory};
use crate::ptrace;
use crate::threads::{Threads, has_children, registers};
use crate::unwind::{Frame, stack};
use crate::view::View;

/// A loader.
const LOADERS: &[&str] = &["ld-linux", "ld64", "ld-2"];
const OURS: &[&str] = &["libfathom.so"];

/// Bytes of stack that a call may need.
const STACK: u64 = 64 << 10;

/// A thread, and what it is in.
#[derive(Debug)]
pub struct Choice {
	pub thread: i32,
	pub registers: Registers,
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
	Free,
	/// In a function that holds locks, for a moment.
	Inside,
	/// … and it waits there; or it is in the runtime's door.
	Stuck,
}

/// Of the threads that stand still. `None`: another moment may be better.
pub fn choose(threads: &Threads, view: &View) -> Result<Option<Choice>, AttachError> {
	let View { process, images, mappings, memory, returns, .. } = view;
	let mut free = Vec::new();
	for thread in threads.stopped() {
		let registers = registers(thread)?;
		match judge(&registers, images, memory, *returns) {
			Verdict::Stuck => return Ok(None),
			Verdict::Free if can_call(thread, &registers, mappings) => {
				free.push(Choice { thread, registers });
			}
			_ => {}
		}
	}
	let loads = |thread| waits_at(*process, thread).is_some_and(|pc| is_in(images, pc, LOADERS));
	if threads.unstopped().any(loads) {
		return Ok(None);
	}
	// A parent stays traced for as short as can be (threads.rs).
	let alone = |choice: &Choice| !has_children(*process, choice.thread);
	let chosen = free.iter().position(alone).unwrap_or(0);
	Ok(free.into_iter().nth(chosen))
}

fn judge(registers: &Registers, images: &[Image], memory: &Memory, returns: u64) -> Verdict {
	let stack = stack(registers, images, memory);
	if is_called(&stack, images, returns) {
		return Verdict::Stuck;
	}
	let call = registers.system_call();
	let waits = call.is_some_and(|number| !SHORT_CALLS.contains(&number));
	if is_inside(&stack, images, call.is_some()) {
		return if waits { Verdict::Stuck } else { Verdict::Inside };
	}
	let runs_in = |images: &Image| images.is_named(C_LIBRARIES) || images.is_stub(registers.pc());
	let innermost = stack.first().and_then(|frame| frame.image).map(|at| &images[at]);
	// An allocator may have left the stack before it gives back its lock: that is then a function's last call.
	if (call.is_none() && innermost.is_some_and(runs_in))
		|| is_ours(&stack, images, call.is_some())
		|| !is_in_program(&stack, images)
	{
		return Verdict::Inside;
	}
	Verdict::Free
}

fn is_inside(stack: &[Frame], images: &[Image], in_system_call: bool) -> bool {
	stack.iter().any(|frame| {
		let Some(image) = frame.image.map(|at| &images[at]) else { return false };
		let name = image.named(frame.pc).map(bare);
		image.is_named(LOADERS)
			|| image.is_allocator()
			|| name.is_some_and(|name| HOLDING.contains(&name) || !in_system_call)
	})
}

/// In a call of the door that somebody put into it who has died meanwhile: no other may begin before it ends.
fn is_called(stack: &[Frame], images: &[Image], returns: u64) -> bool {
	stack.windows(2).any(|pair| {
		let in_runtime = pair[0].image.is_some_and(|at| images[at].is_named(OURS));
		in_runtime && pair[1].pc + 1 == returns
	})
}

/// In the runtime itself, or in what it has just called; not in a call of the program's that it passed on and that
/// waits.
fn is_ours(stack: &[Frame], images: &[Image], in_system_call: bool) -> bool {
	let looked_at = if in_system_call { 1 } else { 2 };
	let mut inner = stack.iter().take(looked_at).filter_map(|frame| frame.image);
	inner.any(|at| images[at].is_named(OURS))
}

/// A thread that begins or ends has functions of the C library only.
fn is_in_program(stack: &[Frame], images: &[Image]) -> bool {
	let not_theirs = |at: usize| !images[at].is_named(C_LIBRARIES) && !images[at].is_named(OURS);
	stack.iter().any(|frame| frame.image.is_none_or(not_theirs))
}

fn is_in(images: &[Image], pc: u64, names: &[&str]) -> bool {
	images.iter().any(|image| image.holds(pc) && image.is_named(names))
}

/// Code of its own width, no shadow stack, room on its stack.
fn can_call(thread: i32, registers: &Registers, mappings: &[Mapping]) -> bool {
	let guarded = GUARDS
		.iter()
		.any(|&set| ptrace::registers(thread, set).is_ok_and(|bytes| is_guarded(set, &bytes)));
	let sp = registers.sp();
	let below = mappings.iter().find(|mapping| mapping.holds(sp));
	let has_room = below.is_some_and(|stack| {
		sp - stack.begin >= STACK || stack.path == Path::new("[stack]") // which grows
	});
	!guarded && !registers.is_foreign() && has_room
}

/// Where a thread that cannot be stopped entered the kernel.
fn waits_at(process: i32, thread: i32) -> Option<u64> {
	let line = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
	u64::from_str_radix(line.split_whitespace().last()?.strip_prefix("0x")?, 16).ok()
}
