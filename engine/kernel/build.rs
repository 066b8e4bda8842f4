//! Compiles bpf/trace.bpf.c for the kernel. Without clang or libbpf's headers the engine is built all the same, says so,
//! and `fathom run --kernel` says it again.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPILERS: [&str; 4] = ["clang", "clang-19", "clang-16", "clang-14"];

/// The kernel's own headers lie in a folder of the machine's kind, where clang for BPF does not look.
fn headers() -> Option<PathBuf> {
	let arch = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
	let folder = PathBuf::from(format!("/usr/include/{arch}-linux-gnu"));
	folder.is_dir().then_some(folder)
}

fn compile(compiler: &str, source: &Path, object: &Path) -> Result<(), String> {
	let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
	let arch = if arch == "aarch64" { "arm64" } else { "x86" };
	let mut command = Command::new(compiler);
	command.arg(format!("-D__TARGET_ARCH_{arch}"));
	command.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror", "-c"]);
	if let Some(folder) = headers() {
		command.arg("-I").arg(folder);
	}
	let output = command.arg(source).arg("-o").arg(object).output();
	let output = output.map_err(|error| format!("{compiler}: {error}"))?;
	match output.status.success() {
		true => Ok(()),
		false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
	}
}

fn main() {
	let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("bpf");
	let object = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("trace.bpf.o");
	for name in ["trace.bpf.c", "calls.h", "rings.h", "kernel.h"] {
		println!("cargo:rerun-if-changed={}", here.join(name).display());
	}
	let source = here.join("trace.bpf.c");
	let found = COMPILERS.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
	let compiled = match found {
		Some(compiler) => compile(compiler, &source, &object),
		None => Err("no clang".to_owned()),
	};
	if let Err(why) = compiled {
		// It may be installed later.
		println!("cargo:rerun-if-changed=/usr/bin/clang");
		let of_interest = why.lines().find(|line| line.contains("error")).unwrap_or(&why);
		println!(
			"cargo:warning=built without `fathom run --kernel`: {of_interest}; Debian's packages clang, libbpf-dev"
		);
		fs::write(&object, b"").unwrap_or_else(|error| panic!("{}: {error}", object.display()));
	}
}
