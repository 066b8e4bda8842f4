//! `pack --shares`: whoever started it lets others do the work, as it is told.
//!
//! For each step there is one line on stdout, STEP SHARES FOLDER, of a folder in the run. Then `pack-share RUN/FOLDER STEP NUMBER`
//! has to be done for each number below SHARES, anywhere, and a line on stdin says `done`; any other line says why not, and ends the pack.

use std::io::{BufRead, Write};
use std::path::Path;

use fathom_pack::{PackError, ShareWorkers, Step};

/// The word on the command line.
pub fn step(word: &str) -> Result<Step, String> {
	let named = [Step::Survey, Step::Write].into_iter().find(|step| step.name() == word);
	named.ok_or_else(|| "it is survey or write".to_owned())
}

pub struct StdioShares {
	shares: u32,
}

impl StdioShares {
	pub fn new(shares: u32) -> StdioShares {
		StdioShares { shares }
	}
}

impl ShareWorkers for StdioShares {
	fn shares(&self) -> usize {
		self.shares as usize
	}

	fn begin(&mut self, step: Step, folder: &Path) -> Result<(), PackError> {
		let mut out = std::io::stdout();
		let folder = folder.file_name().unwrap_or_default().display();
		writeln!(out, "{} {} {folder}", step.name(), self.shares)
			.and_then(|()| out.flush())
			.map_err(|error| PackError::Shares(format!("shares: nobody listens: {error}")))
	}

	fn end(&mut self) -> Result<(), PackError> {
		let mut line = String::new();
		match std::io::stdin().lock().read_line(&mut line) {
			Ok(1..) if line.trim_end() == "done" => Ok(()),
			Ok(1..) => Err(PackError::Shares(line.trim_end().to_owned())),
			_ => Err(PackError::Shares("shares: who gives them to others has gone".into())),
		}
	}
}
