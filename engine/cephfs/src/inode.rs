//! Files and directories by what they are, and files that are open.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use rustix::io::Errno;

use crate::functions::{ALL, Dir, Dirent, File, Layout, Node, Part, Stat, StatVfs};
use crate::mount::{Mount, bytes_of, checked, name};

type Result<T> = std::result::Result<T, Errno>;

/// Parts that are written at once.
const PARTS: usize = 1024;
/// Bytes that are read at once: what is returned is an int.
const MOST: usize = 1 << 30;

/// A file or directory, held whatever becomes of its names.
pub struct Inode {
	mount: Arc<Mount>,
	node: Node,
}

/// A file that is open.
pub struct Opened {
	mount: Arc<Mount>,
	file: File,
}

/// A name in a directory.
pub struct Entry {
	pub ino: u64,
	/// Where the next one is.
	pub next: u64,
	/// DT_*.
	pub kind: u8,
	pub name: Vec<u8>,
}

// SAFETY: libcephfs locks by itself, and counts what is held.
unsafe impl Send for Inode {}
// SAFETY: as above.
unsafe impl Sync for Inode {}
// SAFETY: as above.
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

impl Drop for Inode {
	fn drop(&mut self) {
		if !self.mount.is_over() {
			// SAFETY: held by us, once.
			unsafe { (self.mount.call.ll_put)(self.mount.cluster, self.node) };
		}
	}
}

impl Drop for Opened {
	fn drop(&mut self) {
		if !self.mount.is_over() {
			// SAFETY: opened by us, closed once.
			unsafe { (self.mount.call.ll_close)(self.mount.cluster, self.file) };
		}
	}
}

// SAFETY, of all calls below: the node or file is held by `self` while the mount is not over, results have their places,
// texts end, and lengths are those of the memory behind the pointers.
impl Mount {
	/// The directory that was named.
	pub fn root(self: &Arc<Mount>) -> Result<Inode> {
		let mut node = ptr::null_mut();
		// SAFETY: a place for the pointer.
		checked(unsafe { (self.call.ll_lookup_root)(self.cluster, &mut node) })?;
		Ok(Inode::of(self, node))
	}
}

impl Inode {
	fn of(mount: &Arc<Mount>, node: Node) -> Inode {
		Inode { mount: mount.clone(), node }
	}

	/// A call that makes or finds a node and says what it is.
	fn resolve(
		&self,
		call: impl FnOnce(&Mount, *mut Node, *mut Stat) -> i32,
	) -> Result<(Inode, Stat)> {
		let (mut node, mut stat) = (ptr::null_mut(), Stat::default());
		checked(call(self.alive()?, &mut node, &mut stat))?;
		Ok((Inode::of(&self.mount, node), stat))
	}

	fn alive(&self) -> Result<&Mount> {
		if self.mount.is_over() { Err(Errno::NOTCONN) } else { Ok(&self.mount) }
	}

	pub fn lookup(&self, of: &[u8]) -> Result<(Inode, Stat)> {
		let of = name(of)?;
		self.resolve(|m, node, stat| unsafe {
			(m.call.ll_lookup)(m.cluster, self.node, of.as_ptr(), node, stat, ALL, 0, m.perms)
		})
	}

	/// Made if it is not there, which `flags` (O_*) may forbid.
	pub fn create(&self, of: &[u8], mode: u32, flags: i32) -> Result<(Inode, Opened, Stat)> {
		let (of, mut file) = (name(of)?, ptr::null_mut());
		let (inode, stat) = self.resolve(|m, node, stat| unsafe {
			let (name, perms) = (of.as_ptr(), m.perms);
			(m.call.ll_create)(
				m.cluster, self.node, name, mode, flags, node, &mut file, stat, ALL, 0, perms,
			)
		})?;
		Ok((inode, Opened { mount: self.mount.clone(), file }, stat))
	}

	pub fn open(&self, flags: i32) -> Result<Opened> {
		let (m, mut file) = (self.alive()?, ptr::null_mut());
		checked(unsafe { (m.call.ll_open)(m.cluster, self.node, flags, &mut file, m.perms) })?;
		Ok(Opened { mount: self.mount.clone(), file })
	}

	pub fn stat(&self) -> Result<Stat> {
		let (m, mut stat) = (self.alive()?, Stat::default());
		checked(unsafe { (m.call.ll_getattr)(m.cluster, self.node, &mut stat, ALL, 0, m.perms) })?;
		Ok(stat)
	}

	/// `mask`: of `setattr`.
	pub fn set(&self, mut stat: Stat, mask: i32) -> Result<()> {
		let m = self.alive()?;
		checked(unsafe { (m.call.ll_setattr)(m.cluster, self.node, &mut stat, mask, m.perms) })
			.map(|_| ())
	}

	pub fn mkdir(&self, of: &[u8], mode: u32) -> Result<(Inode, Stat)> {
		let of = name(of)?;
		self.resolve(|m, node, stat| unsafe {
			(m.call.ll_mkdir)(m.cluster, self.node, of.as_ptr(), mode, node, stat, ALL, 0, m.perms)
		})
	}

	pub fn mknod(&self, of: &[u8], mode: u32, rdev: u64) -> Result<(Inode, Stat)> {
		let of = name(of)?;
		self.resolve(|m, node, stat| unsafe {
			let (name, perms) = (of.as_ptr(), m.perms);
			(m.call.ll_mknod)(m.cluster, self.node, name, mode, rdev, node, stat, ALL, 0, perms)
		})
	}

	pub fn symlink(&self, of: &[u8], target: &[u8]) -> Result<(Inode, Stat)> {
		let (of, target) = (name(of)?, std::ffi::CString::new(target).map_err(|_| Errno::INVAL)?);
		self.resolve(|m, node, stat| unsafe {
			let (name, to, perms) = (of.as_ptr(), target.as_ptr(), m.perms);
			(m.call.ll_symlink)(m.cluster, self.node, name, to, node, stat, ALL, 0, perms)
		})
	}

	pub fn read_link(&self) -> Result<Vec<u8>> {
		let (m, mut target) = (self.alive()?, vec![0; 4096]);
		let (into, room) = (target.as_mut_ptr(), target.len());
		let read =
			checked(unsafe { (m.call.ll_readlink)(m.cluster, self.node, into, room, m.perms) })?;
		target.truncate(read as usize);
		Ok(target)
	}

	pub fn link(&self, dir: &Inode, of: &[u8]) -> Result<()> {
		let (m, of) = (self.alive()?, name(of)?);
		checked(unsafe { (m.call.ll_link)(m.cluster, self.node, dir.node, of.as_ptr(), m.perms) })
			.map(|_| ())
	}

	pub fn remove(&self, of: &[u8], directory: bool) -> Result<()> {
		let (m, of) = (self.alive()?, name(of)?);
		let call = if directory { m.call.ll_rmdir } else { m.call.ll_unlink };
		checked(unsafe { call(m.cluster, self.node, of.as_ptr(), m.perms) }).map(|_| ())
	}

	pub fn rename(&self, from: &[u8], dir: &Inode, to: &[u8]) -> Result<()> {
		let (m, from, to) = (self.alive()?, name(from)?, name(to)?);
		let (old, new) = (from.as_ptr(), to.as_ptr());
		checked(unsafe { (m.call.ll_rename)(m.cluster, self.node, old, dir.node, new, m.perms) })
			.map(|_| ())
	}

	/// Entries from a place on, 0: the first, as long as `take` wants more.
	pub fn list(&self, from: u64, mut take: impl FnMut(Entry) -> bool) -> Result<()> {
		let (m, mut dir): (_, Dir) = (self.alive()?, ptr::null_mut());
		checked(unsafe { (m.call.ll_opendir)(m.cluster, self.node, &mut dir, m.perms) })?;
		if from > 0 {
			unsafe { (m.call.seekdir)(m.cluster, dir, from as i64) };
		}
		let ended = loop {
			let mut entry = MaybeUninit::<Dirent>::zeroed();
			match checked(unsafe { (m.call.readdir_r)(m.cluster, dir, entry.as_mut_ptr()) }) {
				Ok(0) => break Ok(()),
				Err(errno) => break Err(errno),
				Ok(_) => {}
			}
			// numbers and bytes, of which all values are good
			let entry = unsafe { entry.assume_init() };
			let name = bytes_of(&entry.name);
			let (ino, next, kind) = (entry.ino, entry.next as u64, entry.kind);
			if !take(Entry { ino, next, kind, name }) {
				break Ok(());
			}
		};
		unsafe { (m.call.ll_releasedir)(m.cluster, dir) };
		ended
	}

	pub fn stat_fs(&self) -> Result<StatVfs> {
		let (m, mut stat) = (self.alive()?, StatVfs::default());
		checked(unsafe { (m.call.ll_statfs)(m.cluster, self.node, &mut stat) })?;
		Ok(stat)
	}

	/// All that is not with the storage daemons goes there; of a directory, its names.
	pub fn sync(&self) -> Result<()> {
		let m = self.alive()?;
		checked(unsafe { (m.call.ll_sync_inode)(m.cluster, self.node, 0) }).map(|_| ())
	}

	pub fn layout(&self) -> Result<Layout> {
		let (m, mut layout) = (self.alive()?, Layout::default());
		checked(unsafe { (m.call.ll_file_layout)(m.cluster, self.node, &mut layout) } as i32)?;
		Ok(layout)
	}

	/// Of a file without data; its pool stays.
	pub fn set_layout(&self, layout: &Layout) -> Result<()> {
		let m = self.alive()?;
		let Layout { stripe_unit, stripe_count, object_size, .. } = layout;
		let text = format!(
			"stripe_unit={stripe_unit} stripe_count={stripe_count} object_size={object_size}"
		);
		let (value, length) = (text.as_ptr().cast(), text.len());
		let name = c"ceph.file.layout".as_ptr();
		checked(unsafe {
			(m.call.ll_setxattr)(m.cluster, self.node, name, value, length, 0, m.perms)
		})
		.map(|_| ())
	}
}

impl Opened {
	fn alive(&self) -> Result<&Mount> {
		if self.mount.is_over() { Err(Errno::NOTCONN) } else { Ok(&self.mount) }
	}

	/// Bytes that were read; fewer only at the end of file.
	pub fn read(&self, into: &mut [u8], offset: u64) -> Result<usize> {
		let (m, mut done) = (self.alive()?, 0);
		while done < into.len() {
			let room = &mut into[done..];
			let length = room.len().min(MOST) as u64;
			let at = (offset + done as u64) as i64;
			let read =
				unsafe { (m.call.ll_read)(m.cluster, self.file, at, length, room.as_mut_ptr()) };
			match checked(read)? {
				0 => break,
				bytes => done += bytes as usize,
			}
		}
		Ok(done)
	}

	/// All these, one after the other.
	pub fn write(&self, parts: &[&[u8]], mut offset: u64) -> Result<()> {
		let (m, mut left) = (self.alive()?, Vec::new());
		left.extend(parts.iter().copied().filter(|part| !part.is_empty()));
		let mut left = left.as_mut_slice();
		while !left.is_empty() {
			let some = left.iter().take(PARTS);
			let some: Vec<Part> =
				some.map(|part| Part { base: part.as_ptr(), length: part.len() }).collect();
			let (count, at) = (some.len() as i32, offset as i64);
			let wrote =
				unsafe { (m.call.ll_writev)(m.cluster, self.file, some.as_ptr(), count, at) };
			let mut wrote = match wrote {
				0 => return Err(Errno::IO),
				below if below < 0 => return Err(Errno::from_raw_os_error(-below as i32)),
				bytes => bytes as usize,
			};
			offset += wrote as u64;
			while let Some(first) = left.first_mut() {
				let taken = wrote.min(first.len());
				*first = &first[taken..];
				wrote -= taken;
				if !first.is_empty() {
					break;
				}
				left = &mut left[1..];
			}
		}
		Ok(())
	}

	/// All that was written is with the storage daemons; what was written behind and failed is said here.
	pub fn sync(&self, data_only: bool) -> Result<()> {
		let m = self.alive()?;
		let only = i32::from(data_only);
		checked(unsafe { (m.call.ll_fsync)(m.cluster, self.file, only) }).map(|_| ())
	}
}
