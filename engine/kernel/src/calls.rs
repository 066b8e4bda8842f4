//! System calls as bpf/trace.bpf.c tells them (`struct call`), for the rows of programs that no library is in. What is
//! asked of a call follows from its row in `fathom_strace::CALLS`.

use fathom_strace::{About, CALLS, Field, Shape};

/// `struct wanted`: 1, or 2 where it opens a file; then places of arguments + 1; then what it has many of.
pub type Wanted = [u8; 10];
const IS_WANTED: usize = 0;
const PATH: usize = 1;
const TO: usize = 2;
const VECTOR: usize = 3;
const PAIR: usize = 4;
const HOW: usize = 5;
const POINTED: [usize; 2] = [6, 7];
const LIST: usize = 8;

const ARGUMENTS: usize = 6;
const AT_FDCWD: i32 = -100;
const UNKNOWN: u64 = u64::MAX;

/// libc's crate has no name for it.
const IO_PGETEVENTS: i64 = if cfg!(target_arch = "x86_64") { 333 } else { 292 };

/// Of this machine's kernel.
#[rustfmt::skip]
const NUMBERS: &[(&str, i64)] = &[
	("openat", libc::SYS_openat),
	("openat2", libc::SYS_openat2),
	("open_by_handle_at", libc::SYS_open_by_handle_at),
	("memfd_create", libc::SYS_memfd_create),
	("pipe2", libc::SYS_pipe2),
	("close", libc::SYS_close),
	("close_range", libc::SYS_close_range),
	("read", libc::SYS_read),
	("write", libc::SYS_write),
	("readv", libc::SYS_readv),
	("writev", libc::SYS_writev),
	("pread64", libc::SYS_pread64),
	("pwrite64", libc::SYS_pwrite64),
	("preadv", libc::SYS_preadv),
	("pwritev", libc::SYS_pwritev),
	("preadv2", libc::SYS_preadv2),
	("pwritev2", libc::SYS_pwritev2),
	("sendfile", libc::SYS_sendfile),
	("copy_file_range", libc::SYS_copy_file_range),
	("splice", libc::SYS_splice),
	("lseek", libc::SYS_lseek),
	("dup", libc::SYS_dup),
	("dup3", libc::SYS_dup3),
	("fcntl", libc::SYS_fcntl),
	("flock", libc::SYS_flock),
	("ioctl", libc::SYS_ioctl),
	("fsync", libc::SYS_fsync),
	("fdatasync", libc::SYS_fdatasync),
	("sync", libc::SYS_sync),
	("syncfs", libc::SYS_syncfs),
	("sync_file_range", libc::SYS_sync_file_range),
	("truncate", libc::SYS_truncate),
	("ftruncate", libc::SYS_ftruncate),
	("fallocate", libc::SYS_fallocate),
	("fadvise64", libc::SYS_fadvise64),
	("readahead", libc::SYS_readahead),
	("mmap", libc::SYS_mmap),
	("munmap", libc::SYS_munmap),
	("msync", libc::SYS_msync),
	("fstat", libc::SYS_fstat),
	("newfstatat", libc::SYS_newfstatat),
	("statx", libc::SYS_statx),
	("faccessat", libc::SYS_faccessat),
	("faccessat2", libc::SYS_faccessat2),
	("statfs", libc::SYS_statfs),
	("fstatfs", libc::SYS_fstatfs),
	("mkdirat", libc::SYS_mkdirat),
	("unlinkat", libc::SYS_unlinkat),
	("renameat2", libc::SYS_renameat2),
	("linkat", libc::SYS_linkat),
	("symlinkat", libc::SYS_symlinkat),
	("readlinkat", libc::SYS_readlinkat),
	("mknodat", libc::SYS_mknodat),
	("fchmod", libc::SYS_fchmod),
	("fchmodat", libc::SYS_fchmodat),
	("fchown", libc::SYS_fchown),
	("fchownat", libc::SYS_fchownat),
	("utimensat", libc::SYS_utimensat),
	("getxattr", libc::SYS_getxattr),
	("setxattr", libc::SYS_setxattr),
	("listxattr", libc::SYS_listxattr),
	("removexattr", libc::SYS_removexattr),
	("lgetxattr", libc::SYS_lgetxattr),
	("lsetxattr", libc::SYS_lsetxattr),
	("llistxattr", libc::SYS_llistxattr),
	("lremovexattr", libc::SYS_lremovexattr),
	("fgetxattr", libc::SYS_fgetxattr),
	("fsetxattr", libc::SYS_fsetxattr),
	("flistxattr", libc::SYS_flistxattr),
	("fremovexattr", libc::SYS_fremovexattr),
	("getdents64", libc::SYS_getdents64),
	("chdir", libc::SYS_chdir),
	("fchdir", libc::SYS_fchdir),
	("getcwd", libc::SYS_getcwd),
	("rt_sigreturn", libc::SYS_rt_sigreturn),
	("io_setup", libc::SYS_io_setup),
	("io_destroy", libc::SYS_io_destroy),
	("io_submit", libc::SYS_io_submit),
	("io_cancel", libc::SYS_io_cancel),
	("io_getevents", libc::SYS_io_getevents),
	("io_pgetevents", IO_PGETEVENTS),
	("io_uring_setup", libc::SYS_io_uring_setup),
	("io_uring_enter", libc::SYS_io_uring_enter),
	("io_uring_register", libc::SYS_io_uring_register),
];

/// Those that newer machines' kernels do not have.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLD_NUMBERS: &[(&str, i64)] = &[
	("open", libc::SYS_open),
	("creat", libc::SYS_creat),
	("pipe", libc::SYS_pipe),
	("dup2", libc::SYS_dup2),
	("stat", libc::SYS_stat),
	("lstat", libc::SYS_lstat),
	("access", libc::SYS_access),
	("mkdir", libc::SYS_mkdir),
	("rmdir", libc::SYS_rmdir),
	("unlink", libc::SYS_unlink),
	("rename", libc::SYS_rename),
	("renameat", libc::SYS_renameat),
	("link", libc::SYS_link),
	("symlink", libc::SYS_symlink),
	("readlink", libc::SYS_readlink),
	("mknod", libc::SYS_mknod),
	("chmod", libc::SYS_chmod),
	("chown", libc::SYS_chown),
	("lchown", libc::SYS_lchown),
	("utime", libc::SYS_utime),
	("utimes", libc::SYS_utimes),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_NUMBERS: &[(&str, i64)] = &[];

fn shapes_of(name: &str) -> impl Iterator<Item = &'static Shape> {
	CALLS.iter().filter(move |shape| shape.syscall == name)
}

/// Offsets of a copy that lie in memory, in the order of its descriptors' rows.
fn pointed(name: &str) -> [u8; 2] {
	match name {
		"copy_file_range" | "splice" => [3 + 1, 1 + 1],
		"sendfile" => [2 + 1, 0],
		_ => [0, 0],
	}
}

fn wanted(name: &str) -> Wanted {
	let mut wanted = Wanted::default();
	let opens = shapes_of(name).any(|shape| shape.kind == "open");
	wanted[IS_WANTED] = if opens { 2 } else { 1 };
	for shape in shapes_of(name) {
		match shape.about {
			About::Path(place) | About::At(_, place) => wanted[PATH] = place as u8 + 1,
			_ => {}
		}
		if let Some((_, place)) = shape.to {
			wanted[TO] = place as u8 + 1;
		}
		if shape.fields.iter().any(|(_, from)| matches!(from, Field::Vector(_))) {
			wanted[VECTOR] = 1 + 1;
		}
	}
	[wanted[POINTED[0]], wanted[POINTED[1]]] = pointed(name);
	match name {
		"pipe" | "pipe2" => wanted[PAIR] = 1,
		"openat2" => wanted[HOW] = 2 + 1,
		"io_submit" => wanted[LIST] = 1,
		"io_getevents" | "io_pgetevents" => wanted[LIST] = 2,
		"io_uring_register" => wanted[LIST] = 3,
		_ => {}
	}
	wanted
}

/// What is known of a system call, worked out once.
pub struct Known {
	pub name: &'static str,
	wanted: Wanted,
	descriptors: [bool; ARGUMENTS],
}

/// By number.
pub fn known() -> impl Iterator<Item = (u32, Known)> {
	all().map(|(number, name, wanted)| (number, Known::new(name, wanted)))
}

impl Known {
	fn new(name: &'static str, wanted: Wanted) -> Known {
		let descriptors = std::array::from_fn(|place| is_descriptor(name, place));
		Known { name, wanted, descriptors }
	}
}

/// By number, with what is asked of it.
pub fn all() -> impl Iterator<Item = (u32, &'static str, Wanted)> {
	let numbers = NUMBERS.iter().chain(OLD_NUMBERS);
	numbers.map(|&(name, number)| (number as u32, name, wanted(name)))
}

/// What is said: a call, a fork or an exec, or an operation of io_uring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
	pub kind: u32,
	pub process: u32,
	pub thread: u32,
	pub number: u32,
	pub began: u64,
	pub ended: u64,
	pub arguments: [u64; ARGUMENTS],
	pub result: i64,
	pub pointed: [u64; 2],
	/// `None`: it could not be read, or there is none.
	pub path: Option<&'a [u8]>,
	pub to: &'a [u8],
}

const CALL: u32 = 100;
pub const FORK: u32 = 101;
pub const EXEC: u32 = 102;
/// A library is in the process from here on, and tells of its calls.
pub const RECORDED: u32 = 103;
/// A ring of io_uring was made; it was given an operation; one is done.
pub const RING: u32 = 104;
pub const POST: u32 = 105;
pub const DONE: u32 = 106;
/// `io_submit` was given operations; some were fetched.
pub const POSTS: u32 = 107;
pub const FETCHED: u32 = 108;
const PATH_AT: usize = 128;
const TO_AT: usize = PATH_AT + 4096;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
	Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
	Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// `None`: these are no bytes of a call.
pub fn read(bytes: &[u8]) -> Option<Event<'_>> {
	let mut arguments = [0; ARGUMENTS];
	for (place, argument) in arguments.iter_mut().enumerate() {
		*argument = long(bytes, 32 + place * 8)?;
	}
	let kind = word(bytes, 0)?;
	let (length, to) = (word(bytes, 120)? as usize, word(bytes, 124)? as usize);
	let end = length.checked_sub(1).map(|length| PATH_AT + length);
	Some(Event {
		kind: (CALL..=FETCHED).contains(&kind).then_some(kind)?,
		process: word(bytes, 4)?,
		thread: word(bytes, 8)?,
		number: word(bytes, 12)?,
		began: long(bytes, 16)?,
		ended: long(bytes, 24)?,
		arguments,
		result: long(bytes, 96)? as i64,
		pointed: [long(bytes, 104)?, long(bytes, 112)?],
		path: match end {
			Some(end) => Some(bytes.get(PATH_AT..end)?),
			None => None,
		},
		to: if to == 0 { b"" } else { bytes.get(TO_AT..TO_AT + to)? },
	})
}

impl Event<'_> {
	/// As strace writes it: `name(arguments)`.
	pub fn text(&self, known: &Known) -> Vec<u8> {
		let mut text = format!("{}(", known.name).into_bytes();
		for place in 0..ARGUMENTS {
			if place > 0 {
				text.extend(b", ");
			}
			text.extend(self.argument(known, place));
		}
		text.push(b')');
		text
	}

	fn argument(&self, known: &Known, place: usize) -> Vec<u8> {
		let value = self.arguments[place];
		let here = |of: usize| usize::from(known.wanted[of]) == place + 1;
		let plain = || format!("{}", value as i64).into_bytes();
		// The kernel has moved it by what it copied.
		let offset = |at: usize| {
			(self.pointed[at] as i64).wrapping_sub(self.result.max(0)).to_string().into_bytes()
		};
		match () {
			() if here(PATH) => self.path.map_or_else(plain, fathom_strace::quote),
			() if here(TO) && self.to.is_empty() => plain(),
			() if here(TO) => fathom_strace::quote(&self.to[..self.to.len() - 1]),
			() if here(VECTOR) && self.pointed[0] == UNKNOWN => b"[...]".to_vec(),
			() if here(VECTOR) => format!("[{{iov_len={}}}]", self.pointed[0]).into_bytes(),
			() if here(PAIR) => {
				let [first, second] = [self.pointed[0], self.pointed[0] >> 32]
					.map(|end| pipe_end(self.process, end as u32));
				format!("[{first}, {second}]").into_bytes()
			}
			() if here(HOW) => format!("{{flags={}, }}", self.pointed[0]).into_bytes(),
			() if here(POINTED[0]) || here(POINTED[1]) => match value {
				0 => b"NULL".to_vec(),
				_ => [b"[", &offset(usize::from(!here(POINTED[0])))[..], b"]"].concat(),
			},
			() if known.descriptors[place] => match value as i32 {
				AT_FDCWD => b"AT_FDCWD".to_vec(),
				number => number.to_string().into_bytes(),
			},
			() => plain(),
		}
	}

	/// Of an exec: its words.
	pub fn words(&self) -> Vec<Vec<u8>> {
		words(self.to)
	}
}

/// Of a command line, with a zero after each.
pub fn words(command: &[u8]) -> Vec<Vec<u8>> {
	let words = command.strip_suffix(b"\0").unwrap_or(command);
	words.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect()
}

/// With its name, where it is still open and may be looked at; a pipe has no position, whichever it is.
fn pipe_end(process: u32, fd: u32) -> String {
	let name = std::fs::read_link(format!("/proc/{process}/fd/{fd}")).unwrap_or_default();
	let name = name.to_str().filter(|name| name.starts_with("pipe:[")).unwrap_or("pipe:[0]");
	format!("{fd}<{name}>")
}

/// Registers have no sign for it: -1 is 2^32 - 1.
fn is_descriptor(name: &str, place: usize) -> bool {
	shapes_of(name).any(|shape| {
		let by_second =
			shape.to.is_some_and(|(directory, path)| directory != path && directory == place);
		by_second
			|| match shape.about {
				About::Fd(fd) => fd == place,
				About::At(directory, _) => directory == place,
				_ => false,
			}
	})
}

#[cfg(test)]
mod tests {
	use super::*;

	fn told(arguments: [u64; ARGUMENTS], result: i64) -> Event<'static> {
		Event {
			kind: CALL,
			process: u32::MAX,
			thread: 1,
			number: 0,
			began: 0,
			ended: 0,
			arguments,
			result,
			pointed: [0; 2],
			path: None,
			to: b"",
		}
	}

	fn text(told: &Event<'_>, name: &'static str) -> String {
		String::from_utf8(told.text(&Known::new(name, wanted(name)))).unwrap()
	}

	#[test]
	fn each_row_has_a_number() {
		let known: Vec<&str> = all().map(|(_, name, _)| name).collect();
		for shape in CALLS.iter().filter(|shape| !shape.syscall.is_empty()) {
			let old = cfg!(not(target_arch = "x86_64"));
			assert!(old || known.contains(&shape.syscall), "{}", shape.syscall);
		}
	}

	#[test]
	fn calls_are_written_as_strace_does() {
		let at = u64::from(AT_FDCWD as u32);
		let open = Event { path: Some(b"a\"b"), ..told([at, 7, 577, 0o644, 0, 0], 3) };
		assert_eq!(text(&open, "openat"), "openat(AT_FDCWD, \"a\\042b\", 577, 420, 0, 0)");
		let vector = Event { pointed: [300, 0], ..told([3, 7, 2, 0, 0, 0], 300) };
		assert_eq!(text(&vector, "writev"), "writev(3, [{iov_len=300}], 2, 0, 0, 0)");
		let copy = Event { pointed: [400, 0], ..told([3, 0, 4, 9, 100, 0], 100) };
		assert_eq!(text(&copy, "copy_file_range"), "copy_file_range(3, NULL, 4, [300], 100, 0)");
		let ends = Event { pointed: [6 << 32 | 5, 0], ..told([9, 0, 0, 0, 0, 0], 0) };
		assert_eq!(text(&ends, "pipe2"), "pipe2([5<pipe:[0]>, 6<pipe:[0]>], 0, 0, 0, 0, 0)");
		let map = told([0, 4096, 1, 34, u64::from(u32::MAX), 0], 0);
		assert_eq!(text(&map, "mmap"), "mmap(0, 4096, 1, 34, -1, 0)");
	}

	#[test]
	fn bytes_that_are_no_call() {
		for length in 0..PATH_AT {
			assert_eq!(read(&vec![100; length]), None, "{length} bytes");
		}
	}
}
