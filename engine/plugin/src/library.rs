//! The C side: a plug-in's library, its table, its functions; laid out as in fathom_fwd_plugin.h.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use libloading::Library;

use crate::{Failed, Given, due, outcome};

/// Of the header that we speak.
const VERSION: u32 = 1;
/// Most operations of a plug-in.
const MOST: u32 = 128;
/// Bytes of an operation's own words.
const MESSAGE: usize = 512;

#[repr(C)]
struct RawCall {
	given: *const c_void,
	given_length: usize,
	reply: *mut c_void,
	room: usize,
	length: usize,
	directory: c_int,
	file: c_int,
	due: u64,
	message: *mut c_char,
	message_room: usize,
}

type Function = unsafe extern "C" fn(*mut RawCall) -> c_int;

#[repr(C)]
struct RawOperation {
	name: *const c_char,
	call: Option<Function>,
}

#[repr(C)]
struct RawPlugin {
	version: u32,
	count: u32,
	operations: *const RawOperation,
}

/// An operation of a plug-in.
pub struct Operation {
	pub name: String,
	call: Function,
	/// What it lies in.
	_library: Arc<Library>,
}

/// The loader's own words.
fn loader_message(error: &libloading::Error) -> String {
	error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// What a plug-in offers.
pub fn open(file: &Path) -> Result<Vec<Operation>, String> {
	// SAFETY: running a library's own code as it is loaded is what --plugin asks for.
	let library = unsafe { Library::new(file) }.map_err(|error| loader_message(&error))?;
	let library = Arc::new(library);
	// SAFETY: the header says what this name is.
	let entry =
		unsafe { library.get::<unsafe extern "C" fn() -> *const RawPlugin>(c"fathom_fwd_plugin") };
	let entry = entry.map_err(|_| "it has no function fathom_fwd_plugin".to_owned())?;
	// SAFETY: as the header says: it takes nothing, and what it returns stays.
	let table = unsafe { entry().as_ref() }.ok_or("it offers nothing (NULL)")?;
	if table.version != VERSION {
		return Err(format!(
			"it is of version {} of fathom_fwd_plugin.h, this server of {VERSION}; build it anew",
			table.version
		));
	}
	if table.count == 0 || table.count > MOST || table.operations.is_null() {
		return Err(format!("it has {} operations, 1 to {MOST} are expected", table.count));
	}
	// SAFETY: the table of that version says how many there are, and they stay.
	let raw = unsafe { std::slice::from_raw_parts(table.operations, table.count as usize) };
	raw.iter().map(|one| operation(one, &library)).collect()
}

fn operation(raw: &RawOperation, library: &Arc<Library>) -> Result<Operation, String> {
	let (false, Some(call)) = (raw.name.is_null(), raw.call) else {
		return Err("an operation without a name or a function".to_owned());
	};
	// SAFETY: not NULL, and text that ends, as the header says.
	let name = unsafe { CStr::from_ptr(raw.name) }.to_string_lossy().into_owned();
	Ok(Operation { name, call, _library: library.clone() })
}

impl Operation {
	/// Runs it, on this thread.
	pub fn run(&self, given: &Given<'_>) -> Result<Vec<u8>, Failed> {
		let (mut reply, mut message) = (vec![0u8; given.room], [0u8; MESSAGE]);
		let mut raw = RawCall {
			given: given.bytes.as_ptr().cast(),
			given_length: given.bytes.len(),
			reply: reply.as_mut_ptr().cast(),
			room: reply.len(),
			length: 0,
			directory: given.directory.as_raw_fd(),
			file: given.file.map_or(-1, |file| file.as_raw_fd()),
			due: due(given.left),
			message: message.as_mut_ptr().cast(),
			message_room: message.len(),
		};
		// SAFETY: laid out as in the header; all that it points to outlives the call, and its library is loaded.
		let returned = unsafe { (self.call)(&mut raw) };
		outcome(returned, reply, raw.length, &message)
	}
}
