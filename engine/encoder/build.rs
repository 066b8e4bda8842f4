//! Compiles `runtime/core` and `program.c` into one program.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
	let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
	let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
	let runtime = root.join("../../runtime");
	let mut sources = vec![root.join("src/program.c")];
	let entries = fs::read_dir(runtime.join("core")).into_iter().flatten().flatten();
	sources.extend(entries.map(|entry| entry.path()).filter(|path| is_c(path)));
	println!("cargo:rerun-if-changed={}", runtime.join("core").display());
	println!("cargo:rerun-if-changed={}", root.join("src").display());
	let program = out.join("recorder");
	let mut command = cc::Build::new().opt_level(2).get_compiler().to_command();
	command.args(["-std=gnu11", "-D_GNU_SOURCE", "-pthread", "-I"]).arg(&runtime);
	command.args(&sources).arg("-o").arg(&program);
	match command.status() {
		Ok(status) if status.success() => {}
		Ok(_) => std::process::exit(1), // the compiler has said what is wrong
		Err(error) => {
			eprintln!("the C compiler cannot be run: {error}");
			std::process::exit(1);
		}
	}
	println!("cargo:rustc-env=RECORDER={}", program.display());
}

fn is_c(path: &Path) -> bool {
	path.extension().is_some_and(|extension| extension == "c")
}
