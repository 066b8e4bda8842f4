//! What of a program is recorded, and how finely: the user's TOML file, checked, becomes the lines that every traced
//! process reads at its start. `docs/selection.md` has both forms.

mod code;
mod compile;
mod control;
mod layers;
mod map;
mod read;

pub use code::Modules;
pub use compile::{MAX_BYTES, MAX_RANGES, compile};
pub use control::{Control, ControlError};
pub use read::{LAYERS, LEVELS, Place, Selection, Table, read};

/// What is wrong with a selection, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct Mistake {
	/// From 1.
	pub line: usize,
	pub message: String,
}
