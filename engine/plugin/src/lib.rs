//! Operations that plug-ins bring into a forwarding server: shared libraries of `forward/include/fathom_fwd_plugin.h`.

mod library;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::time::ClockId;

pub use library::Operation;

/// Most bytes of an operation's name.
const NAME: usize = 63;

/// What an operation is given.
pub struct Given<'a> {
	pub bytes: &'a [u8],
	/// The exported directory.
	pub directory: BorrowedFd<'a>,
	/// What it is about, to be read.
	pub file: Option<BorrowedFd<'a>>,
	/// Until the client gives up.
	pub left: Duration,
	/// Most bytes of the answer.
	pub room: usize,
}

/// Why an operation failed, and in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
	pub errno: Errno,
	pub why: String,
}

/// All operations of these plug-ins, by name. `reserved` says which names they may not have.
pub fn load(
	files: &[PathBuf],
	reserved: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, Operation>, String> {
	let mut all = BTreeMap::new();
	for file in files {
		let place = file.display();
		for operation in
			library::open(&whole(file)?).map_err(|why| format!("--plugin {place}: {why}"))?
		{
			let name = operation.name.clone();
			if !is_name(&name) {
				return Err(format!(
					"--plugin {place}: '{name}' is no name: 1 to {NAME} letters, digits, '_', '-', '.'"
				));
			}
			if reserved(&name) {
				return Err(format!(
					"--plugin {place}: '{name}' is an operation of the protocol; name it otherwise"
				));
			}
			if all.insert(name.clone(), operation).is_some() {
				return Err(format!("--plugin {place}: there is an operation '{name}' already"));
			}
		}
	}
	Ok(all)
}

/// As it stands, not looked for where libraries are.
fn whole(file: &Path) -> Result<PathBuf, String> {
	let place = file.display();
	std::fs::canonicalize(file).map_err(|error| format!("--plugin {place}: {error}"))
}

fn is_name(name: &str) -> bool {
	let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
	(1..=NAME).contains(&name.len()) && name.bytes().all(good)
}

/// CLOCK_MONOTONIC so much later, in nanoseconds.
fn due(left: Duration) -> u64 {
	let now = rustix::time::clock_gettime(ClockId::Monotonic);
	let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
	u64::try_from((now + left).as_nanos()).unwrap_or(u64::MAX)
}

/// What an operation returned; its answer, or its own words about a failure.
fn outcome(
	returned: i32,
	mut reply: Vec<u8>,
	length: usize,
	message: &[u8],
) -> Result<Vec<u8>, Failed> {
	let message = message.split(|byte| *byte == 0).next().unwrap_or_default();
	let message = String::from_utf8_lossy(message).into_owned();
	match returned {
		0 if length <= reply.len() => {
			reply.truncate(length);
			Ok(reply)
		}
		0 => {
			let why = format!(
				"it says that it answered {length} bytes, and had room for {}",
				reply.len()
			);
			Err(Failed { errno: Errno::IO, why })
		}
		1..=999 => {
			let errno = Errno::from_raw_os_error(returned);
			let why = if message.is_empty() { errno_text(errno) } else { message };
			Err(Failed { errno, why })
		}
		_ => {
			let why = format!("it returned {returned}, which is no errno");
			Err(Failed { errno: Errno::IO, why })
		}
	}
}

fn errno_text(errno: Errno) -> String {
	std::io::Error::from(errno).to_string()
}

#[cfg(test)]
mod tests {
	use super::*;

	fn failed(returned: i32, length: usize, message: &[u8]) -> (Errno, String) {
		let failed = outcome(returned, vec![0; 4], length, message).unwrap_err();
		(failed.errno, failed.why)
	}

	#[test]
	fn what_an_operation_returns_is_its_answer_or_its_error() {
		assert_eq!(outcome(0, b"abcd".to_vec(), 3, b"\0").unwrap(), b"abc");
		assert_eq!(failed(28, 4, b"no room\0rest"), (Errno::NOSPC, "no room".to_owned()));
		assert_eq!(failed(2, 0, b"\0").0, Errno::NOENT);
		assert_eq!(failed(0, 5, b"\0").0, Errno::IO);
		assert_eq!(failed(-5, 0, b"\0").0, Errno::IO);
		assert_eq!(failed(1001, 0, b"not ended").0, Errno::IO);
	}

	#[test]
	fn names_are_short_and_plain() {
		assert!(["a", "crc32", "my-lab.sum_2", &"x".repeat(63)].into_iter().all(is_name));
		assert!(!["", "a b", "a/b", "ä", &"x".repeat(64)].into_iter().any(is_name));
	}
}
