//! The clients' calls that a request serves: its own, or several, as another server names them in hints.

use std::ffi::CStr;
use std::ops::Range;

use fathom_record::Caller;
use fathom_wire::number::{hint, limit};
use fathom_wire::{Header, Hints};

/// The client's call behind a request.
pub fn caller_of(header: &Header, bytes: u64) -> Caller {
	Caller { stream: header.call_stream, seq: header.call_seq, bytes }
}

/// Calls in the value of a hint.
const CALLS: usize = limit::HINT as usize / CALL;
/// Bytes of a call there.
const CALL: usize = 24;
/// Hints of calls in a request; those of a write that has more are left out.
const MOST: usize = 60;
/// Calls that a request between servers can name.
pub const MOST_CALLERS: usize = CALLS * MOST;

/// What another server's rows are to say of a request: what its file is known as, and that its data is put together of several
/// calls' bytes.
pub fn caller_hints(callers: &[Caller], known_as: Option<&CStr>) -> Hints {
	let path = known_as.map(CStr::to_bytes).filter(|path| path.len() <= limit::HINT as usize);
	let hints = carries(callers);
	path.map_or_else(|| hints.clone(), |path| hints.clone().with(hint::KNOWN_AS, path))
}

fn carries(callers: &[Caller]) -> Hints {
	let one = |c: &Caller| [c.stream, c.seq, c.bytes].map(u64::to_le_bytes).concat();
	let values = callers.chunks(CALLS).take(MOST).map(|some| some.iter().flat_map(one).collect());
	let several = callers.len() > 1;
	Hints(values.filter(|_| several).map(|value| (hint::CARRIES, value)).collect())
}

/// The calls whose bytes these are of a write's data, in their order.
pub fn callers_of(header: &Header, hints: &Hints, range: Range<u64>) -> Vec<Caller> {
	let values = hints.0.iter().filter(|(key, _)| *key == hint::CARRIES).map(|(_, value)| value);
	let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
	let one = |call: &[u8]| Caller {
		stream: number(&call[..8]),
		seq: number(&call[8..16]),
		bytes: number(&call[16..]),
	};
	let callers: Vec<Caller> = values.flat_map(|value| value.chunks_exact(CALL).map(one)).collect();
	match callers.is_empty() || range.is_empty() {
		true => vec![caller_of(header, range.end - range.start)],
		false => fathom_record::cut(&callers, range),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn calls_of_a_write_are_told_to_another_server() {
		let of = |seq| Caller { stream: 9, seq, bytes: 10 };
		let header = Header { call_stream: 9, call_seq: 1, ..Header::default() };
		assert_eq!(carries(&[of(1)]), Hints::default());
		assert_eq!(callers_of(&header, &carries(&[of(1)]), 0..10), [of(1)]);
		let all: Vec<Caller> = (0..100).map(of).collect();
		assert_eq!(callers_of(&header, &carries(&all), 0..1000), all);
		assert_eq!(callers_of(&header, &carries(&all), 450..470), all[45..47]);
	}
}
