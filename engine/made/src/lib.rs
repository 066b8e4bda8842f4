//! Runs of what other tools recorded: rows as streams, the run directory around them, and the lines by which a reader of
//! another tool's log tells what it found (`told`).

mod image;
mod nest;
mod place;
mod process;
mod spread;
mod told;

pub use image::{Image, Node, Rows, random};
pub use place::{Folder, printable, publish, shown, write};
pub use told::{Call, Made, Object, Op, TellError, Told, Who, import};
