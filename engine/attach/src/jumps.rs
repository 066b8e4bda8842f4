//! Jumps over the beginnings of functions that were linked into the program (`runtime/edges/hidden.h`), written while no
//! thread runs.

use std::time::Instant;

use crate::AttachError;
use crate::memory::Memory;
use crate::ptrace;
use crate::threads::{Threads, next_event, registers};

const ROW: usize = 24;
const JUMP: usize = 5;

/// What is written where, and what was there.
#[derive(Debug, PartialEq, Eq)]
pub struct Jump {
	pub at: u64,
	pub before: [u8; JUMP],
	pub after: [u8; JUMP],
}

/// The runtime's list of them.
pub fn read(memory: &Memory, list: u64) -> std::io::Result<Vec<Jump>> {
	let count = memory.read_word(list)?;
	let bytes = memory.read(list + 8, count as usize * ROW)?;
	Ok(bytes.chunks_exact(ROW).map(jump).collect())
}

fn jump(row: &[u8]) -> Jump {
	let mut jump = Jump { at: 0, before: [0; JUMP], after: [0; JUMP] };
	jump.at = row[..8].try_into().map_or(0, u64::from_ne_bytes);
	jump.before.copy_from_slice(&row[8..8 + JUMP]);
	jump.after.copy_from_slice(&row[16..16 + JUMP]);
	jump
}

/// Writes them, or takes them away again. Code that is not as it was in the program's file is let alone.
pub fn write(
	jumps: &[Jump],
	install: bool,
	threads: &Threads,
	memory: &Memory,
	until: Instant,
) -> Result<(), AttachError> {
	for Jump { at, before, after } in jumps {
		let (old, new) = if install { (before, after) } else { (after, before) };
		if memory.read(*at, JUMP).map_err(AttachError::Memory)? == old {
			step_out(*at, threads, until)?;
			memory.write(*at, new).map_err(AttachError::Memory)?;
		}
	}
	Ok(())
}

/// No thread may be between the instructions that a jump takes the place of.
fn step_out(at: u64, threads: &Threads, until: Instant) -> Result<(), AttachError> {
	for thread in threads.stopped() {
		while (at + 1..at + JUMP as u64).contains(&registers(thread)?.pc()) {
			ptrace::step(thread).map_err(|_| AttachError::Ended)?;
			next_event(thread, until)?;
		}
	}
	Ok(())
}
