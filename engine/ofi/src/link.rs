//! The C side: `forward/client/ofi.c` and `ofi_fabric.c`.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// As in ofi.h.
const WHY: usize = 200;
const ADDRESS: usize = 300;

/// As in `sys/uio.h`.
#[repr(C)]
struct Part {
	base: *const c_void,
	length: usize,
}

unsafe extern "C" {
	fn ofi_connect(
		out: *mut *mut c_void,
		place: *const c_char,
		due: i64,
		why: *mut c_char,
	) -> c_int;
	fn ofi_descriptor(link: *mut c_void) -> RawFd;
	fn ofi_watch(link: *mut c_void, receive: bool, send: bool);
	fn ofi_send(link: *mut c_void, part: *const Part, parts: c_int) -> isize;
	fn ofi_receive(link: *mut c_void, to: *mut c_void, room: usize) -> isize;
	fn ofi_close(link: *mut c_void);
	fn ofi_listen(
		out: *mut *mut c_void,
		place: *const c_char,
		address: *mut c_char,
		why: *mut c_char,
	) -> c_int;
	fn ofi_listener_descriptor(listener: *const c_void) -> RawFd;
	fn ofi_accept(listener: *mut c_void, out: *mut *mut c_void) -> c_int;
	fn ofi_listener_close(listener: *mut c_void);
}

/// A connection.
pub struct Link {
	raw: NonNull<c_void>,
	set: OwnedFd,
	/// How long a read or write waits; None: not at all.
	patience: Option<Duration>,
}

// SAFETY: nothing of a connection belongs to a thread; `&mut` lets one at a time use it.
unsafe impl Send for Link {}

impl Link {
	/// `place`: an address behind its `ofi`.
	pub fn connect(place: &str, most: Duration) -> io::Result<Link> {
		let place = CString::new(place)?;
		let (mut pointer, mut why) = (ptr::null_mut(), [0u8; WHY]);
		let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
		let now = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
		let due = now.saturating_add(i64::try_from(most.as_millis()).unwrap_or(i64::MAX));
		// SAFETY: a terminated text; room for as many bytes as ofi.h says.
		let errno =
			unsafe { ofi_connect(&mut pointer, place.as_ptr(), due, why.as_mut_ptr().cast()) };
		Link::of(pointer, errno).map_err(|error| explained(error, &why))
	}

	fn of(pointer: *mut c_void, errno: c_int) -> io::Result<Link> {
		let raw = NonNull::new(pointer).filter(|_| errno == 0);
		let raw = raw.ok_or_else(|| io::Error::from_raw_os_error(errno))?;
		// SAFETY: the connection was just made, and its descriptor is given away once.
		let set = unsafe { OwnedFd::from_raw_fd(ofi_descriptor(raw.as_ptr())) };
		Ok(Link { raw, set, patience: None })
	}

	/// How long one read or write may wait.
	pub fn set_patience(&mut self, most: Duration) {
		self.patience = Some(most);
	}

	/// When the descriptor is to be readable: once one of these may go on.
	pub fn watch(&mut self, receive: bool, send: bool) {
		// SAFETY: a connection that is open until `drop`.
		unsafe { ofi_watch(self.raw.as_ptr(), receive, send) }
	}

	pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
		let (to, room) = (into.as_mut_ptr(), into.len());
		self.patiently(true, |raw| {
			// SAFETY: an open connection, and room for as many bytes as said.
			unsafe { ofi_receive(raw, to.cast(), room) }
		})
	}

	/// Behind what there is, as far as there is room.
	pub fn read_spare(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
		let spare = into.spare_capacity_mut();
		let (to, room) = (spare.as_mut_ptr(), spare.len());
		let got = self.patiently(true, |raw| {
			// SAFETY: an open connection, and room for as many bytes as said.
			unsafe { ofi_receive(raw, to.cast(), room) }
		})?;
		// SAFETY: so many bytes behind the old end were written.
		unsafe { into.set_len(into.len() + got) };
		Ok(got)
	}

	pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
		let part = Part { base: bytes.as_ptr().cast(), length: bytes.len() };
		self.patiently(false, |raw| {
			// SAFETY: an open connection, and one part that is read during the call.
			unsafe { ofi_send(raw, &part, 1) }
		})
	}

	fn patiently(&mut self, reads: bool, step: impl Fn(*mut c_void) -> isize) -> io::Result<usize> {
		let due = self.patience.map(|patience| Instant::now() + patience);
		loop {
			let done = step(self.raw.as_ptr());
			if done >= 0 {
				return Ok(done as usize);
			}
			let error = io::Error::from_raw_os_error(-done as i32);
			let left = due.map(|due| due.saturating_duration_since(Instant::now()));
			match left.filter(|left| !left.is_zero()) {
				Some(left) if error.kind() == io::ErrorKind::WouldBlock => {
					self.wait(reads, left)?
				}
				_ => return Err(error),
			}
		}
	}

	fn wait(&mut self, reads: bool, most: Duration) -> io::Result<()> {
		self.watch(reads, !reads);
		let most =
			Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
		match poll(&mut [PollFd::new(&self.set, PollFlags::IN)], Some(&most)) {
			Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
			Err(error) => Err(error.into()),
		}
	}
}

impl AsFd for Link {
	fn as_fd(&self) -> BorrowedFd<'_> {
		self.set.as_fd()
	}
}

impl Drop for Link {
	fn drop(&mut self) {
		// SAFETY: open until now, and used no more.
		unsafe { ofi_close(self.raw.as_ptr()) }
	}
}

/// Who is connected to.
pub struct Listener {
	raw: NonNull<c_void>,
}

impl Listener {
	/// With the address at which clients find it.
	pub fn listen(place: &str) -> io::Result<(Listener, String)> {
		let place = CString::new(place)?;
		let (mut pointer, mut why) = (ptr::null_mut(), [0u8; WHY]);
		let mut address = [0u8; ADDRESS];
		let (address_out, why_out) = (address.as_mut_ptr().cast(), why.as_mut_ptr().cast());
		// SAFETY: a terminated text; room for as many bytes as ofi.h says.
		let errno = unsafe { ofi_listen(&mut pointer, place.as_ptr(), address_out, why_out) };
		match NonNull::new(pointer).filter(|_| errno == 0) {
			Some(raw) => Ok((Listener { raw }, text(&address))),
			None => Err(explained(io::Error::from_raw_os_error(errno), &why)),
		}
	}

	/// The next connection; WouldBlock: there is none now; ConnectionAborted: one came to nothing.
	pub fn accept(&self) -> io::Result<Link> {
		let mut pointer = ptr::null_mut();
		// SAFETY: a listener that is open until `drop`.
		let errno = unsafe { ofi_accept(self.raw.as_ptr(), &mut pointer) };
		Link::of(pointer, errno).map_err(|error| match error.kind() {
			io::ErrorKind::WouldBlock => error,
			_ => io::ErrorKind::ConnectionAborted.into(),
		})
	}
}

impl AsFd for Listener {
	fn as_fd(&self) -> BorrowedFd<'_> {
		// SAFETY: the descriptor is the listener's, and open as long as that.
		unsafe { BorrowedFd::borrow_raw(ofi_listener_descriptor(self.raw.as_ptr())) }
	}
}

impl Drop for Listener {
	fn drop(&mut self) {
		// SAFETY: open until now, and used no more; its connections were closed before.
		unsafe { ofi_listener_close(self.raw.as_ptr()) }
	}
}

fn text(bytes: &[u8]) -> String {
	CStr::from_bytes_until_nul(bytes).unwrap_or_default().to_string_lossy().into_owned()
}

/// The words of the C side, where it has some.
fn explained(error: io::Error, why: &[u8]) -> io::Error {
	match text(why) {
		why if why.is_empty() => error,
		why => io::Error::new(error.kind(), why),
	}
}
