//! The C side: `record.c` over the runtime's encoder, `runtime/core`.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::os::fd::RawFd;
use std::ptr;

use crate::Moment;

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
	pub arrived: Moment,
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

/// Where in its file an operation's bytes lie: from `offset` on in pieces that end at multiples of `unit`, each `stride`
/// bytes behind the one before. 0: in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
	pub offset: i64,
	pub unit: i64,
	pub stride: i64,
}

/// An operation of another server, which reported it when it was over. Times in ticks.
#[derive(Debug, Clone)]
pub struct PastOperation<'a> {
	/// By `op`, and by `store_op`.
	pub op: u32,
	pub store_op: Option<u32>,
	/// By `file_number`; 0: not known.
	pub file: u32,
	pub began: u64,
	/// While its store worked for it.
	pub stored: Range<u64>,
	pub ended: u64,
	/// Nanoseconds before it was begun with.
	pub queued: i64,
	pub bytes: i64,
	pub place: Option<Stripes>,
	/// What the server calls the object.
	pub object: &'a CStr,
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

/// What another server says that it did, once it is over; laid out as in record.h.
#[repr(C)]
struct RawPast {
	op: u32,
	store_op: u32,
	file: u32,
	error: i32,
	began: u64,
	stored_from: u64,
	stored_to: u64,
	ended: u64,
	queued: i64,
	size: i64,
	offset: i64,
	bytes: i64,
	unit: i64,
	stride: i64,
	object: *const c_char,
}

unsafe extern "C" {
	fn server_begin(run: *const c_char) -> bool;
	fn server_attach(settings: *const c_char) -> bool;
	fn server_run() -> *const c_char;
	fn server_end();
	fn server_now() -> u64;
	fn server_op(layer: *const c_char, name: *const c_char) -> u32;
	fn server_new_op(name: *const c_char) -> u32;
	fn server_request(request: *const RawRequest);
	fn server_enter(op: u32, place: *const RawPlace, size: i64, offset: i64);
	fn server_leave(error: i32, bytes: i64, callers: *const Caller, count: usize, together: bool);
	fn server_closed(file: i32);
	fn server_past(past: *const RawPast);
	fn server_file_number(file: i32) -> u32;
	fn server_moment(ticks: *mut u64, realtime: *mut u64);
	fn server_note(line: *const c_char);
}

fn pointer(text: Option<&CStr>) -> *const c_char {
	text.map_or(ptr::null(), CStr::as_ptr)
}

pub fn begin(run: Option<&CStr>) -> bool {
	// SAFETY: a terminated text or NULL, read during the call; the caller sees to it that nobody begins or ends meanwhile.
	unsafe { server_begin(pointer(run)) }
}

pub fn attach(settings: &[u8]) -> bool {
	if !settings.ends_with(&[0, 0]) {
		return false;
	}
	// SAFETY: texts that end within these bytes, read during the call; the caller sees to it that nobody begins or ends
	// meanwhile.
	unsafe { server_attach(settings.as_ptr().cast()) }
}

/// The run that is recorded into.
pub fn run() -> Option<String> {
	// SAFETY: a terminated text or NULL, which changes only where recording begins: the caller sees to it that it does
	// not meanwhile.
	let run = unsafe { server_run().as_ref().map(|run| CStr::from_ptr(run)) };
	run.map(|run| run.to_string_lossy().into_owned())
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
		arrived: request.arrived.ticks,
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

pub fn past_operation(past: &PastOperation<'_>) {
	let (offset, unit, stride) = match past.place {
		Some(place) => (place.offset, place.unit, place.stride),
		None => (i64::MIN, 0, 0),
	};
	let raw = RawPast {
		op: past.op,
		store_op: past.store_op.unwrap_or(u32::MAX),
		file: past.file,
		error: 0,
		began: past.began,
		stored_from: past.stored.start,
		stored_to: past.stored.end,
		ended: past.ended,
		queued: past.queued,
		size: past.bytes,
		offset,
		bytes: past.bytes,
		unit,
		stride,
		object: past.object.as_ptr(),
	};
	// SAFETY: laid out as in record.h, with a terminated text; read during the call.
	unsafe { server_past(&raw) }
}

pub fn file_number(file: RawFd) -> u32 {
	// SAFETY: a number; the encoder asks the kernel what it is.
	unsafe { server_file_number(file) }
}

/// Ticks, and nanoseconds since 1970.
pub fn moment() -> (u64, u64) {
	let (mut ticks, mut realtime) = (0, 0);
	// SAFETY: two places to write to, for the time of the call.
	unsafe { server_moment(&mut ticks, &mut realtime) };
	(ticks, realtime)
}

pub fn note(line: &CStr) {
	// SAFETY: a terminated text, read during the call.
	unsafe { server_note(line.as_ptr()) }
}
