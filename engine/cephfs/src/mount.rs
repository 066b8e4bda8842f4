//! A client of a CephFS, and the directory of it that is its root.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;

use crate::functions::{Cluster, Functions, Perms, functions};

/// Ended by `end`, not by being dropped: files may be dropped later. Its memory is the process's.
pub struct Mount {
	pub(crate) call: &'static Functions,
	pub(crate) cluster: Cluster,
	pub(crate) perms: Perms,
	over: AtomicBool,
}

// SAFETY: libcephfs locks by itself; the pointers are given to it and to nobody else.
unsafe impl Send for Mount {}
// SAFETY: as above.
unsafe impl Sync for Mount {}

/// What it returned: an errno below zero.
pub(crate) fn checked(returned: c_int) -> Result<c_int, Errno> {
	if returned < 0 { Err(Errno::from_raw_os_error(-returned)) } else { Ok(returned) }
}

fn text(of: &[u8]) -> Result<CString, String> {
	CString::new(of).map_err(|error| error.to_string())
}

impl Mount {
	/// `conf`: of the cluster, None: where Ceph looks; `id`: client.ID; `patience`: for the cluster's answer.
	pub fn begin(
		root: &Path,
		conf: Option<&Path>,
		id: &str,
		patience: Duration,
	) -> Result<Arc<Mount>, String> {
		let call = functions()?;
		let (id_text, root) = (text(id.as_bytes())?, text(root.as_os_str().as_bytes())?);
		let conf_text = conf.map(|conf| text(conf.as_os_str().as_bytes())).transpose()?;
		let mut cluster = ptr::null_mut();
		let explain =
			|what: String| move |errno: Errno| format!("{what}: {}", io::Error::from(errno));
		// SAFETY: a place for the pointer, and text that ends.
		checked(unsafe { (call.create)(&mut cluster, id_text.as_ptr()) })
			.map_err(explain("libcephfs".to_owned()))?;
		let mount = Mount { call, cluster, perms: ptr::null_mut(), over: AtomicBool::new(true) };
		let usual = || "the ceph.conf that Ceph finds (--ceph-conf names another)".to_owned();
		let place = conf.map_or_else(usual, |conf| conf.display().to_string());
		let file = conf_text.as_ref().map_or(ptr::null(), |conf| conf.as_ptr());
		// SAFETY: made above; text that ends, or NULL.
		checked(unsafe { (call.conf_read_file)(cluster, file) }).map_err(explain(place.clone()))?;
		let seconds = text(patience.as_secs().max(1).to_string().as_bytes())?;
		mount.set(c"client_mount_timeout", &seconds);
		mount.set(c"log_to_stderr", c"false"); // what went wrong is returned
		mount.set(c"err_to_stderr", c"false");
		// SAFETY: as above.
		checked(unsafe { (call.mount)(cluster, root.as_ptr()) })
			.map_err(explain(format!("as client.{id} by {place}")))?;
		// SAFETY: mounted; the pointer stays as long as the mount.
		let perms = unsafe { (call.mount_perms)(cluster) };
		Ok(Arc::new(Mount { perms, over: AtomicBool::new(false), ..mount }))
	}

	fn set(&self, name: &CStr, value: &CStr) {
		// SAFETY: text that ends. What an older library does not know, it refuses.
		unsafe { (self.call.conf_set)(self.cluster, name.as_ptr(), value.as_ptr()) };
	}

	/// Storage daemons that the cluster has.
	pub fn daemons(&self) -> u32 {
		// SAFETY: mounted.
		u32::try_from(unsafe { (self.call.ll_num_osds)(self.cluster) }).unwrap_or(0)
	}

	/// All that was written is with the storage daemons, and the cluster knows that this client is gone. Nothing may be
	/// under way.
	pub fn end(&self) -> Result<(), Errno> {
		if self.over.swap(true, Ordering::SeqCst) {
			return Ok(());
		}
		// SAFETY: mounted until now; files that are left are not given to it any more.
		let synced = checked(unsafe { (self.call.sync_fs)(self.cluster) });
		// SAFETY: as above.
		let unmounted = checked(unsafe { (self.call.unmount)(self.cluster) });
		synced.and(unmounted).map(|_| ())
	}

	pub(crate) fn is_over(&self) -> bool {
		self.over.load(Ordering::SeqCst)
	}
}

/// A name as libcephfs wants it; none has a zero byte.
pub(crate) fn name(bytes: &[u8]) -> Result<CString, Errno> {
	match bytes.len() {
		0 => Err(Errno::NOENT),
		1..=255 => CString::new(bytes).map_err(|_| Errno::INVAL),
		_ => Err(Errno::NAMETOOLONG),
	}
}

pub(crate) fn bytes_of(text: &[c_char]) -> Vec<u8> {
	text.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect()
}
