//! What can stop a pack. Damage in streams does not: it is counted and said.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum PackError {
	#[error("{path}: {source}", path = .path.display())]
	Io { path: PathBuf, source: std::io::Error },
	#[error("{path}: not a run directory (no streams, no run.json)", path = .0.display())]
	NoRun(PathBuf),
	#[error("{path}: {source}", path = .path.display())]
	Parquet { path: PathBuf, source: parquet::errors::ParquetError },
	#[error("{path}: {source}", path = .path.display())]
	Arrow { path: PathBuf, source: arrow_schema::ArrowError },
	#[error("{0} streams: more than the 16,777,216 that one run can number")]
	TooManyStreams(u64),
	#[error("{path}: {reason}", path = .path.display())]
	Data { path: PathBuf, reason: String },
	/// What was given to others was not done.
	#[error("{0}")]
	Shares(String),
	#[error("threads: {0}")]
	Threads(String),
}

/// False: another holds it.
pub fn try_lock(file: &File) -> std::io::Result<bool> {
	match file.try_lock() {
		Ok(()) => Ok(true),
		Err(TryLockError::WouldBlock) => Ok(false),
		Err(TryLockError::Error(error)) => Err(error),
	}
}

/// Names the path of an I/O error.
pub trait At<T> {
	fn at(self, path: &Path) -> Result<T, PackError>;
}

impl<T> At<T> for std::io::Result<T> {
	fn at(self, path: &Path) -> Result<T, PackError> {
		self.map_err(|source| PackError::Io { path: path.to_owned(), source })
	}
}

impl<T> At<T> for Result<T, parquet::errors::ParquetError> {
	fn at(self, path: &Path) -> Result<T, PackError> {
		self.map_err(|source| PackError::Parquet { path: path.to_owned(), source })
	}
}

impl<T> At<T> for Result<T, arrow_schema::ArrowError> {
	fn at(self, path: &Path) -> Result<T, PackError> {
		self.map_err(|source| PackError::Arrow { path: path.to_owned(), source })
	}
}
