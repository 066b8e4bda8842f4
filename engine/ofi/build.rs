//! Compiles the forwarding client's transport over libfabric, `forward/client/ofi*.c`, into this crate.

use std::env;
use std::path::PathBuf;

fn main() {
	let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
	let client = here.join("../../forward/client");
	for name in ["ofi.c", "ofi_fabric.c", "ofi.h", "ofi_link.h", "host.h"] {
		println!("cargo:rerun-if-changed={}", client.join(name).display());
	}
	cc::Build::new()
		.files([client.join("ofi.c"), client.join("ofi_fabric.c")])
		.define("_GNU_SOURCE", None)
		.flag("-std=gnu11")
		.flag("-fvisibility=hidden")
		.opt_level(2)
		.compile("fathom_ofi");
}
