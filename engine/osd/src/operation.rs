//! What an OSD keeps of an operation: a line that says what it was, and when it passed which point.

use chrono::DateTime;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
	Read,
	Write,
	/// Neither: attributes, removal, metadata that lies beside an object's bytes.
	Other,
}

/// Times in nanoseconds since 1970, none before the one above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
	/// The client's name for it, the same in all answers: `client.4145.0:21`.
	pub name: String,
	pub object: String,
	pub kind: Kind,
	/// Where in the object, where it is one place.
	pub at: Option<i64>,
	/// None below 0, as is `at`.
	pub bytes: i64,
	pub began: u64,
	/// It had been waited for its turn.
	pub taken: u64,
	/// The store had it.
	pub stored_from: u64,
	pub stored_to: u64,
	pub ended: u64,
}

/// The operations of clients in an OSD's answer to `dump_historic_ops`.
pub fn operations(reply: &Value) -> Vec<Operation> {
	let all = reply.get("ops").and_then(Value::as_array);
	all.into_iter().flatten().filter_map(Operation::read).collect()
}

impl Operation {
	/// `None`: no operation of a client, or not told as such.
	pub fn read(entry: &Value) -> Option<Operation> {
		let what = entry.get("description")?.as_str()?.strip_prefix("osd_op(")?;
		let mut words = what.splitn(4, ' ');
		let (name, _group, target, rest) =
			(words.next()?, words.next()?, words.next()?, words.next()?);
		// POOL:HASH:NAMESPACE:KEY:NAME:SNAPSHOT; colons in names are escaped.
		let object = target.split(':').nth(4)?.to_owned();
		let pieces = pieces(rest);
		let write = pieces.iter().any(|piece| piece.kind == Kind::Write);
		let read = !write && !pieces.is_empty();
		let times = Times::read(entry)?;
		Some(Operation {
			name: name.to_owned(),
			object,
			kind: if write {
				Kind::Write
			} else if read {
				Kind::Read
			} else {
				Kind::Other
			},
			at: if let [one] = pieces.as_slice() { Some(one.at) } else { None },
			bytes: pieces
				.iter()
				.filter(|p| !write || p.kind == Kind::Write)
				.fold(0i64, |sum, p| sum.saturating_add(p.length)),
			began: times.began,
			taken: times.taken,
			stored_from: times.stored_from,
			stored_to: times.stored_to,
			ended: times.ended,
		})
	}
}

struct Piece {
	kind: Kind,
	at: i64,
	length: i64,
}

/// What moves data in `[write 0~4096 [fadvise_dontneed],setxattr parent (30)] snapc …`.
fn pieces(text: &str) -> Vec<Piece> {
	let mut pieces = Vec::new();
	let mut words = text.split(['[', ']', ' ', ',']).peekable();
	while let Some(word) = words.next() {
		let kind = match word {
			"write" | "writefull" | "append" => Kind::Write,
			"read" | "sparse-read" | "sync_read" => Kind::Read,
			_ => continue,
		};
		let Some((at, length)) = words.peek().and_then(|extent| extent.split_once('~')) else {
			continue;
		};
		if let (Some(at), Some(length)) = (number(at), number(length)) {
			pieces.push(Piece { kind, at, length });
		}
	}
	pieces
}

fn number(text: &str) -> Option<i64> {
	text.parse().ok().filter(|number| *number >= 0)
}

struct Times {
	began: u64,
	taken: u64,
	stored_from: u64,
	stored_to: u64,
	ended: u64,
}

impl Times {
	/// By the times of events: their durations wrap below zero.
	fn read(entry: &Value) -> Option<Times> {
		let began = moment(entry.get("initiated_at")?.as_str()?)?;
		let events = entry.get("type_data")?.get("events")?.as_array()?;
		let last = |name: &str| {
			let named = |event: &&Value| event.get("event").and_then(Value::as_str) == Some(name);
			let event = events.iter().rev().find(named)?;
			moment(event.get("time")?.as_str()?)
		};
		let ended = last("done")?.max(began);
		let taken = last("reached_pg").unwrap_or(began).clamp(began, ended);
		let stored_from = last("started").unwrap_or(taken).clamp(taken, ended);
		let committed = last("op_commit").or_else(|| last("commit_sent"));
		let stored_to = committed.unwrap_or(ended).clamp(stored_from, ended);
		Some(Times { began, taken, stored_from, stored_to, ended })
	}
}

/// `2026-11-23T11:08:45.247656+0000`, or with `+02:00` or `Z`: nanoseconds since 1970.
fn moment(text: &str) -> Option<u64> {
	let moment = DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%#z").ok()?;
	u64::try_from(moment.timestamp_nanos_opt()?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
	use super::*;
	use proptest::prelude::*;
	use serde_json::json;

	fn historic_op(what: &str, events: &[(&str, &str)]) -> Value {
		let at = |second: &str| format!("2026-11-23T11:08:{second}+0000");
		let events: Vec<Value> = events
			.iter()
			.map(
				|(name, second)| json!({"event": name, "time": at(second), "duration": 4294967295.9}),
			)
			.collect();
		json!({"description": what, "initiated_at": at("45.247656"), "type_data": {"events": events}})
	}

	#[test]
	fn a_write_has_its_object_its_bytes_and_its_stages() {
		let what = "osd_op(client.4145.0:21 3.1f 3:faedc8eb:::100000001f6.00000002:head \
			[write 4096~458752 [fadvise_dontneed]] snapc 1=[] ondisk+write e43)";
		let events = [
			("throttled", "45.247650"),
			("reached_pg", "45.248199"),
			("started", "45.248280"),
			("op_commit", "45.254894"),
			("done", "45.254957"),
		];
		let op = Operation::read(&historic_op(what, &events)).unwrap();
		assert_eq!(
			(op.name.as_str(), op.object.as_str()),
			("client.4145.0:21", "100000001f6.00000002")
		);
		assert_eq!((op.kind, op.at, op.bytes), (Kind::Write, Some(4096), 458_752));
		let after = [op.taken, op.stored_from, op.stored_to, op.ended].map(|time| time - op.began);
		assert_eq!(after, [543_000, 624_000, 7_238_000, 7_301_000]);
	}

	#[test]
	fn of_several_places_none_is_said_and_attributes_are_no_data() {
		let of = |ops: &str| {
			let what = format!("osd_op(mds.0.4:1 2.7 2:ff5b34d6:::1.00000000:head [{ops}] e33)");
			let op = Operation::read(&historic_op(&what, &[("done", "46.0")])).unwrap();
			(op.kind, op.at, op.bytes)
		};
		assert_eq!(of("create,setxattr parent (30) in=6b"), (Kind::Other, None, 0));
		assert_eq!(of("write 0~10,write 50~20"), (Kind::Write, None, 30));
		assert_eq!(of("writefull 0~90"), (Kind::Write, Some(0), 90));
		assert_eq!(of("read 8192~100"), (Kind::Read, Some(8192), 100));
		assert_eq!(of("delete"), (Kind::Other, None, 0));
	}

	#[test]
	fn what_is_no_clients_operation_is_none() {
		assert_eq!(Operation::read(&historic_op("MOSDPGPull(2.5 e36/36 cost 8389608)", &[])), None);
		assert_eq!(Operation::read(&json!({})), None);
	}

	#[test]
	fn times_are_read_in_every_zone() {
		assert_eq!(moment("1970-01-01T00:00:00.000001+0000"), Some(1000));
		assert_eq!(moment("1970-01-01T02:00:00+02:00"), Some(0));
		assert_eq!(moment("2024-02-29T12:00:00.5Z"), Some(1_709_208_000_500_000_000));
		assert_eq!(moment("2026-11-23T06:08:45.5-0500"), moment("2026-11-23T11:08:45.5+0000"));
		assert_eq!(moment("yesterday"), None);
	}

	/// Days since 1970, counted.
	fn counted_days(year: u64, month: usize, day: u64) -> u64 {
		let leap = |year: u64| {
			year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
		};
		let february = if leap(year) { 29 } else { 28 };
		let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
		let years: u64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
		years + months[..month - 1].iter().sum::<u64>() + day - 1
	}

	/// Any text, and pieces of good ones.
	fn word() -> impl Strategy<Value = String> {
		let good = [
			"osd_op(",
			"client.4:1 ",
			"3.1f ",
			"3:fa:::1f6.00000002:head ",
			"[write 0~10",
			"read 5~-7",
			",writefull 0~9223372036854775807",
			",append 9223372036854775807~9223372036854775807",
			"]",
			"2026-11-23T11:08:45.2",
			"-02-29T",
			"65535-99-99T99:99:99",
			"+0000",
			"-9999",
			"+9",
			".5é",
		];
		prop_oneof![".{0,8}", proptest::sample::select(good.to_vec()).prop_map(str::to_owned)]
	}

	fn words() -> impl Strategy<Value = String> {
		proptest::collection::vec(word(), 0..8).prop_map(|words| words.concat())
	}

	proptest! {
		#[test]
		fn every_date_is_counted_right(
			year in 1970u64..2262, month in 1usize..13, day in 1u64..29, second in 0u64..86400, nano in 0u64..1_000_000_000,
		) {
			let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
			let text = format!("{year}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{nano:09}+0000");
			let seconds = counted_days(year, month, day) * 86400 + second;
			prop_assert_eq!(moment(&text), seconds.checked_mul(1_000_000_000).and_then(|s| s.checked_add(nano)));
		}

		#[test]
		fn what_is_said_is_read(name in "[a-z.0-9:]{1,20}", object in "[0-9a-f.]{1,30}", extents in proptest::collection::vec((0i64..1 << 40, 0i64..1 << 40), 1..5)) {
			let parts: Vec<String> = extents.iter().map(|(at, length)| format!("write {at}~{length} [x]")).collect();
			let what = format!("osd_op({name} 3.1f 3:fa:::{object}:head [{}] snapc 1=[])", parts.join(","));
			let op = Operation::read(&historic_op(&what, &[("done", "46.0")])).unwrap();
			prop_assert_eq!((&op.name, &op.object, op.kind), (&name, &object, Kind::Write));
			prop_assert_eq!(op.bytes, extents.iter().map(|(_, length)| length).sum::<i64>());
			prop_assert_eq!(op.at, (extents.len() == 1).then_some(extents[0].0));
		}

		/// Whatever an OSD says: an operation whose times are in order, or none.
		#[test]
		fn any_words_are_an_operation_in_order_or_none(
			what in words(), began in words(), events in proptest::collection::vec((0usize..6, words()), 0..6),
		) {
			let names = ["reached_pg", "started", "op_commit", "commit_sent", "done", ""];
			let good = "2026-11-23T11:08:45.2+0000";
			let events: Vec<Value> = events.iter().enumerate().map(|(i, (name, time))| {
				json!({"event": names[*name], "time": if i % 2 == 0 { good } else { time }})
			}).collect();
			for began in [good, &began] {
				for what in [what.clone(), format!("osd_op({what}")] {
					let entry = json!({"description": what, "initiated_at": began, "type_data": {"events": events}});
					for op in operations(&json!({"ops": [entry]})) {
						prop_assert!(op.began <= op.taken && op.taken <= op.stored_from);
						prop_assert!(op.stored_from <= op.stored_to && op.stored_to <= op.ended);
						prop_assert!(op.bytes >= 0 && op.at.is_none_or(|at| at >= 0));
					}
				}
			}
		}
	}
}
