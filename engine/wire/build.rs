//! `forward/protocol.toml` as Rust constants, a module per section.

use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
	let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
	let table = root.join("../../forward/protocol.toml");
	println!("cargo:rerun-if-changed={}", table.display());
	let sections: toml::Table = fs::read_to_string(&table)?.parse()?;
	let types = sections.get("type").and_then(toml::Value::as_table).ok_or("no [type]")?;
	let mut out = String::new();
	for (section, numbers) in sections.iter().filter(|(name, _)| *name != "type") {
		let kind =
			types.get(section).and_then(toml::Value::as_str).ok_or("a section has no type")?;
		writeln!(out, "/// Section `{section}` of forward/protocol.toml.\npub mod {section} {{")?;
		for (name, number) in numbers.as_table().into_iter().flatten() {
			let number = number.as_integer().ok_or("not a number")?;
			writeln!(out, "\tpub const {}: {kind} = {number};", name.to_uppercase())?;
		}
		writeln!(out, "}}")?;
	}
	fs::write(PathBuf::from(env::var("OUT_DIR")?).join("protocol.rs"), out)?;
	Ok(())
}
