//! What can stop a pack. Damage in streams does not: it is counted and said.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

#[derive(Debug, thiserror::Error)]
pub enum PackError {
	#[error("{path}: {source}", path = .path.display())]
	Io { path: PathBuf, source: std::io::Error },
	#[error("{path}: not a run directory (no streams, no run.json)", path = .0.display())]
	NoRun(PathBuf),
	#[error("{path}: {source}", path = .path.display())]
	Parquet { path: PathBuf, source: ParquetError },
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

impl<T> At<T> for Result<T, ParquetError> {
	fn at(self, path: &Path) -> Result<T, PackError> {
		let path = path.to_owned();
		self.map_err(|source| match source {
			// What the system said, without the library's "External".
			ParquetError::External(cause) => match cause.downcast() {
				Ok(source) => PackError::Io { path, source: *source },
				Err(other) => PackError::Parquet { path, source: ParquetError::External(other) },
			},
			source => PackError::Parquet { path, source },
		})
	}
}

impl<T> At<T> for Result<T, arrow_schema::ArrowError> {
	fn at(self, path: &Path) -> Result<T, PackError> {
		self.map_err(|source| PackError::Arrow { path: path.to_owned(), source })
	}
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn what_the_system_said_is_said() {
		let full = || std::io::Error::from_raw_os_error(28);
		let said =
			|error: ParquetError| Err::<(), _>(error).at(Path::new("p")).unwrap_err().to_string();
		assert_eq!(said(ParquetError::External(Box::new(full()))), format!("p: {}", full()));
		assert_eq!(said(ParquetError::External("odd".into())), "p: External: odd");
		assert_eq!(said(ParquetError::General("odd".into())), "p: Parquet error: odd");
	}
}
