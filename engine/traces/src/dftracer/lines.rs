//! Files of DFTracer (.pfw, .pfw.gz): which those are, and their lines.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::{Parsed, TraceError, damaged};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ROOM: usize = 1 << 18;

fn is_trace(path: &Path) -> bool {
	let name = path.file_name().unwrap_or_default().to_string_lossy();
	name.ends_with(".pfw") || name.ends_with(".pfw.gz")
}

/// The files; those in a directory where one is named.
pub fn traces(named: &[PathBuf]) -> Result<Vec<PathBuf>, TraceError> {
	let mut files = Vec::new();
	for path in named {
		if !path.is_dir() {
			files.push(path.clone());
			continue;
		}
		let inside = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
		let inside = inside.map_err(|error| damaged(path)(error.to_string()))?;
		let mut inside: Vec<PathBuf> = inside.into_iter().map(|entry| entry.path()).collect();
		inside.sort();
		files.extend(inside.into_iter().filter(|path| is_trace(path)));
	}
	match (files.is_empty(), named.first()) {
		(true, Some(log)) => {
			let why = "no .pfw or .pfw.gz in it: DFTracer writes one for each process";
			Err(damaged(log)(why.into()))
		}
		_ => Ok(files),
	}
}

fn open(path: &Path) -> io::Result<(Box<dyn BufRead>, bool)> {
	let mut file = File::open(path)?;
	let mut begin = Vec::new();
	file.by_ref().take(2).read_to_end(&mut begin)?;
	file.rewind()?;
	let raw = BufReader::with_capacity(ROOM, file);
	Ok(match begin == GZIP {
		true => (Box::new(BufReader::with_capacity(ROOM, MultiGzDecoder::new(raw))), true),
		false => (Box::new(raw), false),
	})
}

/// Gives each line that has an event, its number from 1, and whether a line's end is behind it.
pub fn each(path: &Path, mut take: impl FnMut(usize, &str, bool) -> Parsed<()>) -> Parsed<()> {
	let (mut from, packed) = open(path).map_err(|error| error.to_string())?;
	let mut line = Vec::new();
	for number in 1.. {
		line.clear();
		match from.read_until(b'\n', &mut line) {
			Ok(0) => break,
			Ok(_) => {}
			Err(error) if packed => return Err(breaks_off(path, number, &error)),
			Err(error) => return Err(error.to_string()),
		}
		let whole = line.ends_with(b"\n");
		let text = String::from_utf8_lossy(&line);
		// DFTracer 1 puts brackets around all, each in a line of its own.
		if !matches!(text.trim(), "" | "[" | "]") {
			take(number, text.trim(), whole)?;
		}
	}
	Ok(())
}

/// The line at the break is not to be trusted either.
fn breaks_off(path: &Path, number: usize, error: &io::Error) -> String {
	let name = path.file_name().unwrap_or_default().to_string_lossy();
	let (last, keep) = (number - 1, number.saturating_sub(2));
	format!(
		"breaks off after line {last} ({error}); zcat {name} | head -n {keep} > NEW.pfw keeps what is whole"
	)
}
