//! An event as bpf/trace.bpf.c puts it into the ring (`struct event`), as a record of the stream.

use fathom_stream::{KernelEvent, kernel_kind};

pub const BYTES: usize = 64;

/// What the numbers of this machine mean.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
	pub page: u64,
	/// Nanoseconds.
	pub jiffy: u64,
}

impl Scale {
	pub fn of_this_machine() -> Scale {
		// The coarse clock goes on by one jiffy.
		let jiffy = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
		Scale { page: rustix::param::page_size() as u64, jiffy: jiffy.tv_nsec as u64 }
	}
}

fn word(bytes: &[u8; BYTES], at: usize) -> u32 {
	u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn long(bytes: &[u8; BYTES], at: usize) -> u64 {
	u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// `None`: these are no bytes of an event.
pub fn read(bytes: &[u8], scale: Scale) -> Option<KernelEvent> {
	let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
	let mut event = KernelEvent {
		kind: word(bytes, 0),
		pid: word(bytes, 4),
		tid: word(bytes, 8),
		device: word(bytes, 12),
		began: long(bytes, 16),
		ended: long(bytes, 24),
		inode: long(bytes, 32),
		at: long(bytes, 40),
		bytes: long(bytes, 48),
		queued: long(bytes, 56),
	};
	if event.kind == kernel_kind::PAGES {
		event.at = event.at.saturating_mul(scale.page);
		event.bytes = event.bytes.saturating_mul(scale.page);
	}
	if event.kind == kernel_kind::THROTTLED {
		let pause = std::mem::take(&mut event.at).saturating_mul(scale.jiffy);
		event.ended = event.began.saturating_add(pause);
	}
	Some(event)
}

#[cfg(test)]
mod tests {
	use super::*;

	fn bytes(words: [u32; 4], longs: [u64; 6]) -> Vec<u8> {
		let words = words.into_iter().flat_map(u32::to_le_bytes);
		words.chain(longs.into_iter().flat_map(u64::to_le_bytes)).collect()
	}

	#[test]
	fn pages_are_bytes_and_jiffies_time() {
		let scale = Scale { page: 4096, jiffy: 4_000_000 };
		let pages = read(&bytes([kernel_kind::PAGES, 7, 8, 9], [1, 2, 3, 4, 5, 0]), scale);
		let pages = pages.unwrap();
		assert_eq!((pages.pid, pages.tid, pages.device, pages.inode), (7, 8, 9, 3));
		assert_eq!((pages.began, pages.ended, pages.at, pages.bytes), (1, 2, 16384, 20480));
		let pause = read(&bytes([kernel_kind::THROTTLED, 7, 8, 0], [100, 100, 0, 3, 0, 0]), scale);
		let pause = pause.unwrap();
		assert_eq!((pause.began, pause.ended, pause.at), (100, 12_000_100, 0));
		assert_eq!(read(&[0; BYTES - 1], scale), None);
	}
}
