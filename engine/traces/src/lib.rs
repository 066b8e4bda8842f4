//! Traces of DFTracer and Recorder as runs: what others wrote, told as `fathom_made` makes runs of it.

mod dftracer;
mod functions;
mod positions;
mod recorder;
mod story;

use std::path::{Path, PathBuf};

use fathom_made::{Made, shown};
pub use functions::Catalogue;

/// Why nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
	#[error("{}: {why}", shown(log))]
	Damaged { log: PathBuf, why: String },
	#[error("{0}")]
	Written(String),
}

/// What is wrong with a trace, as a line.
type Found<T> = Result<T, String>;

/// Of this log.
fn damaged(log: &Path) -> impl Fn(String) -> TraceError + '_ {
	|why| TraceError::Damaged { log: log.to_owned(), why }
}

/// Into `run`, which must be new: what DFTracer wrote of one run. `catalogue`: functions that are known.
pub fn import_dftracer(
	run: &Path,
	files: &[PathBuf],
	catalogue: Catalogue,
) -> Result<Made, TraceError> {
	dftracer::told(files, catalogue)?.publish(run).map_err(TraceError::Written)
}

/// Into `run`, which must be new: a directory that Recorder wrote.
pub fn import_recorder(
	run: &Path,
	directory: &Path,
	catalogue: Catalogue,
) -> Result<Made, TraceError> {
	let told = recorder::told(directory, catalogue).map_err(damaged(directory))?;
	told.publish(run).map_err(TraceError::Written)
}
