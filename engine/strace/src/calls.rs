//! System calls that are rows, as libc's function that usually makes them, with the fields that the catalog gives it
//! (`catalog/probes/posix.toml`), as far as strace tells them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a call is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
	/// Places of arguments.
	Fd(usize),
	Path(usize),
	/// A directory, and a path relative to it; an empty one is the directory itself.
	At(usize, usize),
	/// A mapping, by its address.
	Address(usize),
	Nothing,
}

/// Where a field comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
	Argument(usize),
	/// What it returned; -1: it failed.
	Result,
	/// The descriptor's position.
	Position,
	/// An offset in memory; NULL: the position.
	Pointed(usize),
	/// An offset, -1: the position.
	GivenOrPosition(usize),
	/// Bytes of a vector; what moved where the log leaves some out.
	Vector(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
	/// Empty: no log has it; it is told by the kernel itself.
	pub syscall: &'static str,
	pub layer: &'static str,
	pub op: &'static str,
	pub kind: &'static str,
	pub about: About,
	pub fields: &'static [(&'static str, Field)],
	/// The argument that is a second path: (directory, path) or (path, path).
	pub to: Option<(usize, usize)>,
}

use About::{Address, At, Fd, Nothing, Path};
use Field::{Argument, GivenOrPosition, Pointed, Position, Result, Vector};
use fathom_stream::op_flag;

type Fields = &'static [(&'static str, Field)];

const RESULT: Fields = &[("result", Result)];
const TRACKED: Fields = &[("size", Argument(2)), ("offset", Position), ("bytes", Result)];
const GIVEN: Fields = &[("size", Argument(2)), ("offset", Argument(3)), ("bytes", Result)];
const VECTOR: Fields =
	&[("size", Vector(1)), ("offset", Position), ("bytes", Result), ("count", Argument(2))];
const GIVEN_VECTOR: Fields =
	&[("size", Vector(1)), ("offset", Argument(3)), ("bytes", Result), ("count", Argument(2))];
const VECTOR_2: Fields = &[
	("size", Vector(1)),
	("offset", GivenOrPosition(3)),
	("bytes", Result),
	("count", Argument(2)),
];
const COPIED: Fields = &[("size", Argument(4)), ("offset", Pointed(3)), ("bytes", Result)];
const SENT: Fields = &[("size", Argument(3)), ("offset", Pointed(2)), ("bytes", Result)];
/// Of the descriptor that a copy's own row is not on.
const TARGET: Fields = &[("offset", Position), ("bytes", Result)];
const SOURCE: Fields = &[("offset", Pointed(1)), ("bytes", Result)];
const OPENED: Fields = &[("result", Result), ("flags", Argument(1)), ("mode", Argument(2))];
const OPENED_AT: Fields = &[("result", Result), ("flags", Argument(2)), ("mode", Argument(3))];
const RANGE: Fields = &[("size", Argument(2)), ("offset", Argument(1)), ("result", Result)];
const SPACE: Fields = &[("size", Argument(3)), ("offset", Argument(2)), ("result", Result)];
const MODE_1: Fields = &[("result", Result), ("mode", Argument(1))];
const MODE_2: Fields = &[("result", Result), ("mode", Argument(2))];
const LENGTH: Fields = &[("result", Result), ("length", Argument(1))];
const ROOM: Fields = &[("result", Result), ("room", Argument(2))];
const SOUGHT: Fields = &[("result", Result), ("distance", Argument(1)), ("whence", Argument(2))];
const MAPPED: Fields = &[("size", Argument(1)), ("offset", Argument(5)), ("result", Result)];
const UNMAPPED: Fields = &[("size", Argument(1)), ("result", Result)];
const SUBMITTED: Fields = &[("result", Result), ("count", Argument(1))];
const FETCHED: Fields = &[("result", Result), ("least", Argument(1)), ("most", Argument(2))];
const ENTERED: Fields = &[("result", Result), ("submit", Argument(1)), ("least", Argument(2))];
/// Of posts and completions, which are no system calls: where they say it themselves.
const POSTED: Fields = &[("size", Result), ("offset", Result), ("opcode", Result)];
const DONE: Fields = &[("offset", Result), ("bytes", Result), ("result", Result)];
const COMMAND: Fields = &[("result", Result), ("cmd", Argument(1))];

const fn call(
	syscall: &'static str,
	op: &'static str,
	kind: &'static str,
	about: About,
	fields: Fields,
) -> Shape {
	Shape { syscall, layer: "posix", op, kind, about, fields, to: None }
}

const fn two(syscall: &'static str, about: About, to: (usize, usize)) -> Shape {
	Shape { to: Some(to), ..meta(syscall, about, RESULT) }
}

/// Of asynchronous I/O, as `catalog/probes/{aio,libaio,uring}.toml` have it.
const fn aio(op: &'static str, kind: &'static str, fields: Fields) -> Shape {
	Shape { layer: "aio", ..call("", op, kind, Nothing, fields) }
}

const fn meta(syscall: &'static str, about: About, fields: Fields) -> Shape {
	call(syscall, syscall, "meta", about, fields)
}

/// A place in it is the op's number in a stream. Where a system call has several, `variant` of `process` says which.
pub const CALLS: &[Shape] = &[
	call("openat", "openat", "open", At(0, 1), OPENED_AT),
	call("openat", "open", "open", At(0, 1), OPENED_AT),
	call("open", "open", "open", Path(0), OPENED),
	call("openat2", "openat2", "open", At(0, 1), RESULT),
	call("creat", "creat", "open", Path(0), MODE_1),
	call("open_by_handle_at", "open_by_handle_at", "open", Nothing, RESULT),
	call("memfd_create", "memfd_create", "open", Nothing, RESULT),
	call("pipe", "pipe", "open", Nothing, RESULT),
	call("pipe2", "pipe2", "open", Nothing, RESULT),
	call("close", "close", "close", Fd(0), RESULT),
	call("close_range", "close_range", "close", Nothing, RESULT),
	call("read", "read", "read", Fd(0), TRACKED),
	call("write", "write", "write", Fd(0), TRACKED),
	call("readv", "readv", "read", Fd(0), VECTOR),
	call("writev", "writev", "write", Fd(0), VECTOR),
	call("pread64", "pread", "read", Fd(0), GIVEN),
	call("pwrite64", "pwrite", "write", Fd(0), GIVEN),
	call("preadv", "preadv", "read", Fd(0), GIVEN_VECTOR),
	call("pwritev", "pwritev", "write", Fd(0), GIVEN_VECTOR),
	call("preadv2", "preadv2", "read", Fd(0), VECTOR_2),
	call("pwritev2", "pwritev2", "write", Fd(0), VECTOR_2),
	call("sendfile", "sendfile", "read", Fd(1), SENT),
	call("copy_file_range", "copy_file_range", "write", Fd(2), COPIED),
	call("splice", "splice", "write", Fd(2), COPIED),
	call("", "copy_target", "write", Fd(0), TARGET),
	call("", "copy_source", "read", Fd(0), SOURCE),
	call("lseek", "lseek", "seek", Fd(0), SOUGHT),
	meta("dup", Fd(0), RESULT),
	meta("dup2", Fd(0), RESULT),
	meta("dup3", Fd(0), RESULT),
	meta("fcntl", Fd(0), COMMAND),
	meta("flock", Fd(0), RESULT),
	meta("ioctl", Fd(0), RESULT),
	call("fsync", "fsync", "sync", Fd(0), RESULT),
	call("fdatasync", "fdatasync", "sync", Fd(0), RESULT),
	call("sync", "sync", "sync", Nothing, &[]),
	call("syncfs", "syncfs", "sync", Fd(0), RESULT),
	call("sync_file_range", "sync_file_range", "sync", Fd(0), RANGE),
	meta("truncate", Path(0), LENGTH),
	meta("ftruncate", Fd(0), LENGTH),
	meta("fallocate", Fd(0), SPACE),
	call("fadvise64", "posix_fadvise", "meta", Fd(0), RANGE),
	meta("readahead", Fd(0), RANGE),
	call("mmap", "mmap", "map", Fd(4), MAPPED),
	call("munmap", "munmap", "map", Address(0), UNMAPPED),
	call("msync", "msync", "sync", Address(0), UNMAPPED),
	meta("stat", Path(0), RESULT),
	meta("lstat", Path(0), RESULT),
	meta("fstat", Fd(0), RESULT),
	call("newfstatat", "fstatat", "meta", At(0, 1), RESULT),
	call("newfstatat", "stat", "meta", At(0, 1), RESULT),
	call("newfstatat", "lstat", "meta", At(0, 1), RESULT),
	call("newfstatat", "fstat", "meta", At(0, 1), RESULT),
	meta("statx", At(0, 1), RESULT),
	meta("access", Path(0), MODE_1),
	meta("faccessat", At(0, 1), MODE_2),
	call("faccessat2", "faccessat", "meta", At(0, 1), MODE_2),
	meta("statfs", Path(0), RESULT),
	meta("fstatfs", Fd(0), RESULT),
	meta("mkdir", Path(0), MODE_1),
	meta("mkdirat", At(0, 1), MODE_2),
	meta("rmdir", Path(0), RESULT),
	meta("unlink", Path(0), RESULT),
	meta("unlinkat", At(0, 1), RESULT),
	two("rename", Path(0), (1, 1)),
	two("renameat", At(0, 1), (2, 3)),
	two("renameat2", At(0, 1), (2, 3)),
	two("link", Path(0), (1, 1)),
	two("linkat", At(0, 1), (2, 3)),
	meta("symlink", Path(1), RESULT),
	meta("symlinkat", At(1, 2), RESULT),
	meta("readlink", Path(0), ROOM),
	meta("readlinkat", At(0, 1), RESULT),
	meta("mknod", Path(0), RESULT),
	meta("mknodat", At(0, 1), RESULT),
	meta("chmod", Path(0), RESULT),
	meta("fchmod", Fd(0), RESULT),
	meta("fchmodat", At(0, 1), RESULT),
	meta("chown", Path(0), RESULT),
	meta("lchown", Path(0), RESULT),
	meta("fchown", Fd(0), RESULT),
	meta("fchownat", At(0, 1), RESULT),
	meta("utime", Path(0), RESULT),
	meta("utimes", Path(0), RESULT),
	meta("utimensat", At(0, 1), RESULT),
	meta("getxattr", Path(0), RESULT),
	meta("setxattr", Path(0), RESULT),
	meta("listxattr", Path(0), RESULT),
	meta("removexattr", Path(0), RESULT),
	meta("lgetxattr", Path(0), RESULT),
	meta("lsetxattr", Path(0), RESULT),
	meta("llistxattr", Path(0), RESULT),
	meta("lremovexattr", Path(0), RESULT),
	meta("fgetxattr", Fd(0), RESULT),
	meta("fsetxattr", Fd(0), RESULT),
	meta("flistxattr", Fd(0), RESULT),
	meta("fremovexattr", Fd(0), RESULT),
	call("getdents64", "getdents64", "dir", Fd(0), ROOM),
	call("chdir", "chdir", "dir", Path(0), RESULT),
	call("fchdir", "fchdir", "dir", Fd(0), RESULT),
	call("getcwd", "getcwd", "dir", Nothing, RESULT),
	aio("io_setup", "open", RESULT),
	aio("io_destroy", "close", RESULT),
	aio("io_submit", "post", SUBMITTED),
	aio("io_cancel", "meta", RESULT),
	aio("io_getevents", "wait", FETCHED),
	aio("io_pgetevents", "wait", FETCHED),
	aio("io_uring_setup", "open", RESULT),
	aio("io_uring_enter", "wait", ENTERED),
	aio("io_uring_register", "meta", RESULT),
	aio("post_read", "post", POSTED),
	aio("post_write", "post", POSTED),
	aio("post_sync", "post", POSTED),
	aio("post_other", "post", POSTED),
	aio("done_read", "read", DONE),
	aio("done_write", "write", DONE),
	aio("done", "wait", DONE),
];

/// No rows, but what processes, descriptors and signals do.
pub const OTHERS: &[&str] =
	&["clone", "clone3", "fork", "vfork", "execve", "execveat", "rt_sigreturn"];

/// I/O whose operations strace does not show.
pub const UNKNOWN: &[&str] = &["io_uring_enter", "io_submit", "io_getevents", "io_pgetevents"];

/// The first row of a system call. Each line of a log asks.
pub fn place(syscall: &[u8]) -> Option<usize> {
	static PLACES: LazyLock<HashMap<&[u8], usize>> = LazyLock::new(|| {
		let names = CALLS.iter().map(|shape| shape.syscall.as_bytes());
		names.enumerate().map(|(place, name)| (name, place)).rev().collect()
	});
	PLACES.get(syscall).copied()
}

/// Of a row that no log has.
pub fn place_of_op(op: &[u8]) -> Option<usize> {
	CALLS.iter().position(|shape| shape.syscall.is_empty() && shape.op.as_bytes() == op)
}

impl Shape {
	/// As a stream says it.
	pub fn flags(&self) -> u64 {
		if self.layer == "aio" {
			return if self.op.starts_with("done") { op_flag::BESIDE } else { 0 };
		}
		let tracked = self.fields.iter().any(|(_, from)| *from == Position);
		let pieces = self.fields.iter().position(|(name, _)| *name == "count");
		let pieces = pieces.map_or(0, |field| (field as u64 + 1) << op_flag::PIECES_SHIFT);
		pieces | if tracked { op_flag::TRACKED } else { 0 }
	}

	pub fn field_names(&self) -> String {
		self.fields.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")
	}
}

/// Numbers of names that arguments are made of. What is not listed counts as nothing.
const NAMES: &[(&str, i64)] = &[
	("O_WRONLY", 0o1),
	("O_RDWR", 0o2),
	("O_CREAT", 0o100),
	("O_EXCL", 0o200),
	("O_NOCTTY", 0o400),
	("O_TRUNC", 0o1000),
	("O_APPEND", 0o2000),
	("O_NONBLOCK", 0o4000),
	("O_DSYNC", 0o10000),
	("O_DIRECT", O_DIRECT),
	("O_DIRECTORY", O_DIRECTORY),
	("O_NOFOLLOW", O_NOFOLLOW),
	("O_NOATIME", 0o1_000_000),
	("O_CLOEXEC", O_CLOEXEC),
	("O_SYNC", 0o4_010_000),
	("O_PATH", 0o10_000_000),
	("O_TMPFILE", 0o20_000_000 | O_DIRECTORY),
	("SEEK_CUR", 1),
	("SEEK_END", 2),
	("SEEK_DATA", 3),
	("SEEK_HOLE", 4),
	("X_OK", 1),
	("W_OK", 2),
	("R_OK", 4),
	("F_DUPFD_CLOEXEC", F_DUPFD_CLOEXEC),
	("F_GETFD", 1),
	("F_SETFD", F_SETFD),
	("F_GETFL", 3),
	("F_SETFL", F_SETFL),
	("F_GETLK", 5),
	("F_SETLK", 6),
	("F_SETLKW", 7),
	("F_OFD_GETLK", 36),
	("F_OFD_SETLK", 37),
	("F_OFD_SETLKW", 38),
	("FD_CLOEXEC", 1),
	("AT_SYMLINK_NOFOLLOW", AT_SYMLINK_NOFOLLOW),
	("AT_EMPTY_PATH", 0x1000),
	("AT_SYMLINK_FOLLOW", 0x400),
];

pub const F_DUPFD: i64 = 0;
pub const F_DUPFD_CLOEXEC: i64 = 1030;
pub const F_SETFD: i64 = 2;
pub const F_SETFL: i64 = 4;
pub const AT_SYMLINK_NOFOLLOW: i64 = 0x100;
pub const O_APPEND: i64 = 0o2000;
pub const O_CLOEXEC: i64 = 0o2_000_000;
const ARM: bool = cfg!(target_arch = "aarch64");
const O_DIRECT: i64 = if ARM { 0o200_000 } else { 0o40_000 };
const O_DIRECTORY: i64 = if ARM { 0o40_000 } else { 0o200_000 };
const O_NOFOLLOW: i64 = if ARM { 0o100_000 } else { 0o400_000 };

/// `O_RDWR|O_CREAT|0x8000`, or a number.
pub fn value(text: &[u8]) -> i64 {
	let parts = text.split(|&byte| byte == b'|');
	parts.fold(0, |sum, part| {
		let named = NAMES.iter().find(|(name, _)| name.as_bytes() == part);
		let number =
			|| crate::text::number(part).or_else(|| Some(crate::text::descriptor(part)?.number));
		sum | named.map(|(_, value)| *value).or_else(number).unwrap_or(0)
	})
}

/// Linux's, in their order from 1; those that it left out have no name.
const ERRORS: &str = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
	ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS \
	EMLINK EPIPE EDOM ERANGE EDEADLK ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP - ENOMSG EIDRM ECHRNG EL2NSYNC EL3HLT \
	EL3RST ELNRNG EUNATCH ENOCSI EL2HLT EBADE EBADR EXFULL ENOANO EBADRQC EBADSLT - EBFONT ENOSTR ENODATA ETIME ENOSR \
	ENONET ENOPKG EREMOTE ENOLINK EADV ESRMNT ECOMM EPROTO EMULTIHOP EDOTDOT EBADMSG EOVERFLOW ENOTUNIQ EBADFD EREMCHG \
	ELIBACC ELIBBAD ELIBSCN ELIBMAX ELIBEXEC EILSEQ ERESTART ESTRPIPE EUSERS ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE \
	ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN \
	ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETOOMANYREFS ETIMEDOUT \
	ECONNREFUSED EHOSTDOWN EHOSTUNREACH EALREADY EINPROGRESS ESTALE EUCLEAN ENOTNAM ENAVAIL EISNAM EREMOTEIO EDQUOT \
	ENOMEDIUM EMEDIUMTYPE ECANCELED ENOKEY EKEYEXPIRED EKEYREVOKED EKEYREJECTED EOWNERDEAD ENOTRECOVERABLE ERFKILL \
	EHWPOISON";

/// An error whose name nobody knows is EIO, not success.
pub fn errno(name: &[u8]) -> u64 {
	let index = ERRORS.split_ascii_whitespace().position(|known| known.as_bytes() == name);
	index.map_or(5, |place| place as u64 + 1)
}

/// As strace names it; those that the kernel keeps for itself have the names of one that begins a call again.
pub fn error_name(number: i64) -> Vec<u8> {
	const AGAIN: std::ops::RangeInclusive<i64> = 512..=516;
	let place = usize::try_from(number - 1).ok();
	let known = place.and_then(|place| ERRORS.split_ascii_whitespace().nth(place));
	match known {
		_ if AGAIN.contains(&number) => b"ERESTARTSYS".to_vec(),
		Some(name) => name.as_bytes().to_vec(),
		None => number.to_string().into_bytes(),
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn errors_have_linuxs_numbers() {
		for (name, number) in [
			("ENOENT", 2),
			("ENOSYS", 38),
			("ELOOP", 40),
			("EOVERFLOW", 75),
			("ENOTSUP?", 5),
			("EDQUOT", 122),
			("EHWPOISON", 133),
		] {
			assert_eq!(errno(name.as_bytes()), number, "{name}");
			let back = error_name(number as i64);
			assert!(back == name.as_bytes() || errno(&back) == 5, "{name}");
		}
	}

	#[test]
	fn of_several_rows_the_first_is_the_place() {
		let first = |name| CALLS.iter().position(|shape| shape.syscall == name);
		for name in ["openat", "newfstatat", "getcwd", "nosuchcall"] {
			assert_eq!(place(name.as_bytes()), first(name), "{name}");
		}
	}

	#[test]
	fn flags_are_added_up() {
		assert_eq!(value(b"O_RDWR|O_CREAT|O_TRUNC"), 0o1102);
		assert_eq!(value(b"SEEK_SET"), 0);
		assert_eq!(value(b"AT_FDCWD</tmp>"), -100);
		assert_eq!(value(b"0644"), 0o644);
	}
}
