//! Why a run cannot be watched.

use std::path::PathBuf;

use fathom_pack::PackError;

#[derive(Debug, thiserror::Error)]
pub enum WatchError {
	#[error(transparent)]
	Run(#[from] PackError),
	#[error("{path}: the run is over; see fathom show", path = .0.display())]
	Over(PathBuf),
	#[error("{path}: run.json does not name the rings' directory; give --ring", path = .0.display())]
	NoRings(PathBuf),
	#[error("{path}: only user {owner}, whose run it is, may look at it", path = .path.display())]
	NoPermission { path: PathBuf, owner: u32 },
	#[error("{path}: no process of the run is on this node; it runs on {hosts}", path = .path.display())]
	Elsewhere { path: PathBuf, hosts: String },
	#[error("{path}: no process of the run is left on this node; see fathom show", path = .0.display())]
	Gone(PathBuf),
	#[error("{path}: {source}", path = .path.display())]
	Io { path: PathBuf, source: std::io::Error },
	#[error("process {pid}: {source}")]
	Read { pid: u32, source: std::io::Error },
}
