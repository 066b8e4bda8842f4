//! The C side: `record.c` over the runtime's encoder, `runtime/core`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::os::fd::RawFd;
use std::ptr;

/// A client's call that is worked for, as it came with the request; stream 0: it is not traced.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caller {
	pub stream: u64,
	pub seq: u64,
	/// Of an access: the call's own.
	pub bytes: u64,
}

/// A request that has its answer.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
	/// By `op`.
	pub op: u32,
	/// An errno, or another status of the protocol; 0: none.
	pub error: i32,
	/// A descriptor of the file that it was about; -1: none.
	pub file: i64,
	/// By `now`.
	pub arrived: u64,
	/// Nanoseconds until the first access to the store began, but for those that its data took to come.
	pub queued: i64,
	/// Of a write: nanoseconds during which its data was asked for and had not come.
	pub pulled: i64,
	pub size: i64,
	pub offset: i64,
	pub bytes: i64,
	/// The file's path where it is another's part, or no descriptor's.
	pub known_as: Option<&'a CStr>,
	pub callers: &'a [Caller],
}

/// The same, laid out as in record.h.
#[repr(C)]
struct RawRequest {
	op: u32,
	error: i32,
	file: i64,
	arrived: u64,
	queued: i64,
	pulled: i64,
	size: i64,
	offset: i64,
	bytes: i64,
	known_as: *const c_char,
	callers: *const Caller,
	count: usize,
}

/// What an access is about, laid out as in record.h.
#[repr(C)]
struct RawPlace {
	file: i32,
	path: *const c_char,
	known_as: *const c_char,
}

unsafe extern "C" {
	fn server_begin(run: *const c_char) -> bool;
	fn server_end();
	fn server_now() -> u64;
	fn server_op(layer: *const c_char, name: *const c_char) -> u32;
	fn server_new_op(name: *const c_char) -> u32;
	fn server_request(request: *const RawRequest);
	fn server_enter(op: u32, place: *const RawPlace, size: i64, offset: i64);
	fn server_leave(error: i32, bytes: i64, callers: *const Caller, count: usize, together: bool);
	fn server_closed(file: i32);
}

fn pointer(text: Option<&CStr>) -> *const c_char {
	text.map_or(ptr::null(), CStr::as_ptr)
}

pub fn begin(run: Option<&CStr>) -> bool {
	// SAFETY: a terminated text or NULL, read during the call; made once, before any thread of ours.
	unsafe { server_begin(pointer(run)) }
}

pub fn end() {
	// SAFETY: takes nothing; the encoder guards itself.
	unsafe { server_end() }
}

pub fn now() -> u64 {
	// SAFETY: reads a clock.
	unsafe { server_now() }
}

pub fn op(layer: &CStr, name: &CStr) -> Option<u32> {
	// SAFETY: terminated texts, read during the call.
	let op = unsafe { server_op(layer.as_ptr(), name.as_ptr()) };
	(op != u32::MAX).then_some(op)
}

pub fn new_op(name: &CStr) -> Option<u32> {
	// SAFETY: a terminated text, copied during the call.
	let op = unsafe { server_new_op(name.as_ptr()) };
	(op != u32::MAX).then_some(op)
}

pub fn request(request: &Request<'_>) {
	let raw = RawRequest {
		op: request.op,
		error: request.error,
		file: request.file,
		arrived: request.arrived,
		queued: request.queued,
		pulled: request.pulled,
		size: request.size,
		offset: request.offset,
		bytes: request.bytes,
		known_as: pointer(request.known_as),
		callers: request.callers.as_ptr(),
		count: request.callers.len(),
	};
	// SAFETY: laid out as in record.h, with terminated texts or NULL; read during the call.
	unsafe { server_request(&raw) }
}

pub fn enter(
	op: u32,
	file: RawFd,
	(path, known_as): (Option<&CStr>, Option<&CStr>),
	(size, offset): (i64, i64),
) {
	let place = RawPlace { file, path: pointer(path), known_as: pointer(known_as) };
	// SAFETY: laid out as in record.h, with terminated texts or NULL; read during the call.
	unsafe { server_enter(op, &place, size, offset) }
}

pub fn leave(error: i32, bytes: i64, callers: &[Caller], together: bool) {
	// SAFETY: as many callers as are said, laid out as in record.h, read during the call.
	unsafe { server_leave(error, bytes, callers.as_ptr(), callers.len(), together) }
}

pub fn closed(file: RawFd) {
	// SAFETY: a number.
	unsafe { server_closed(file) }
}
