//! Call sites: from an offset in a module to function, file and line, and to the line that is the user's own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::{fs, io, iter};

use fathom_sink::IfThere;
use object::{Object as _, ObjectSymbol as _};

use crate::define::{ScriptLine, last_name};
use crate::libraries::{
	DIRECTORIES, FOLDERS, FUNCTIONS, GENERATED, MODULES, PROGRAMS, SOURCES, TELLING,
};

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteKey {
	pub module: String,
	pub build_id: Vec<u8>,
	pub offset: u64,
	pub entry: String,
	pub script: ScriptLine,
	/// The site that the function around it was called from, among [`Sites::rows`].
	pub caller: Option<u32>,
}

impl SiteKey {
	/// Of a place in a module; `executable`: what the process runs, should the module be named by its link in /proc.
	pub fn of(
		(module, build_id): (&str, &[u8]),
		executable: &str,
		offset: u64,
		entry: &str,
		script: &ScriptLine,
	) -> SiteKey {
		SiteKey {
			module: if module == "/proc/self/exe" { executable } else { module }.to_owned(),
			build_id: build_id.to_owned(),
			offset,
			entry: entry.to_owned(),
			script: script.clone(),
			caller: None,
		}
	}
}

#[derive(Debug, Clone, Default)]
pub struct Resolved {
	pub function: Option<String>,
	pub source: Option<String>,
	pub line: Option<u32>,
}

impl Resolved {
	fn of(script: &ScriptLine) -> Resolved {
		Resolved {
			function: Some(script.function.clone()),
			source: (!script.source.is_empty()).then(|| script.source.clone()),
			line: (script.line > 0).then_some(script.line),
		}
	}
}

/// All sites of a run, once each; callers come before who they called.
#[derive(Debug, Default)]
pub struct Sites {
	pub rows: Vec<SiteKey>,
	numbers: HashMap<SiteKey, u32>,
}

/// Callers of a call beyond these are not looked at: streams may be wrong.
const MOST_CALLERS: usize = 64;

impl Sites {
	/// The number of a site that an image's streams tell of: itself, and the image's site of its caller, 0: none.
	pub fn number(
		&mut self,
		site: u32,
		site_of: impl Fn(u32) -> Option<(SiteKey, u32)>,
	) -> Option<u32> {
		let mut chain = Vec::new();
		let mut at = site;
		while chain.len() < MOST_CALLERS
			&& let Some((key, caller)) = site_of(at)
		{
			chain.push(key);
			at = caller;
		}
		chain.into_iter().rev().fold(None, |caller, key| Some(self.one(SiteKey { caller, ..key })))
	}

	fn one(&mut self, key: SiteKey) -> u32 {
		if let Some(&number) = self.numbers.get(&key) {
			return number;
		}
		let number = self.rows.len() as u32;
		self.numbers.insert(key.clone(), number);
		self.rows.push(key);
		number
	}
}

/// What is at a site; of functions that a compiler put into one another, each.
struct Frame {
	at: Resolved,
	own: bool,
}

/// The frames of sites, from inside outwards, as far as they were asked for.
#[derive(Default)]
pub struct Frames {
	of: Vec<Vec<Frame>>,
	resolver: Resolver,
	skipped: Vec<String>,
}

impl Frames {
	/// `skipped`: wrappers, whose code is not the user's own either.
	pub fn new(skipped: Vec<String>) -> Frames {
		Frames { skipped, ..Frames::default() }
	}

	/// Looks up what it has not; modules that are gone, or are not the ones that ran, give nothing.
	pub fn look_up(&mut self, sites: &Sites) {
		let first = self.of.len();
		let rows = &sites.rows[first..];
		let mut by_module: Vec<usize> = (0..rows.len()).collect();
		by_module.sort_by_key(|&index| (&rows[index].module, &rows[index].build_id));
		self.of.resize_with(sites.rows.len(), Vec::new);
		for index in by_module {
			let mut frames = self.resolver.frames(&rows[index]);
			let of_module = self.skips(&rows[index].module);
			for frame in &mut frames {
				frame.own &=
					!of_module && !frame.at.source.as_deref().is_some_and(|it| self.skips(it));
			}
			self.of[first + index] = frames;
		}
	}

	fn skips(&self, path: &str) -> bool {
		self.skipped.iter().any(|name| is_named(path, name))
	}

	/// What was seen of modules when sites in them were looked up.
	pub fn modules(&self) -> &Modules {
		&self.resolver.seen
	}

	/// What is at the site itself.
	pub fn innermost(&self, site: u32) -> Resolved {
		self.of[site as usize].first().map(|frame| frame.at.clone()).unwrap_or_default()
	}

	/// The innermost that is the user's own and has a line, or is the user's own at least; else the innermost.
	pub fn users(&self, sites: &Sites, site: u32) -> Resolved {
		self.users_frame(sites, site).map_or_else(|| self.innermost(site), |(_, at)| at.clone())
	}

	/// The program or library that this is in; empty: it was made while the program ran.
	pub fn users_module<'a>(&self, sites: &'a Sites, site: u32) -> &'a str {
		let at = self.users_frame(sites, site).map_or(site, |(at, _)| at);
		&sites.rows[at as usize].module
	}

	fn users_frame<'a>(&'a self, sites: &'a Sites, site: u32) -> Option<(u32, &'a Resolved)> {
		let mut with_line = self.own(sites, site).filter(|(_, at)| at.line.is_some());
		with_line.next().or_else(|| self.own(sites, site).next())
	}

	/// Has no code of the user's own led to it?
	pub fn in_library(&self, sites: &Sites, site: u32) -> bool {
		self.own(sites, site).next().is_none()
	}

	/// The user's line that called that one.
	pub fn users_caller(&self, sites: &Sites, site: u32) -> Resolved {
		let mut with_line = self.own(sites, site).filter(|(_, at)| at.line.is_some());
		with_line.nth(1).map(|(_, at)| at.clone()).unwrap_or_default()
	}

	/// Each with the site that it is at.
	fn own<'a>(&'a self, sites: &'a Sites, site: u32) -> impl Iterator<Item = (u32, &'a Resolved)> {
		let callers = iter::successors(Some(site), |&at| sites.rows[at as usize].caller);
		let frames = callers.flat_map(|at| self.of[at as usize].iter().map(move |one| (at, one)));
		frames.filter(|(_, frame)| frame.own).map(|(at, frame)| (at, &frame.at))
	}
}

/// What is to be said of a run's modules.
#[derive(Debug, Clone, Default)]
pub struct Modules {
	/// Those that are there and cannot be read, each with the reason.
	pub unreadable: BTreeMap<String, String>,
	/// The user's own, and layers whose library is linked into them.
	pub linked: BTreeSet<(String, &'static str)>,
}

/// Looks sites up one by one; keeps the modules of the last ones.
#[derive(Default)]
struct Resolver {
	modules: HashMap<(String, Vec<u8>), Option<addr2line::Loader>>,
	seen: Modules,
}

impl Resolver {
	const MODULES: usize = 8;

	fn frames(&mut self, site: &SiteKey) -> Vec<Frame> {
		if site.script != ScriptLine::default() {
			let own = is_own_script(&site.script);
			return vec![Frame { at: Resolved::of(&site.script), own }];
		}
		let key = (site.module.clone(), site.build_id.clone());
		if self.modules.len() >= Self::MODULES && !self.modules.contains_key(&key) {
			self.modules.clear();
		}
		let (own, seen) = (is_own(&site.module), &mut self.seen);
		let loader = self.modules.entry(key).or_insert_with_key(|(module, build_id)| {
			let mut linked = Vec::new();
			let loaded = load(Path::new(module), build_id, &mut linked);
			seen.linked.extend(linked.iter().filter(|_| own).map(|layer| (module.clone(), *layer)));
			loaded.unwrap_or_else(|error| {
				seen.unreadable.insert(module.clone(), error.to_string());
				None
			})
		});
		match loader {
			Some(loader) => look_up(loader, site.offset, own),
			None => vec![Frame { at: Resolved::default(), own }],
		}
	}
}

/// Does a user who writes this name mean the file, or a folder that it is in? Libraries have versions behind their names,
/// Python's modules points between theirs.
fn is_named(path: &str, name: &str) -> bool {
	let path = format!("/{path}");
	let ends = |name: &str| path.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
	let module = name.replace('.', "/");
	ends(name)
		|| ends(&format!("{module}.py"))
		|| path.contains(&format!("/{name}/"))
		|| path.contains(&format!("/{module}/"))
		|| path.rsplit('/').next().is_some_and(|file| {
			file.starts_with(&format!("{name}.so")) || file.starts_with(&format!("lib{name}.so"))
		})
}

/// Of no library that `catalog/libraries.toml` names.
fn is_own(module: &str) -> bool {
	let name = last_name(module);
	let in_system = DIRECTORIES.iter().any(|folder| module.starts_with(folder));
	let is_shared = in_system && name.contains(".so");
	let is_package = FOLDERS.iter().any(|part| module.contains(part));
	let is_library = is_shared || is_package || begins(name, &MODULES) || PROGRAMS.contains(&name);
	!name.is_empty() && !is_library
}

/// Of Python the runtime tells the user's own lines only; of others, code of the language's own libraries is in no file.
fn is_own_script(script: &ScriptLine) -> bool {
	let is_generated = script.source.is_empty() && begins(&script.function, &GENERATED);
	!is_generated && !SOURCES.iter().any(|part| script.source.contains(part))
}

/// A module's symbols, and layers whose library is `linked` into it; `None`: it is gone, is not the one that ran, or has
/// none.
fn load(
	path: &Path,
	build_id: &[u8],
	linked: &mut Vec<&'static str>,
) -> io::Result<Option<addr2line::Loader>> {
	if !fs::metadata(path).if_there()?.is_some_and(|facts| facts.is_file()) {
		return Ok(None);
	}
	let Some(data) = fs::read(path).if_there()? else { return Ok(None) };
	let Ok(file) = object::File::parse(&*data) else { return Ok(None) };
	if !build_id.is_empty() && !matches!(file.build_id(), Ok(Some(id)) if id == build_id) {
		return Ok(None);
	}
	let defined = file.symbols().filter(|symbol| symbol.is_definition());
	let telling =
		|name: &str| TELLING.iter().find(|(_, one)| *one == name).map(|(layer, _)| *layer);
	linked.extend(defined.filter_map(|symbol| symbol.name().ok().and_then(telling)));
	match addr2line::Loader::new(path) {
		Ok(loader) => Ok(Some(loader)),
		Err(error) => error.downcast::<io::Error>().map_or(Ok(None), |error| Err(*error)),
	}
}

fn look_up(loader: &addr2line::Loader, return_address: u64, own: bool) -> Vec<Frame> {
	// The call is the instruction before the one it returns to.
	let address = return_address.saturating_sub(1);
	let mut frames = Vec::new();
	if let Ok(mut found) = loader.find_frames(address) {
		while let Ok(Some(frame)) = found.next() {
			frames.push(inlined(&frame, own));
		}
	}
	if frames.is_empty() {
		frames.push(Frame { at: Resolved::default(), own });
	}
	// The outermost has a symbol of its own; only it, of code that tells no lines.
	if let Some(last) = frames.last_mut()
		&& last.at.function.is_none()
		&& let Some(name) = loader.find_symbol(address)
	{
		last.own &= !begins(name, &FUNCTIONS);
		last.at.function = Some(addr2line::demangle_auto(name.into(), None).into());
	}
	frames
}

fn inlined<R: addr2line::gimli::Reader>(frame: &addr2line::Frame<R>, own: bool) -> Frame {
	let function = frame.function.as_ref();
	let raw = function.and_then(|f| f.raw_name().ok());
	let location = frame.location.as_ref();
	let source = location.and_then(|location| location.file);
	Frame {
		own: own
			&& !raw.is_some_and(|name| begins(&name, &FUNCTIONS))
			&& !source.is_some_and(|path| SOURCES.iter().any(|part| path.contains(part))),
		at: Resolved {
			function: function.and_then(|f| f.demangle().ok().map(|name| name.into_owned())),
			source: source.map(str::to_owned),
			line: location.and_then(|location| location.line),
		},
	}
}

fn begins(name: &str, with: &[&str]) -> bool {
	with.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
	use super::is_named;

	#[test]
	fn a_wrapper_is_named_by_file_folder_library_or_module() {
		for (path, name) in [
			("/home/me/io_helpers.c", "io_helpers.c"),
			("io_helpers.c", "io_helpers.c"),
			("/home/me/src/io/put.c", "io"),
			("/opt/lib/libput.so.3", "libput"),
			("/opt/lib/libput.so.3", "put"),
			("/home/me/tools/io.py", "tools.io"),
			("/home/me/tools/io/put.py", "tools.io"),
			("/home/me/tools.py", "tools"),
		] {
			assert!(is_named(path, name), "{path} {name}");
		}
		for (path, name) in [
			("/home/me/my_io_helpers.c", "io_helpers.c"),
			("/home/me/tools_io.py", "tools.io"),
			("/opt/lib/libputs.so", "libput"),
			("/home/me/audio/put.c", "io"),
		] {
			assert!(!is_named(path, name), "{path} {name}");
		}
	}
}
