//! May programs be loaded here? Asked before one is, so that the answer names what is missing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::KernelError;

pub const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The first namespace of processes has this number in every kernel.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";
/// Bits of capabilities.
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

pub fn check() -> Result<(), KernelError> {
	let path = Path::new("/proc/self/status");
	let status = fs::read_to_string(path).map_err(|error| KernelError::file(path, &error))?;
	if !may_load(&status) {
		let own = std::env::current_exe().unwrap_or_default();
		return Err(KernelError::NoRights(own.display().to_string()));
	}
	if !Path::new(TYPES).exists() {
		return Err(KernelError::NoTypes(TYPES));
	}
	// Where it cannot be looked at, the kernel says it when it is asked to load.
	let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
	if lockdown.contains("[confidentiality]") {
		return Err(KernelError::LockedDown);
	}
	let path = Path::new("/proc/self/ns/pid");
	let namespace = fs::read_link(path).map_err(|error| KernelError::file(path, &error))?;
	if namespace == Path::new(FIRST_NAMESPACE) { Ok(()) } else { Err(KernelError::Container) }
}

/// With capabilities of its file anybody may start the engine: it tells him of his own processes only. Root's are all.
pub fn check_owner(process: u32) -> Result<(), KernelError> {
	let asks = rustix::process::getuid();
	match fs::metadata(format!("/proc/{process}")) {
		Ok(facts) if asks.is_root() || facts.uid() == asks.as_raw() => Ok(()),
		_ => Err(KernelError::NotYours(process)),
	}
}

fn may_load(status: &str) -> bool {
	let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
	let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
	let has = |bit: u32| bits >> bit & 1 != 0;
	has(SYS_ADMIN) || has(BPF) && has(PERFMON)
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn two_capabilities_or_all() {
		for (line, allowed) in [
			("CapEff:\t0000000000000000", false),
			("CapEff:\t0000008000000000", false),
			("CapEff:\t0000004000000000", false),
			("CapEff:\t000000c000000000", true),
			("CapEff:\t0000000000200000", true),
			("CapPrm:\t000000c000000000", false),
			("CapEff:\tx", false),
		] {
			assert_eq!(may_load(&format!("Name:\tx\n{line}\n")), allowed, "{line}");
		}
	}
}
