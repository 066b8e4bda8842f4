//! Call sites: from an offset in a module to function, file and line.

use std::collections::HashMap;
use std::path::Path;

use object::Object as _;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteKey {
	pub module: String,
	pub build_id: Vec<u8>,
	pub offset: u64,
	pub entry: String,
}

#[derive(Debug, Clone, Default)]
pub struct Resolved {
	pub function: Option<String>,
	pub source: Option<String>,
	pub line: Option<u32>,
}

/// All sites of a run, once each.
#[derive(Debug, Default)]
pub struct Sites {
	pub rows: Vec<SiteKey>,
	numbers: HashMap<SiteKey, u32>,
}

impl Sites {
	pub fn number(&mut self, key: SiteKey) -> u32 {
		if let Some(&number) = self.numbers.get(&key) {
			return number;
		}
		let number = self.rows.len() as u32;
		self.numbers.insert(key.clone(), number);
		self.rows.push(key);
		number
	}

	/// Looks every site up; modules that are gone, or are not the ones that ran, give nothing.
	pub fn resolve(&self) -> Vec<Resolved> {
		let mut by_module: Vec<usize> = (0..self.rows.len()).collect();
		by_module.sort_by_key(|&index| (&self.rows[index].module, &self.rows[index].build_id));
		let mut resolver = Resolver::default();
		let mut resolved = vec![Resolved::default(); self.rows.len()];
		for index in by_module {
			resolved[index] = resolver.resolve(&self.rows[index]);
		}
		resolved
	}
}

/// Looks sites up one by one; keeps the modules of the last ones.
#[derive(Default)]
pub struct Resolver {
	modules: HashMap<(String, Vec<u8>), Option<addr2line::Loader>>,
}

impl Resolver {
	const MODULES: usize = 8;

	pub fn resolve(&mut self, site: &SiteKey) -> Resolved {
		let key = (site.module.clone(), site.build_id.clone());
		if self.modules.len() >= Self::MODULES && !self.modules.contains_key(&key) {
			self.modules.clear();
		}
		let loader = self.modules.entry(key).or_insert_with_key(|(module, build_id)| {
			let path = Path::new(module);
			same_build(path, build_id).then(|| addr2line::Loader::new(path).ok()).flatten()
		});
		loader.as_ref().map_or_else(Resolved::default, |loader| look_up(loader, site.offset))
	}
}

/// The file there now is the one that ran.
fn same_build(path: &Path, build_id: &[u8]) -> bool {
	if build_id.is_empty() {
		return path.is_file();
	}
	let Ok(data) = std::fs::read(path) else { return false };
	let Ok(file) = object::File::parse(&*data) else { return false };
	matches!(file.build_id(), Ok(Some(id)) if id == build_id)
}

fn look_up(loader: &addr2line::Loader, return_address: u64) -> Resolved {
	// The call is the instruction before the one it returns to.
	let address = return_address.saturating_sub(1);
	let mut resolved = Resolved::default();
	if let Ok(mut frames) = loader.find_frames(address)
		&& let Ok(Some(frame)) = frames.next()
	{
		let name = frame.function.and_then(|f| f.demangle().ok().map(|name| name.into_owned()));
		resolved.function = name;
		if let Some(location) = frame.location {
			resolved.source = location.file.map(str::to_owned);
			resolved.line = location.line;
		}
	}
	if resolved.function.is_none() {
		resolved.function = loader
			.find_symbol(address)
			.map(|name| addr2line::demangle_auto(name.into(), None).into());
	}
	resolved
}
