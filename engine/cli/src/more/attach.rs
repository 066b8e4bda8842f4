//! `fathom-engine attach`: settings in, what the library in the process answers out.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use fathom_attach::{Answer, Job, act};

/// Of a process that the library is not in: it does not take it, or is not recorded (python/fathom/attach/injector.py).
const REFUSED: i64 = -1;
const NOT_RECORDED: i64 = 3;

pub fn attach(
	process: i32,
	library: Option<PathBuf>,
	seconds: u64,
	patience: f64,
) -> Result<(), String> {
	let absent = if library.is_some() { REFUSED } else { NOT_RECORDED };
	let patience = Duration::try_from_secs_f64(patience).map_err(|error| error.to_string())?;
	let mut job = Job { process, library, settings: Vec::new(), seconds, patience };
	std::io::stdin().read_to_end(&mut job.settings).map_err(|error| error.to_string())?;
	let answer = act(&job).map_err(|error| error.to_string())?;
	let Answer { status, run } = answer.unwrap_or(Answer { status: absent, run: Vec::new() });
	let mut out = std::io::stdout();
	write!(out, "{status} ")
		.and_then(|()| out.write_all(&run))
		.and_then(|()| out.flush())
		.map_err(|error| error.to_string())
}
