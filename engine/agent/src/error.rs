//! What can stop an agent or a collector.

use std::path::{Path, PathBuf};

use fathom_pack::PackError;
use fathom_select::ControlError;
use fathom_watch::WatchError;

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
	#[error("{path}: {source}", path = .path.display())]
	Io { path: PathBuf, source: std::io::Error },
	#[error("{path}: another collector writes into it; name a run of its own", path = .0.display())]
	Collected(PathBuf),
	#[error(transparent)]
	Pack(#[from] PackError),
	#[error(transparent)]
	Watch(#[from] WatchError),
	#[error(transparent)]
	Control(#[from] ControlError),
}

/// Names the path of an I/O error.
pub trait At<T> {
	fn at(self, path: &Path) -> Result<T, AgentError>;
}

impl<T> At<T> for std::io::Result<T> {
	fn at(self, path: &Path) -> Result<T, AgentError> {
		self.map_err(|source| AgentError::Io { path: path.to_owned(), source })
	}
}
