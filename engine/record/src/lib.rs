//! What a server of ours records of itself, by the encoder that programs are traced with: its requests, each with the
//! client's call that it serves, and its accesses to the store, each with the calls that it was made for.
//! Where nothing is recorded, each of these functions is one load and one branch.

mod encoder;

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{CStr, CString};
use std::fs;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

pub use encoder::{Caller, PastOperation, Request, Stripes};

/// What is done to the store, by the names of system calls; places in `ops` of record.c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
	Open,
	Stat,
	SetAttr,
	Rename,
	Link,
	Unlink,
	Mkdir,
	Mknod,
	Rmdir,
	Getdents,
	Symlink,
	Readlink,
	StatVfs,
	Pread,
	Pwritev,
	Fsync,
}

/// What an access is about: a file by a descriptor, or a path relative to a directory.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
	pub file: RawFd,
	pub path: Option<&'a [u8]>,
}

/// How often recording began and ended: odd while it is on.
static SESSION: AtomicU32 = AtomicU32::new(0);
/// Held by who changes that.
static CHANGING: Mutex<()> = Mutex::new(());

thread_local! {
	/// What this thread works for, and the session in which that was set.
	static PURPOSE: RefCell<(u32, Purpose)> = RefCell::new((0, Purpose::default()));
}

/// A moment by the clock of rows: of what lasts into another session, nothing is recorded there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
	session: u32,
	ticks: u64,
}

/// What came of asking a server that runs to begin, or to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
	Done,
	RecordedAlready,
	/// The settings name no run, or say that nothing is recorded.
	LeftOut,
	NotRecorded,
}

/// What work is done for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Purpose {
	pub callers: Vec<Caller>,
	/// Their bytes, in this order, make one access.
	pub together: bool,
	/// The path by which programs know the file, where it is not what the store calls it.
	pub known_as: Option<Arc<CStr>>,
}

/// Begin to record into a run directory, made if need be; without one, into that of FATHOM_RUN, if there is one.
pub fn begin(run: Option<&Path>) -> Result<(), String> {
	let _changing = changing();
	let begun = match run {
		Some(run) => begin_in(run).map_err(|error| format!("--record {}: {error}", run.display())),
		None => Ok(encoder::begin(None)),
	};
	if begun? {
		SESSION.fetch_add(1, Ordering::Release);
	}
	Ok(())
}

/// Begin in a server that runs, by settings as an environment has them, each with a zero behind it, and one more at the end.
/// With the run that it is recorded in.
pub fn attach(settings: &[u8]) -> (Changed, String) {
	let _changing = changing();
	if is_on() {
		return (Changed::RecordedAlready, encoder::run().unwrap_or_default());
	}
	if !encoder::attach(settings) {
		return (Changed::LeftOut, String::new());
	}
	SESSION.fetch_add(1, Ordering::Release);
	(Changed::Done, encoder::run().unwrap_or_default())
}

/// Write out what was recorded, and record no more until it begins again; with the run.
pub fn detach() -> (Changed, String) {
	let _changing = changing();
	if !is_on() {
		return (Changed::NotRecorded, String::new());
	}
	let run = encoder::run().unwrap_or_default();
	SESSION.fetch_add(1, Ordering::Release);
	encoder::end();
	(Changed::Done, run)
}

fn changing() -> MutexGuard<'static, ()> {
	CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn begin_in(run: &Path) -> Result<bool, String> {
	let whole = std::path::absolute(run).map_err(|error| error.to_string())?;
	fs::create_dir_all(whole.join("streams")).map_err(|error| error.to_string())?;
	let text = CString::new(whole.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
	match encoder::begin(Some(&text)) {
		true => Ok(true),
		false => Err("tracing is off (FATHOM_LEVEL), or the name is too long".to_owned()),
	}
}

fn session() -> u32 {
	SESSION.load(Ordering::Acquire) // what begin made is there
}

pub fn is_on() -> bool {
	session() % 2 == 1
}

/// Now, if something is recorded.
pub fn now() -> Moment {
	let session = session();
	let ticks = if session % 2 == 1 { encoder::now() } else { 0 };
	Moment { session, ticks }
}

/// The number of a server's operation by its name.
pub fn op(name: &CStr) -> Option<u32> {
	encoder::op(c"server", name)
}

/// A number for one more operation of a server, by its name; while there is only one thread.
pub fn new_op(name: &CStr) -> Option<u32> {
	encoder::new_op(name)
}

/// A request has its answer, now. One that had come before recording began is not in the run.
pub fn request(request: &Request<'_>) {
	if is_on() && request.arrived.session == session() {
		encoder::request(request);
	}
}

impl Purpose {
	/// One call's.
	pub fn of(caller: Caller, known_as: Option<Arc<CStr>>) -> Purpose {
		let callers = if is_on() { vec![caller] } else { Vec::new() };
		Purpose { callers, together: false, known_as }
	}
}

/// A purpose that was set in another session holds no more.
fn with_purpose<T>(act: impl FnOnce(&mut Purpose) -> T) -> T {
	let now = session();
	PURPOSE.with_borrow_mut(|(valid_in, purpose)| {
		if *valid_in != now {
			(*valid_in, *purpose) = (now, Purpose::default());
		}
		act(purpose)
	})
}

/// From here on this thread works for this.
pub fn works_for(purpose: Purpose) {
	if is_on() {
		with_purpose(|current| *current = purpose);
	}
}

/// The same file, and an access that puts these calls' bytes together, in this order.
pub fn puts_together(callers: impl FnOnce() -> Vec<Caller>) {
	if is_on() {
		let callers = callers();
		with_purpose(|purpose| (purpose.callers, purpose.together) = (callers, true));
	}
}

/// The same file, and an access for these calls that moves none of their bytes.
pub fn serves(callers: Vec<Caller>) {
	if is_on() {
		with_purpose(|purpose| {
			purpose.callers = callers.into_iter().map(|one| Caller { bytes: 0, ..one }).collect();
			purpose.together = false;
		});
	}
}

/// What this thread works for, as it was set.
pub fn works_for_what() -> Purpose {
	if is_on() { with_purpose(|purpose| purpose.clone()) } else { Purpose::default() }
}

/// Whose a range is of bytes that are these calls', one call's after the other's.
pub fn cut(callers: &[Caller], range: Range<u64>) -> Vec<Caller> {
	let mut some = Vec::new();
	let mut at = 0u64;
	for caller in callers {
		let end = at.saturating_add(caller.bytes);
		let (from, to) = (range.start.max(at), range.end.min(end));
		if from < to {
			some.push(Caller { bytes: to - from, ..*caller });
		}
		at = end;
	}
	some
}

/// The same with neighbouring bytes of one call as one entry.
pub fn joined(callers: Vec<Caller>) -> Vec<Caller> {
	let mut some: Vec<Caller> = Vec::new();
	for caller in callers {
		match some.last_mut() {
			Some(last) if (last.stream, last.seq) == (caller.stream, caller.seq) => {
				last.bytes += caller.bytes;
			}
			_ => some.push(caller),
		}
	}
	some
}

/// Each call once, with the sum of its bytes.
pub fn sums(callers: &[Caller]) -> Vec<Caller> {
	let mut sums: Vec<Caller> = Vec::new();
	let mut known: HashMap<(u64, u64), usize> = HashMap::new();
	for caller in callers {
		match known.entry((caller.stream, caller.seq)) {
			Entry::Occupied(at) => sums[*at.get()].bytes += caller.bytes,
			Entry::Vacant(free) => {
				free.insert(sums.len());
				sums.push(*caller);
			}
		}
	}
	sums
}

/// An access to the store, `extent` its size and offset; `bytes` says how many were moved. None is made inside another.
pub fn access<T>(
	what: Access,
	place: Place<'_>,
	extent: (usize, u64),
	work: impl FnOnce() -> Result<T, Errno>,
	bytes: impl FnOnce(&T) -> usize,
) -> Result<T, Errno> {
	if !is_on() {
		return work();
	}
	let path = place.path.and_then(|path| CString::new(path).ok());
	with_purpose(|Purpose { known_as, .. }| {
		let paths = (path.as_deref(), known_as.as_deref());
		encoder::enter(what as u32, place.file, paths, (extent.0 as i64, extent.1 as i64));
	});
	let done = work();
	let error = done.as_ref().err().map_or(0, |errno| errno.raw_os_error());
	let moved = done.as_ref().map_or(0, bytes) as i64;
	with_purpose(|Purpose { callers, together, .. }| {
		encoder::leave(error, moved, &sums(callers), *together);
	});
	done
}

/// A descriptor is about to be closed.
pub fn closed(file: RawFd) {
	if is_on() {
		encoder::closed(file);
	}
}

/// The number of an access to the store by its name.
pub fn store_op(name: &CStr) -> Option<u32> {
	encoder::op(c"disk", name)
}

/// What another server did: on each thread one after another, none beginning before the one before has ended.
pub fn past_operation(past: &PastOperation<'_>) {
	if is_on() {
		encoder::past_operation(past);
	}
}

/// A number for the file that outlives the descriptor; 0 where nothing is recorded.
pub fn file_number(file: BorrowedFd<'_>) -> u32 {
	if is_on() { encoder::file_number(file.as_raw_fd()) } else { 0 }
}

/// One moment by the clock of rows, in ticks, and in nanoseconds since 1970.
pub fn moment() -> (u64, u64) {
	encoder::moment()
}

/// One line into the run's log.
pub fn note(line: &str) {
	if let (true, Ok(line)) = (is_on(), CString::new(line)) {
		encoder::note(&line);
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn accesses_have_the_numbers_of_the_table() {
		use Access::*;
		let all = [
			(Open, c"open"),
			(Stat, c"stat"),
			(SetAttr, c"setattr"),
			(Rename, c"rename"),
			(Link, c"link"),
			(Unlink, c"unlink"),
			(Mkdir, c"mkdir"),
			(Mknod, c"mknod"),
			(Rmdir, c"rmdir"),
			(Getdents, c"getdents"),
			(Symlink, c"symlink"),
			(Readlink, c"readlink"),
			(StatVfs, c"statvfs"),
			(Pread, c"pread"),
			(Pwritev, c"pwritev"),
			(Fsync, c"fsync"),
		];
		for (access, name) in all {
			assert_eq!(encoder::op(c"disk", name), Some(access as u32), "{name:?}");
		}
		assert_eq!(encoder::op(c"disk", c"append"), None);
	}

	#[test]
	fn calls_are_cut_and_summed_by_their_bytes() {
		let of = |seq, bytes| Caller { stream: 1, seq, bytes };
		let all = [of(1, 10), of(2, 5), of(1, 10)];
		assert_eq!(cut(&all, 0..25), all);
		assert_eq!(cut(&all, 8..16), [of(1, 2), of(2, 5), of(1, 1)]);
		assert_eq!(cut(&all, 25..99), []);
		assert_eq!(sums(&all), [of(1, 20), of(2, 5)]);
	}

	#[test]
	fn where_nothing_is_recorded_work_is_done_all_the_same() {
		let place = Place { file: -1, path: None };
		let done = access(Access::Pread, place, (8, 0), || Ok(8usize), |bytes| *bytes);
		assert_eq!(done, Ok(8));
		assert_eq!(now(), Moment { session: 0, ticks: 0 });
	}
}
