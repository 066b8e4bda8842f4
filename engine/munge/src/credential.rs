//! The C side: `forward/client/munge.c`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};

/// As in munge.h.
const CREDENTIAL: usize = 1024;
const WHY: usize = 200;

/// Laid out as in munge.h.
#[repr(C)]
struct Statement {
	socket: *const c_char,
	bytes: *const c_void,
	length: usize,
	user: u32,
}

unsafe extern "C" {
	fn munge_seal(what: *const Statement, credential: *mut c_char, why: *mut c_char) -> bool;
	fn munge_check(what: *const Statement, credential: *const c_char, why: *mut c_char) -> bool;
}

fn statement(socket: &CStr, bytes: &[u8], user: u32) -> Statement {
	let (length, bytes) = (bytes.len(), bytes.as_ptr().cast());
	Statement { socket: socket.as_ptr(), bytes, length, user }
}

fn text(bytes: &[u8]) -> String {
	let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
	text.to_string_lossy().into_owned()
}

pub fn seal(socket: &CStr, bytes: &[u8], user: u32) -> Result<String, String> {
	let what = statement(socket, bytes, user);
	let (mut credential, mut why) = ([0u8; CREDENTIAL], [0u8; WHY]);
	// SAFETY: laid out as in munge.h and read during the call; room for as many bytes as it says there.
	let sealed =
		unsafe { munge_seal(&what, credential.as_mut_ptr().cast(), why.as_mut_ptr().cast()) };
	if sealed { Ok(text(&credential)) } else { Err(text(&why)) }
}

pub fn check(socket: &CStr, credential: &CStr, bytes: &[u8], user: u32) -> Result<(), String> {
	let what = statement(socket, bytes, user);
	let mut why = [0u8; WHY];
	// SAFETY: the same; the credential is a terminated text, read during the call.
	let fine = unsafe { munge_check(&what, credential.as_ptr(), why.as_mut_ptr().cast()) };
	if fine { Ok(()) } else { Err(text(&why)) }
}
