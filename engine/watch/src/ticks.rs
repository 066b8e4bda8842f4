//! The counter that a program's clock readings count in, read here and now.
#![allow(unsafe_code)]

/// `None`: this processor has none that we know.
#[cfg(target_arch = "x86_64")]
pub fn now() -> Option<u64> {
	// SAFETY: reads a register; every x86-64 processor has it.
	Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(target_arch = "aarch64")]
pub fn now() -> Option<u64> {
	let value: u64;
	// SAFETY: reads a register that every program may read; touches no memory.
	unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack)) };
	Some(value)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn now() -> Option<u64> {
	None
}
