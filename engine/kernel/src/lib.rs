//! What the kernel does for the processes of a run, told by BPF programs that are loaded as long as the run lasts: pages
//! that come into the page cache, requests to block devices, pauses of writers, commits of journals.

use std::io;
use std::path::Path;

mod calls;
mod event;
mod file;
mod operations;
mod programs;
mod rights;
mod unrecorded;
mod watch;

pub use watch::{Whose, run};

/// Why it cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
	#[error(
		"this engine was built without clang or libbpf's headers (Debian: clang, libbpf-dev); build it again"
	)]
	NotBuilt,
	#[error("no {0}: this kernel was built without BTF (CONFIG_DEBUG_INFO_BTF)")]
	NoTypes(&'static str),
	#[error(
		"not allowed: it takes root, or CAP_BPF and CAP_PERFMON, which a centre gives with `setcap cap_bpf,cap_perfmon+ep {0}`"
	)]
	NoRights(String),
	#[error("the kernel is locked down (confidentiality): it lets nobody read what it does")]
	LockedDown,
	#[error(
		"processes have other numbers in this container; start it with the host's (--pid=host)"
	)]
	Container,
	#[error("process {0} is not yours")]
	NotYours(u32),
	#[error("the kernel does not take the programs: {0}; Linux 6.1 or newer is needed")]
	Refused(String),
	#[error("{path}: {reason}")]
	File { path: String, reason: String },
}

impl KernelError {
	fn file(path: &Path, error: &io::Error) -> KernelError {
		KernelError::File { path: path.display().to_string(), reason: error.to_string() }
	}
}
