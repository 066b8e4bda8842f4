//! Compiles the forwarding client's way to munge, `forward/client/munge.c`, into this crate.

use std::env;
use std::path::PathBuf;

fn main() {
	let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
	let client = here.join("../../forward/client");
	for name in ["munge.c", "munge.h"] {
		println!("cargo:rerun-if-changed={}", client.join(name).display());
	}
	cc::Build::new()
		.file(client.join("munge.c"))
		.define("_GNU_SOURCE", None)
		.flag("-std=gnu11")
		.flag("-fvisibility=hidden")
		.opt_level(2)
		.compile("fathom_munge");
}
