//! Operations of io_uring and libaio, as bpf/trace.bpf.c tells them.

use fathom_strace::{Action, File, Post};

use crate::calls::Event;

/// Codes of linux/io_uring.h.
fn action_of_ring(opcode: u32) -> Option<Action> {
	match opcode {
		1 | 4 | 22 => Some(Action::Read),
		2 | 5 | 23 => Some(Action::Write),
		3 | 8 => Some(Action::Sync),
		18 | 28 => Some(Action::Open),
		19 => Some(Action::Close),
		// fallocate, statx, fadvise, splice, tee, rename, unlink, mkdir
		17 | 21 | 24 | 30 | 33 | 35..=37 => Some(Action::Other),
		_ => None,
	}
}

/// About a path.
const PATHS: [u32; 6] = [18, 21, 28, 35, 36, 37];
const WITH_OFFSET: [u32; 9] = [1, 2, 3, 4, 5, 8, 17, 22, 23];

pub fn key_of_ring(seen: &Event<'_>) -> (u64, u64) {
	(0, seen.arguments[0])
}

/// `None`: of no file.
pub fn of_ring<'a>(seen: &Event<'a>) -> Option<Post<'a>> {
	let [_, ring, fd, fixed, offset, size] = seen.arguments;
	let opcode = seen.number;
	let mut action = action_of_ring(opcode)?;
	let fd = i64::from(fd as i32);
	let file = match fixed {
		_ if PATHS.contains(&opcode) => File::Path(fd, seen.path?, seen.pointed[0] as i64),
		0 => File::Descriptor(fd),
		_ => File::Registered(ring, fd),
	};
	if action == Action::Open && fixed != 0 {
		action = Action::Other; // into the ring's own table
	}
	let offset = (offset as i64 >= 0 && WITH_OFFSET.contains(&opcode)).then_some(offset as i64);
	// All ones: the vector could not be read.
	Some(Post { key: key_of_ring(seen), action, opcode, file, size: (size as i64).max(0), offset })
}

fn long(bytes: &[u8], at: usize) -> u64 {
	bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// `struct iocb` of linux/aio_abi.h, with its address where it says nothing.
const BLOCK: usize = 64;
/// `struct io_event`.
const EVENT: usize = 32;

/// What `io_submit` took.
pub fn of_blocks(bytes: &[u8], process: u64) -> impl Iterator<Item = Post<'_>> {
	bytes.chunks_exact(BLOCK).filter_map(move |block| {
		let opcode = long(block, 16) as u16;
		let action = match opcode {
			0 | 7 => Action::Read,
			1 | 8 => Action::Write,
			2 | 3 => Action::Sync,
			_ => return None,
		};
		let fd = i64::from((long(block, 16) >> 32) as i32);
		let moves = matches!(action, Action::Read | Action::Write);
		let size = if moves { (long(block, 32) as i64).max(0) } else { 0 };
		Some(Post {
			key: (process, long(block, 48)),
			action,
			opcode: u32::from(opcode),
			file: File::Descriptor(fd),
			size,
			offset: Some(long(block, 40) as i64),
		})
	})
}

/// What `io_getevents` brought: keys and results.
pub fn fetched(bytes: &[u8], process: u64) -> impl Iterator<Item = ((u64, u64), i64)> {
	bytes.chunks_exact(EVENT).map(move |event| ((process, long(event, 8)), long(event, 16) as i64))
}

/// Files that a ring knows from now on: the first's number, and descriptors.
pub fn registered(seen: &Event<'_>, call: &str) -> Option<(i64, Vec<i32>)> {
	let bytes = seen.path.filter(|_| call == "io_uring_register" && seen.result >= 0)?;
	let files = bytes.chunks_exact(4).map(|fd| i32::from_le_bytes([fd[0], fd[1], fd[2], fd[3]]));
	Some((seen.pointed[0] as i64, files.collect()))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn blocks_and_events() {
		let mut block = [0; BLOCK];
		block[16] = 1;
		block[20] = 5;
		block[32..40].copy_from_slice(&4096u64.to_le_bytes());
		block[40..48].copy_from_slice(&8192u64.to_le_bytes());
		block[48..56].copy_from_slice(&77u64.to_le_bytes());
		let posts: Vec<_> = of_blocks(&block, 3).collect();
		let [post] = posts[..] else { panic!("{posts:?}") };
		assert_eq!((post.key, post.action, post.size), ((3, 77), Action::Write, 4096));
		assert_eq!((post.file, post.offset), (File::Descriptor(5), Some(8192)));
		let mut event = [0; EVENT];
		event[8] = 77;
		event[16..24].copy_from_slice(&(-5i64).to_le_bytes());
		assert_eq!(fetched(&event, 3).collect::<Vec<_>>(), [((3, 77), -5)]);
	}
}
