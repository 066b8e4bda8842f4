//! Compiles the runtime's encoder, `runtime/core`, and `record.c` into this crate.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
	let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
	let runtime = here.join("../../runtime");
	let core = runtime.join("core");
	let entries = fs::read_dir(&core).into_iter().flatten().flatten();
	let sources: Vec<PathBuf> =
		entries.map(|entry| entry.path()).filter(|path| is_c(path)).collect();
	println!("cargo:rerun-if-changed={}", core.display());
	println!("cargo:rerun-if-changed=src");
	cc::Build::new()
		.files(sources)
		.file(here.join("src/record.c"))
		.file(here.join("src/past_rows.c"))
		.include(&runtime)
		.define("_GNU_SOURCE", None)
		.flag("-std=gnu11")
		.flag("-fvisibility=hidden")
		.opt_level(2)
		.compile("fathom_record");
}

fn is_c(path: &Path) -> bool {
	path.extension().is_some_and(|extension| extension == "c")
}
