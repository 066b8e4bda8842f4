//! Runs of what other tools recorded: rows as streams, the run directory around them, and the lines by which a reader of
//! another tool's log hands over its contents (`jsonl`).

mod image;
mod jsonl;
mod nest;
mod process;
mod run_directory;
mod spread;

pub use image::{Image, Node, Rows, random};
pub use jsonl::{Call, ImportReport, ImportedRun, JsonlError, Object, Op, ProcessIdentity, import};
pub use run_directory::{Folder, printable, publish, shown, write};
