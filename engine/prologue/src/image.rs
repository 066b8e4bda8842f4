//! A program's file: its functions by name and place, and their bytes.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use object::{
	Architecture, Object as _, ObjectSection as _, ObjectSegment as _, ObjectSymbol as _,
	SymbolKind,
};

use crate::PrologueError;

/// Addresses are the file's own: the loader adds the same to all.
#[derive(Debug, Default)]
pub struct Image {
	/// Where the first segment begins.
	pub begin: u64,
	/// Functions by address: bytes, and all names.
	pub functions: BTreeMap<u64, Function>,
	/// Global functions and variables, by name.
	pub symbols: BTreeMap<String, u64>,
	/// Names that others must bring.
	pub imports: HashSet<String>,
}

#[derive(Debug, Default, Clone)]
pub struct Function {
	pub bytes: Vec<u8>,
	pub names: Vec<String>,
}

impl Image {
	/// Reads a file that may be damaged: what has no bytes is no function.
	pub fn read(path: &Path) -> Result<Image, PrologueError> {
		let wrong = |error: String| PrologueError::File(path.display().to_string(), error);
		let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
		let file = object::File::parse(&*bytes).map_err(|error| wrong(error.to_string()))?;
		if file.architecture() != Architecture::X86_64 || !file.is_64() {
			return Err(PrologueError::Machine(format!("{:?}", file.architecture())));
		}
		let begin = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
		let mut image = Image { begin, ..Image::default() };
		for symbol in file.symbols().chain(file.dynamic_symbols()) {
			if let Ok(name) = symbol.name()
				&& !name.is_empty()
			{
				image.take(&file, &symbol, name.split('@').next().unwrap_or(name));
			}
		}
		Ok(image)
	}

	fn take(&mut self, file: &object::File, symbol: &object::Symbol, name: &str) {
		if symbol.is_undefined() {
			self.imports.insert(name.to_owned());
			return;
		}
		if symbol.is_global() {
			self.symbols.entry(name.to_owned()).or_insert(symbol.address());
		}
		if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
			return;
		}
		let section = symbol.section_index().and_then(|at| file.section_by_index(at).ok());
		let bytes = section
			.and_then(|section| section.data_range(symbol.address(), symbol.size()).ok().flatten());
		let Some(bytes) = bytes else { return };
		let function = self.functions.entry(symbol.address()).or_default();
		if bytes.len() > function.bytes.len() {
			function.bytes = bytes.to_vec();
		}
		if !function.names.iter().any(|known| known == name) {
			function.names.push(name.to_owned());
		}
	}
}
