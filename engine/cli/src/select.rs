//! `fathom-engine select`: the user's file in, the compiled lines out.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: u8 = 2;
const DATA: u8 = 3;

pub fn select(file: &Path, programs: &[PathBuf]) -> ExitCode {
	let name = if file == Path::new("-") { "selection".into() } else { file.to_string_lossy() };
	let text = match text_of(file) {
		Ok(text) => text,
		Err(error) => return refuse(&format!("{name}: {error}"), USAGE),
	};
	let compiled = fathom_select::read(&text)
		.and_then(|selection| fathom_select::compile(&selection, programs));
	match compiled {
		Ok(lines) => match crate::print_line(lines.trim_end()) {
			Ok(()) => ExitCode::SUCCESS,
			Err(error) => refuse(&error, DATA),
		},
		Err(mistake) => refuse(&format!("{name}:{mistake}"), USAGE),
	}
}

pub fn select_into(rings: &Path) -> Result<(), String> {
	let lines = text_of(Path::new("-")).map_err(|error| error.to_string())?;
	let changed = fathom_select::Control::new(rings).change(&lines);
	crate::print_line(&changed.map_err(|error| error.to_string())?.to_string())
}

fn text_of(file: &Path) -> std::io::Result<String> {
	if file == Path::new("critical") {
		return Ok("critical".to_owned());
	}
	if file != Path::new("-") {
		return std::fs::read_to_string(file);
	}
	let mut text = String::new();
	std::io::stdin().read_to_string(&mut text)?;
	Ok(text)
}

fn refuse(message: &str, status: u8) -> ExitCode {
	crate::say(message);
	ExitCode::from(status)
}
