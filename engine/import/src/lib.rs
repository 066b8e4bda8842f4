//! Runs of what other tools recorded: rows as streams, the run directory around them, and the lines by which a reader of
//! another tool's log hands over its contents (`jsonl`).

mod contents;
mod image;
mod imported;
mod jsonl;
mod nest;
mod process;
mod run_directory;
mod spread;

pub use contents::{Call, Object, Op};
pub use image::{Image, Node, Rows, random};
pub use imported::{ImportReport, ImportedRun, ProcessIdentity};
pub use jsonl::{JsonlError, import};
pub use run_directory::{Folder, publish, shown, write};
