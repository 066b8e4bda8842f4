//! Places in the source become address ranges of the programs: by DWARF's lines and inlined functions, and by the
//! symbol table where a program has no DWARF.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSymbol as _};

use crate::read::Place;

/// Names given in a message at most.
const CHOICES: usize = 8;

/// Addresses of one program or library, as offsets from where it is loaded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
	pub begin: u64,
	pub end: u64,
}

/// A program's instructions that were made from one source line, with the functions inlined there.
struct Row {
	stretch: Stretch,
	/// Innermost first: function, file, line.
	frames: Vec<(Option<String>, Option<String>, u32)>,
}

struct Module {
	path: PathBuf,
	/// Build id in hexadecimal, or `=` and the path where it has none.
	identity: String,
	rows: Vec<Row>,
	symbols: Vec<(String, Stretch)>,
}

/// The programs in which places are looked for.
pub struct Modules {
	modules: Vec<Module>,
}

impl Modules {
	/// Reads them; one line if one cannot be read.
	pub fn open(paths: &[PathBuf]) -> Result<Modules, String> {
		let mut modules: Vec<Module> = Vec::new();
		for path in paths {
			let module = open(path)?;
			if modules.iter().all(|known| known.identity != module.identity) {
				modules.push(module);
			}
		}
		Ok(Modules { modules })
	}

	/// Where the place is: identity of the program and addresses. One line if it is nowhere.
	pub fn find(&self, place: &Place) -> Result<Vec<(String, Stretch)>, String> {
		let mut located = Vec::new();
		for module in &self.modules {
			let stretches = module.find(place).into_iter();
			located.extend(stretches.map(|stretch| (module.identity.clone(), stretch)));
		}
		if located.is_empty() {
			return Err(self.nowhere(place));
		}
		Ok(located)
	}

	fn nowhere(&self, place: &Place) -> String {
		let names: Vec<_> = self.modules.iter().map(|m| m.path.display().to_string()).collect();
		let programs = names.join(", ");
		if self.modules.is_empty() {
			return "which program? name its file in `programs`".to_owned();
		}
		match place {
			Place::Lines { file, first, last } => {
				if self.modules.iter().all(|module| module.rows.is_empty()) {
					return format!("{programs} has no line numbers; compile it with -g");
				}
				let lines: BTreeSet<u32> =
					self.frames().filter(|f| is_file(f.1.as_deref(), file)).map(|f| f.2).collect();
				if let (Some(low), Some(high)) = (lines.first(), lines.last()) {
					return format!(
						"lines {first}-{last} of {file} are no code in {programs}; there are {low}-{high}"
					);
				}
				let files = self.frames().filter_map(|f| f.1.as_deref()).map(base_name);
				format!("no source file {file} in {programs}; there are {}", some(files))
			}
			Place::Function(name) => {
				let functions = self.frames().filter_map(|f| f.0.as_deref());
				let symbols =
					self.modules.iter().flat_map(|m| m.symbols.iter().map(|s| s.0.as_str()));
				let is_similar = |text: &&str| text.to_lowercase().contains(&name.to_lowercase());
				let similar = some(functions.clone().chain(symbols).filter(is_similar));
				let choices = if similar.is_empty() { some(functions) } else { similar };
				format!("no function {name} in {programs}; there are {choices}")
			}
			Place::Region(_) => String::new(),
		}
	}

	fn frames(&self) -> impl Iterator<Item = &(Option<String>, Option<String>, u32)> + Clone {
		self.modules.iter().flat_map(|module| module.rows.iter()).flat_map(|row| row.frames.iter())
	}
}

impl Module {
	fn find(&self, place: &Place) -> Vec<Stretch> {
		let rows = self.rows.iter().filter(|row| match place {
			Place::Lines { file, first, last } => row.frames.iter().any(|(_, source, line)| {
				(*first..=*last).contains(line) && is_file(source.as_deref(), file)
			}),
			Place::Function(name) => row.frames.iter().any(|frame| {
				frame.0.as_deref().is_some_and(|function| is_function(function, name))
			}),
			Place::Region(_) => false,
		});
		let mut stretches: Vec<_> = rows.map(|row| row.stretch.clone()).collect();
		if let Place::Function(name) = place {
			let symbols = self.symbols.iter().filter(|(symbol, _)| is_function(symbol, name));
			stretches.extend(symbols.map(|(_, stretch)| stretch.clone()));
		}
		stretches
	}
}

fn open(path: &Path) -> Result<Module, String> {
	let shown = path.display();
	let data = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
	let file = object::File::parse(&*data)
		.map_err(|_| format!("{shown} is no ELF program; only those have places to be found"))?;
	let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
	let identity = match file.build_id() {
		Ok(Some(id)) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
		_ => format!("={}", real.display()),
	};
	let symbols = file.symbols().filter(|symbol| {
		symbol.is_definition() && symbol.kind() == object::SymbolKind::Text && symbol.size() > 0
	});
	let symbols = symbols.filter_map(|symbol| {
		let name = addr2line::demangle_auto(symbol.name().ok()?.into(), None).into_owned();
		let stretch = Stretch { begin: symbol.address(), end: symbol.address() + symbol.size() };
		Some((name, stretch))
	});
	Ok(Module { path: path.to_owned(), identity, symbols: symbols.collect(), rows: rows(path) })
}

/// All rows of the line tables; none where there is no DWARF.
fn rows(path: &Path) -> Vec<Row> {
	let mut out = Vec::new();
	let Ok(loader) = addr2line::Loader::new(path) else { return out };
	let Ok(locations) = loader.find_location_range(0, u64::MAX) else { return out };
	for (begin, bytes, _) in locations {
		let mut frames = Vec::new();
		if let Ok(mut inlined) = loader.find_frames(begin) {
			while let Ok(Some(frame)) = inlined.next() {
				let name =
					frame.function.and_then(|f| f.demangle().ok().map(|name| name.into_owned()));
				let (source, line) = frame.location.map_or((None, 0), |location| {
					(location.file.map(str::to_owned), location.line.unwrap_or(0))
				});
				frames.push((name, source, line));
			}
		}
		out.push(Row { stretch: Stretch { begin, end: begin + bytes }, frames });
	}
	out
}

/// The same file: equal, or the end of its path.
fn is_file(source: Option<&str>, wanted: &str) -> bool {
	let wanted = wanted.trim_start_matches("./");
	source.is_some_and(|source| {
		source == wanted || source.strip_suffix(wanted).is_some_and(|path| path.ends_with('/'))
	})
}

/// `write`, `io::write` and `io::write(int)` are `write`; so are Fortran's `write_` and `__io_MOD_write`.
fn is_function(name: &str, wanted: &str) -> bool {
	let bare = name.split('(').next().unwrap_or(name).trim_end();
	let last = bare.rsplit("::").next().unwrap_or(bare);
	let fortran = bare.rsplit("_MOD_").next().unwrap_or(bare);
	[name, bare, last, fortran].contains(&wanted)
		|| last.strip_suffix('_').is_some_and(|plain| plain == wanted)
}

fn base_name(path: &str) -> &str {
	path.rsplit('/').next().unwrap_or(path)
}

fn some<'n>(names: impl Iterator<Item = &'n str>) -> String {
	let all: BTreeSet<_> = names.collect();
	let shown: Vec<_> = all.iter().take(CHOICES).copied().collect();
	shown.join(", ") + if all.len() > CHOICES { ", …" } else { "" }
}

/// Sorted, neighbours made one.
pub fn merged(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
	stretches.sort_unstable();
	let mut out: Vec<Stretch> = Vec::new();
	for next in stretches {
		match out.last_mut() {
			Some(last) if next.begin <= last.end => last.end = last.end.max(next.end),
			_ => out.push(next),
		}
	}
	out
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn files_match_by_whole_names() {
		assert!(is_file(Some("/home/me/src/restart.c"), "restart.c"));
		assert!(is_file(Some("/home/me/src/restart.c"), "./src/restart.c"));
		assert!(is_file(Some("restart.c"), "restart.c"));
		assert!(!is_file(Some("/home/me/prerestart.c"), "restart.c"));
		assert!(!is_file(None, "restart.c"));
	}

	#[test]
	fn functions_match_in_each_language() {
		for name in ["put", "io::put", "io::put(int)", "put_", "__io_MOD_put"] {
			assert!(is_function(name, "put"), "{name}");
		}
		assert!(is_function("io::put(int)", "io::put"));
		assert!(!is_function("output", "put"));
	}

	#[test]
	fn neighbours_become_one() {
		let stretch = |begin, end| Stretch { begin, end };
		let stretches = vec![stretch(8, 9), stretch(0, 4), stretch(4, 6), stretch(1, 2)];
		assert_eq!(merged(stretches), [stretch(0, 6), stretch(8, 9)]);
	}
}
