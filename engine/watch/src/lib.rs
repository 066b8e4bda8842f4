//! A run while it runs: rings and stream files of this node, read as they grow. `docs/stream-format.md` in, a
//! JSON object per interval out: `docs/commands/top.md`.

mod clock;
mod error;
#[cfg(test)]
mod fuzz;
mod growing;
mod image;
mod missed;
mod names;
mod own;
mod report;
mod ring;
mod stream;
mod sums;
mod tables;
mod tally;
mod target;
mod ticks;
mod watch;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use error::WatchError;
pub use own::{Own, Owns};
use report::Facts;
use watch::Watch;

#[derive(Debug, Clone)]
pub struct Options {
	/// Between looks.
	pub interval: Duration,
	/// One look, then the end.
	pub once: bool,
	/// Most rows of a line; others are added up without file and place in the program.
	pub most: usize,
	/// Where rings lie, when `run.json` does not say.
	pub ring: Option<PathBuf>,
}

/// How often an end of the run is looked for between looks.
const STEP: Duration = Duration::from_millis(200);

/// Looks at a run until it is over, and writes a line for every look. A reader that went away is no error.
pub fn watch(run: &Path, options: &Options, out: &mut impl Write) -> Result<(), WatchError> {
	let mut watch = Watch::open(run, options.ring.clone())?;
	watch.wait_for_process()?;
	let mut before = Instant::now();
	let mut interval = watch.age().unwrap_or(0.0);
	for number in 0.. {
		let over = watch.over(); // asked before: what is read then is all
		if over {
			watch.wait_for_ends();
		}
		let look = watch.look(over)?;
		let last = over || options.once;
		let facts =
			Facts { number, interval, cpu_seconds: cpu_seconds(), last, most: options.most };
		let line = report::line(&watch, look, &facts);
		watch.forget();
		match writeln!(out, "{line}").and_then(|()| out.flush()) {
			Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
			Err(source) => return Err(WatchError::Io { path: "standard output".into(), source }),
			Ok(()) if last => return Ok(()),
			Ok(()) => {}
		}
		while before.elapsed() < options.interval && !watch.over() {
			sleep(STEP.min(options.interval.saturating_sub(before.elapsed())));
		}
		interval = before.elapsed().as_secs_f64();
		before = Instant::now();
	}
	Ok(())
}

/// Of this process, from the kernel.
fn cpu_seconds() -> Option<f64> {
	let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
	let nanoseconds: u64 = text.split_ascii_whitespace().next()?.parse().ok()?;
	Some(nanoseconds as f64 / 1e9)
}
