//! The compiled form: lines that a process reads without help (`runtime/core/selection.c`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::Mistake;
use crate::code::{Modules, Stretch, merged};
use crate::read::{LEVELS, Place, Selection, Table};

/// What a process has room for.
pub const MAX_BYTES: usize = 65536;
pub const MAX_RANGES: usize = 1024;
/// Begins a line that names a process that is critical now, or none.
pub const CRITICAL: &str = "critical ";
/// Of the summary in its one line.
const MAX_SUMMARY: usize = 1000;

/// The lines of a selection. `programs`: where `code` is looked for, besides the files that a table's own
/// `programs` name by a path.
pub fn compile(selection: &Selection, programs: &[PathBuf]) -> Result<String, Mistake> {
	let critical = selection.tables.iter().flatten().any(|table| table.critical);
	let mut out = format!("fathom-selection {}\n", if critical { 2 } else { 1 });
	let mut ranges = 0;
	let _ = writeln!(out, "says {}", summary(selection));
	for (level, table) in LEVELS.iter().zip(&selection.tables) {
		if let Some(table) = table {
			let _ = writeln!(out, "table {level}");
			write_table(&mut out, table);
			ranges += write_code(&mut out, level, table, programs)?;
		}
	}
	if ranges > MAX_RANGES {
		let message = format!(
			"code: {ranges} stretches of code, at most {MAX_RANGES} are possible; name fewer places"
		);
		return Err(Mistake { line: 1, message });
	}
	if out.len() > MAX_BYTES {
		let message = format!("too long: {} bytes compiled, at most {MAX_BYTES}", out.len());
		return Err(Mistake { line: 1, message });
	}
	Ok(out)
}

/// The whole selection in one line, for people.
fn summary(selection: &Selection) -> String {
	let tables = LEVELS.iter().zip(&selection.tables).filter_map(|(level, table)| {
		let table = table.as_ref()?;
		let space = if table.as_written.is_empty() { "" } else { " " };
		Some(format!("[{level}]{space}{}", table.as_written))
	});
	let mut line = tables.collect::<Vec<_>>().join(" ");
	if line.is_empty() {
		return "nothing".to_owned();
	}
	line.retain(|c| !c.is_control());
	match line.char_indices().nth(MAX_SUMMARY) {
		Some((end, _)) => format!("{}…", &line[..end]),
		None => line,
	}
}

fn write_table(out: &mut String, table: &Table) {
	if let Some((recorded, counted)) = table.layers {
		let _ = writeln!(out, "layers {recorded:x} {counted:x}");
	}
	if table.reads || table.writes {
		let both = u8::from(table.reads) | u8::from(table.writes) << 1;
		let _ = writeln!(out, "operations {both}");
	}
	if let Some((from, until)) = table.time {
		let _ = writeln!(out, "time {from} {}", until.unwrap_or(i64::MAX as u64));
	}
	for program in &table.programs {
		let _ = writeln!(out, "program {}", program.rsplit('/').next().unwrap_or(program));
	}
	for ranks in &table.ranks {
		let _ = writeln!(out, "ranks {ranks}");
	}
	if table.critical {
		let _ = writeln!(out, "{CRITICAL}none");
	}
	for file in &table.files {
		let _ = writeln!(out, "file {file}");
	}
}

/// Returns how many stretches there are.
fn write_code(
	out: &mut String,
	level: &str,
	table: &Table,
	programs: &[PathBuf],
) -> Result<usize, Mistake> {
	let mut modules = None;
	let mut by_identity: BTreeMap<String, Vec<Stretch>> = BTreeMap::new();
	let mut count = 0;
	for (place, _) in &table.code {
		if let Place::Region(name) = place {
			let _ = writeln!(out, "region {name}");
		}
	}
	for (place, line) in &table.code {
		if matches!(place, Place::Region(_)) {
			continue;
		}
		let fault = |message| Mistake { line: *line, message: format!("{level}.code: {message}") };
		let modules = match &mut modules {
			Some(modules) => modules,
			none => none.insert(Modules::open(&program_files(table, programs)).map_err(fault)?),
		};
		for (identity, stretch) in modules.find(place).map_err(fault)? {
			by_identity.entry(identity).or_default().push(stretch);
		}
	}
	for (identity, stretches) in by_identity {
		for stretch in merged(stretches) {
			let _ = writeln!(out, "code {:x} {:x} {identity}", stretch.begin, stretch.end);
			count += 1;
		}
	}
	Ok(count)
}

fn program_files(table: &Table, programs: &[PathBuf]) -> Vec<PathBuf> {
	let files =
		table.programs.iter().filter(|name| name.contains('/') && Path::new(name).is_file());
	programs.iter().cloned().chain(files.map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
	use super::*;
	use crate::read;

	#[test]
	fn lines_are_as_the_page_says() {
		let text = "[job]\n[call]\nlayers = [\"posix\", \"mpi:counted\"]\noperations = \"both\"\n\
			programs = [\"/opt/bin/s3d\", \"at*\"]\nranks = \"0-8:2, first-on-node\"\n\
			files = [\"!*.log\"]\ncode = [\"region io\"]\ntime = \"2-\"";
		let lines = compile(&read(text).unwrap(), &[]).unwrap();
		let expected = [
			"fathom-selection 1",
			"says [job] [call] layers = [\"posix\", \"mpi:counted\"], operations = \"both\", \
			 programs = [\"/opt/bin/s3d\", \"at*\"], ranks = \"0-8:2, first-on-node\", \
			 files = [\"!*.log\"], code = [\"region io\"], time = \"2-\"",
			"table job",
			"table call",
			"layers 1 8",
			"operations 3",
			"time 2000000000 9223372036854775807",
			"program s3d",
			"program at*",
			"ranks 0-8:2",
			"ranks first-on-node",
			"file !*.log",
			"region io",
			"",
		];
		let mut sorted: Vec<_> = lines.lines().collect();
		sorted.push("");
		assert_eq!(sorted[0], expected[0]);
		assert_eq!(sorted[2..], expected[2..]);
	}

	#[test]
	fn the_word_stands_for_its_tables() {
		let lines = compile(&read("critical\n").unwrap(), &[]).unwrap();
		let says = "says [file] [call] processes = \"critical\"";
		let expected =
			format!("fathom-selection 2\n{says}\ntable file\ntable call\ncritical none\n");
		assert_eq!(lines, expected);
	}

	#[test]
	fn nothing_is_selected_by_nothing() {
		assert_eq!(compile(&read("").unwrap(), &[]).unwrap(), "fathom-selection 1\nsays nothing\n");
	}

	#[test]
	fn what_has_no_room_is_refused() {
		let files: Vec<_> = (0..9000).map(|n| format!("\"*{n}.dat\"")).collect();
		let text = format!("[call]\nfiles = [{}]", files.join(", "));
		let mistake = compile(&read(&text).unwrap(), &[]).unwrap_err();
		assert!(mistake.message.contains("too long"), "{mistake}");
	}

	/// Of this very program, which has line numbers where it was built with them.
	#[test]
	fn places_are_found_or_what_there_is_is_said() {
		let own = std::env::current_exe().unwrap();
		let at = |code: &str| {
			let text = format!("[call]\ncode = [\"{code}\"]");
			compile(&read(&text).unwrap(), std::slice::from_ref(&own))
		};
		let missing = at("no_such_function_anywhere()").unwrap_err();
		assert!(missing.message.contains("call.code: no function no_such"), "{missing}");
		assert_eq!(missing.line, 2);
		let none = compile(&read("[call]\ncode = [\"main()\"]").unwrap(), &[]).unwrap_err();
		assert!(none.message.contains("which program?"), "{none}");
		let lines = at("main()").unwrap();
		assert!(lines.lines().any(|line| line.starts_with("code ")), "{lines}");
	}
}
