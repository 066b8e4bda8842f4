//! Traces of DFTracer and Recorder as runs: what others recorded, turned into runs by `fathom_import`.

mod dftracer;
mod functions;
mod positions;
mod recorder;
mod run_builder;

use std::path::{Path, PathBuf};

use fathom_import::{ImportReport, shown};
pub use functions::Catalog;

/// Why no run was written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
	#[error("{}: {why}", shown(log))]
	Damaged { log: PathBuf, why: String },
	#[error("{0}")]
	Written(String),
}

/// What is wrong with a trace, as a line.
type Parsed<T> = Result<T, String>;

/// Of this log.
fn damaged(log: &Path) -> impl Fn(String) -> TraceError + '_ {
	|why| TraceError::Damaged { log: log.to_owned(), why }
}

/// Into `run`, which must be new: what DFTracer wrote of one run. `catalog`: functions that are known.
pub fn import_dftracer(
	run: &Path,
	files: &[PathBuf],
	catalog: Catalog,
) -> Result<ImportReport, TraceError> {
	dftracer::import(files, catalog)?.publish(run).map_err(TraceError::Written)
}

/// Into `run`, which must be new: a directory that Recorder wrote.
pub fn import_recorder(
	run: &Path,
	directory: &Path,
	catalog: Catalog,
) -> Result<ImportReport, TraceError> {
	let imported = recorder::import(directory, catalog).map_err(damaged(directory))?;
	imported.publish(run).map_err(TraceError::Written)
}
