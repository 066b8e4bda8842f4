//! What an orderly end leaves behind: that all that a server had accepted is written. The next server tells it those whose
//! writes these were, who would else have to take them for lost.

use std::io::Write;
use std::os::fd::BorrowedFd;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::journal::{own_directory, own_file, read_own};

/// In the server's own directory: a line per server that has ended, `EPOCH BOOT CLIENT...` in hexadecimal. The clients are
/// those that were not told of a write that failed.
const NAME: &str = "ended";
/// Lines that are read, the last ones.
const LINES: usize = 32;

#[derive(Default)]
pub struct Ended(Vec<(u64, Vec<u64>)>);

impl Ended {
	pub fn read(root: BorrowedFd<'_>) -> Result<Ended, String> {
		Ok(Ended::of_lines(&read_own(&root, NAME)?.unwrap_or_default()))
	}

	/// What was written into memory is lost with the machine: ends before it was started do not count.
	pub fn of_lines(bytes: &[u8]) -> Ended {
		let text = String::from_utf8_lossy(bytes); // a line that is not whole is none
		let lines: Vec<&str> = text.lines().collect();
		let last = &lines[lines.len().saturating_sub(LINES)..];
		Ended(last.iter().filter_map(|line| parse(line, &boot())).collect())
	}

	/// Epochs of which all of a client's writes are written.
	pub fn of(&self, client: u64) -> Vec<u8> {
		let all = self.0.iter().filter(|(_, failed)| !failed.contains(&client));
		all.flat_map(|(epoch, _)| epoch.to_le_bytes()).collect()
	}
}

pub fn note(root: BorrowedFd<'_>, line: &str) -> Result<(), Errno> {
	let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
	let mut file = own_file(&own_directory(&root, true)?, NAME, flags)?;
	file.write_all(line.as_bytes()).map_err(|_| Errno::IO)
}

/// A server ends, and has written all but what these clients were not told of.
pub fn line(epoch: u64, failed: &[u64]) -> String {
	let failed: String = failed.iter().map(|client| format!(" {client:016x}")).collect();
	format!("{epoch:016x} {}{failed}\n", boot())
}

fn parse(line: &str, boot: &str) -> Option<(u64, Vec<u64>)> {
	let number = |text: &str| u64::from_str_radix(text, 16).ok();
	let mut parts = line.split(' ');
	let (epoch, booted) = (number(parts.next()?)?, parts.next()?);
	let failed = parts.map(number).collect::<Option<Vec<u64>>>()?;
	(booted == boot).then_some((epoch, failed))
}

/// Which start of the machine this is.
fn boot() -> String {
	let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
	id.trim().to_owned()
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn an_end_counts_on_this_boot_and_for_whom_nothing_failed() {
		let line = format!("{:016x} {} {:016x}", 7, "b", 3);
		assert_eq!(parse(&line, "b"), Some((7, vec![3])));
		assert_eq!(parse(&line, "c"), None);
		assert_eq!(parse("7 b x", "b"), None);
		let ended = Ended(vec![(7, vec![3]), (8, vec![])]);
		assert_eq!(ended.of(3), 8u64.to_le_bytes());
		assert_eq!(ended.of(4).len(), 16);
	}
}
