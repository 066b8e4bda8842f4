//! What is looked for, a line each: `name GROUP FUNCTION`, `inner GROUP PREFIX`, `symbol PREFIX`.

use crate::PrologueError;

/// Names of the functions to be seen, by library; the first of several names of one function counts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Wanted {
	pub groups: Vec<Group>,
	/// Symbols that begin so are listed, for handlers that ask a library for its functions.
	pub symbols: Vec<String>,
}

/// A library. What it calls of itself is no event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Group {
	pub name: String,
	pub functions: Vec<String>,
	/// Functions that begin so are its own, too.
	pub inner: Vec<String>,
}

impl Wanted {
	fn group(&mut self, name: &str) -> &mut Group {
		let at = self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
			self.groups.push(Group { name: name.to_owned(), ..Group::default() });
			self.groups.len() - 1
		});
		&mut self.groups[at]
	}
}

/// Reads the lines.
pub fn read(text: &str) -> Result<Wanted, PrologueError> {
	let mut wanted = Wanted::default();
	for (number, line) in text.lines().enumerate() {
		match *line.split_ascii_whitespace().collect::<Vec<_>>() {
			["name", group, function] => wanted.group(group).functions.push(function.to_owned()),
			["inner", group, prefix] => wanted.group(group).inner.push(prefix.to_owned()),
			["symbol", prefix] => wanted.symbols.push(prefix.to_owned()),
			[] => {}
			_ => {
				return Err(PrologueError::Wanted(number + 1, "is neither name, inner nor symbol"));
			}
		}
	}
	Ok(wanted)
}
