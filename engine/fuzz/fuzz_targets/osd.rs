//! `cargo fuzz run osd`, from engine/: any bytes as an OSD's answer, and any lines as what it says of one operation.
#![no_main]

use fathom_osd::operations;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const EVENTS: [&str; 5] = ["reached_pg", "started", "op_commit", "commit_sent", "done"];

/// Its description, when it began, when it passed which point.
fn lines(text: &str) -> Value {
	let mut lines = text.lines();
	let (what, began) = (lines.next(), lines.next());
	let event = |(name, time): (&&str, &str)| json!({"event": name, "time": time});
	let events: Vec<Value> = EVENTS.iter().zip(lines).map(event).collect();
	json!({"ops": [{"description": what, "initiated_at": began, "type_data": {"events": events}}]})
}

fuzz_target!(|data: &[u8]| {
	let answer = serde_json::from_slice(data).unwrap_or(Value::Null);
	for operation in operations(&answer).into_iter().chain(operations(&lines(&String::from_utf8_lossy(data)))) {
		let times = [operation.began, operation.taken, operation.stored_from, operation.stored_to, operation.ended];
		assert!(times.is_sorted(), "{operation:?}");
		assert!(operation.bytes >= 0 && operation.at.is_none_or(|at| at >= 0), "{operation:?}");
	}
});
