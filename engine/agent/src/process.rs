//! One process: its processors' time, its memory, what it moved to and from storage.

use crate::values::{BYTES, COUNT, NS, Root, Values, number, ticks};

/// Adds a process's numbers; false when it is not there, or when the pid is another's by now.
pub fn sample(root: &Root, pid: u32, start: u64, values: &mut Values) -> bool {
	let stat = root.read(format!("proc/{pid}/stat"));
	let Some((_, after_name)) = stat.rsplit_once(')') else { return false };
	let words: Vec<&str> = after_name.split_ascii_whitespace().collect();
	// Field 3, the state, is word 0.
	if number(&words, 22 - 3) != Some(start) || matches!(words.first(), Some(&"Z" | &"X")) {
		return false;
	}
	values.add("cpu.user", NS, ticks(number(&words, 14 - 3).unwrap_or(0)));
	values.add("cpu.system", NS, ticks(number(&words, 15 - 3).unwrap_or(0)));
	status(&root.read(format!("proc/{pid}/status")), values);
	storage(&root.read(format!("proc/{pid}/io")), values);
	true
}

fn status(text: &str, values: &mut Values) {
	for line in text.lines() {
		let words: Vec<&str> = line.split_ascii_whitespace().collect();
		let Some(value) = number(&words, 1) else { continue };
		match words[0] {
			"VmHWM:" => values.add("memory.peak", BYTES, value.saturating_mul(1024)),
			"VmRSS:" => values.add("memory.resident", BYTES, value.saturating_mul(1024)),
			"VmSwap:" => values.add("memory.swapped", BYTES, value.saturating_mul(1024)),
			"Threads:" => values.add("threads", COUNT, value),
			_ => {}
		}
	}
}

fn storage(text: &str, values: &mut Values) {
	for line in text.lines() {
		let words: Vec<&str> = line.split_ascii_whitespace().collect();
		match (words.first(), number(&words, 1)) {
			(Some(&"read_bytes:"), Some(value)) => values.add("storage.read_bytes", BYTES, value),
			(Some(&"write_bytes:"), Some(value)) => values.add("storage.write_bytes", BYTES, value),
			_ => {}
		}
	}
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::values::fixture;

	#[test]
	fn a_process_with_brackets_in_its_name() {
		let sampled = fixture("new", |root, values| assert!(sample(root, 4711, 8_123_456, values)));
		assert_eq!(sampled[&("cpu.user", "")], (1234 * 10_000_000, NS));
		assert_eq!(sampled[&("cpu.system", "")], (56 * 10_000_000, NS));
		assert_eq!(sampled[&("memory.peak", "")], (123_456 * 1024, BYTES));
		assert_eq!(sampled[&("memory.resident", "")], (100_000 * 1024, BYTES));
		assert_eq!(sampled[&("memory.swapped", "")], (512 * 1024, BYTES));
		assert_eq!(sampled[&("threads", "")], (9, COUNT));
		assert_eq!(sampled[&("storage.read_bytes", "")], (8192, BYTES));
		assert_eq!(sampled[&("storage.write_bytes", "")], (4096, BYTES));
	}

	#[test]
	fn a_pid_of_another_process_gives_nothing() {
		let sampled = fixture("new", |root, values| assert!(!sample(root, 4711, 1, values)));
		assert!(sampled.is_empty());
	}
}
