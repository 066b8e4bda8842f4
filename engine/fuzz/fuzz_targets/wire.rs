//! `cargo fuzz run wire`, from engine/: any bytes as a frame's header and as the body of every operation.
#![no_main]

use fathom_wire::{Failure, HEADER, Header, Part, Pull, Reply, Request, decode, expand};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
	if let Some(head) = data.first_chunk::<HEADER>() {
		let _ = Header::decode(head);
	}
	let Some((op, body)) = data.split_first() else { return };
	if let Ok((request, hints, at)) = Request::decode(u16::from(*op), body) {
		assert_eq!(request.encode(&hints), body[..at]);
	}
	if let Ok((reply, hints, at)) = Reply::decode(u16::from(*op), body) {
		assert_eq!(reply.encode(&hints), body[..at]);
	}
	let _ = expand(body, &mut Vec::new(), 1 << 20);
	let _ = (decode::<Failure>(body), decode::<Pull>(body), Part::decode(body));
});
