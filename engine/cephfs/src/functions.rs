//! What is called of libcephfs, as its version 2 declares it (libcephfs.h of Ceph 16 and later).
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// The name that stands for the interface below.
const NAME: &str = "libcephfs.so.2";

pub type Cluster = *mut c_void;
pub type Node = *mut c_void;
pub type File = *mut c_void;
pub type Dir = *mut c_void;
pub type Perms = *mut c_void;

/// struct ceph_statx.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Stat {
	pub mask: u32,
	pub blksize: u32,
	pub nlink: u32,
	pub uid: u32,
	pub gid: u32,
	pub mode: u16,
	pub ino: u64,
	pub size: u64,
	pub blocks: u64,
	pub dev: u64,
	pub rdev: u64,
	pub atime: Time,
	pub ctime: Time,
	pub mtime: Time,
	pub btime: Time,
	pub version: u64,
}

/// struct timespec.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Time {
	pub seconds: i64,
	pub nanoseconds: i64,
}

/// struct ceph_file_layout: over how many objects a file goes round, and in which pieces.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
	pub stripe_unit: u32,
	pub stripe_count: u32,
	pub object_size: u32,
	rest: [u32; 4],
}

/// struct dirent of Linux.
#[repr(C)]
pub struct Dirent {
	pub ino: u64,
	/// Where the next one is.
	pub next: i64,
	length: u16,
	pub kind: u8,
	pub name: [c_char; 256],
}

/// struct statvfs of 64 bits.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct StatVfs {
	pub bsize: u64,
	pub frsize: u64,
	pub blocks: u64,
	pub bfree: u64,
	pub bavail: u64,
	pub files: u64,
	pub ffree: u64,
	pub favail: u64,
	pub fsid: u64,
	pub flag: u64,
	pub namemax: u64,
	spare: [c_int; 6],
}

/// struct iovec.
#[repr(C)]
pub struct Part {
	pub base: *const u8,
	pub length: usize,
}

/// Which fields of Stat are set: CEPH_SETATTR_*.
pub mod setattr {
	pub const MODE: i32 = 1;
	pub const UID: i32 = 2;
	pub const GID: i32 = 4;
	pub const MTIME: i32 = 8;
	pub const ATIME: i32 = 16;
	pub const SIZE: i32 = 32;
	pub const MTIME_NOW: i32 = 128;
	pub const ATIME_NOW: i32 = 256;
}

/// CEPH_STATX_ALL_STATS.
pub const ALL: c_uint = 0x1fff;

macro_rules! functions {
	($($name:ident($($type:ty),*) -> $result:ty;)*) => {
		/// The functions, without `ceph_` before their names.
		pub struct Functions { $(pub $name: unsafe extern "C" fn($($type),*) -> $result),* }

		impl Functions {
			fn of(library: &Library) -> Result<Functions, libloading::Error> {
				Ok(Functions { $($name: {
					// SAFETY: declared above as libcephfs.h has it.
					*unsafe { library.get(concat!("ceph_", stringify!($name), "\0")) }?
				}),* })
			}
		}
	};
}

functions! {
	create(*mut Cluster, *const c_char) -> c_int;
	conf_read_file(Cluster, *const c_char) -> c_int;
	conf_set(Cluster, *const c_char, *const c_char) -> c_int;
	mount(Cluster, *const c_char) -> c_int;
	unmount(Cluster) -> c_int;
	sync_fs(Cluster) -> c_int;
	mount_perms(Cluster) -> Perms;
	ll_lookup_root(Cluster, *mut Node) -> c_int;
	ll_lookup(Cluster, Node, *const c_char, *mut Node, *mut Stat, c_uint, c_uint, Perms) -> c_int;
	ll_put(Cluster, Node) -> c_int;
	ll_getattr(Cluster, Node, *mut Stat, c_uint, c_uint, Perms) -> c_int;
	ll_setattr(Cluster, Node, *mut Stat, c_int, Perms) -> c_int;
	ll_create(Cluster, Node, *const c_char, c_uint, c_int, *mut Node, *mut File, *mut Stat, c_uint, c_uint, Perms) -> c_int;
	ll_open(Cluster, Node, c_int, *mut File, Perms) -> c_int;
	ll_close(Cluster, File) -> c_int;
	ll_read(Cluster, File, i64, u64, *mut u8) -> c_int;
	ll_writev(Cluster, File, *const Part, c_int, i64) -> i64;
	ll_fsync(Cluster, File, c_int) -> c_int;
	ll_sync_inode(Cluster, Node, c_int) -> c_int;
	ll_mkdir(Cluster, Node, *const c_char, c_uint, *mut Node, *mut Stat, c_uint, c_uint, Perms) -> c_int;
	ll_mknod(Cluster, Node, *const c_char, c_uint, u64, *mut Node, *mut Stat, c_uint, c_uint, Perms) -> c_int;
	ll_symlink(Cluster, Node, *const c_char, *const c_char, *mut Node, *mut Stat, c_uint, c_uint, Perms) -> c_int;
	ll_readlink(Cluster, Node, *mut u8, usize, Perms) -> c_int;
	ll_link(Cluster, Node, Node, *const c_char, Perms) -> c_int;
	ll_unlink(Cluster, Node, *const c_char, Perms) -> c_int;
	ll_rmdir(Cluster, Node, *const c_char, Perms) -> c_int;
	ll_rename(Cluster, Node, *const c_char, Node, *const c_char, Perms) -> c_int;
	ll_opendir(Cluster, Node, *mut Dir, Perms) -> c_int;
	ll_releasedir(Cluster, Dir) -> c_int;
	seekdir(Cluster, Dir, i64) -> ();
	readdir_r(Cluster, Dir, *mut Dirent) -> c_int;
	ll_statfs(Cluster, Node, *mut StatVfs) -> c_int;
	ll_setxattr(Cluster, Node, *const c_char, *const c_void, usize, c_int, Perms) -> c_int;
	ll_file_layout(Cluster, Node, *mut Layout) -> u32;
	ll_num_osds(Cluster) -> c_int;
}

/// The library, loaded once and for good: it has threads.
pub fn functions() -> Result<&'static Functions, String> {
	static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
	let loaded = LOADED.get_or_init(|| {
		// SAFETY: what runs as it is loaded is Ceph's own start.
		let library = unsafe { Library::new(NAME) }.map_err(|error| load_error(&error))?;
		let functions = Functions::of(&library).map_err(|error| load_error(&error))?;
		std::mem::forget(library);
		Ok(functions)
	});
	loaded.as_ref().map_err(Clone::clone)
}

fn load_error(error: &libloading::Error) -> String {
	let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
	format!("libcephfs is not to be had, install it (Debian: libcephfs2): {why}")
}
