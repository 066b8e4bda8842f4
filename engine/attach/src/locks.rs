//! Which functions hold locks that a call needs: of allocators, the loader, threads.

/// A C library (and its threads, in older ones), and what lies in all processes.
pub const C_LIBRARIES: &[&str] = &["libc.so", "libc-2", "libpthread", "[vdso]"];

/// Functions that hold a lock, or change what it guards, all the time that they run.
pub const HOLDING: &[&str] = &[
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"free",
	"cfree",
	"memalign",
	"posix_memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"malloc_trim",
	"mallopt",
	"malloc_info",
	"dl_iterate_phdr",
	"fork",
	"vfork",
	"_Fork",
	"libc_fork",
	"posix_spawn",
	"posix_spawnp",
];
/// … and those that hold none while they wait.
const BRIEFLY_HOLDING: &[&str] = &[
	"pthread_create",
	"pthread_join",
	"pthread_tryjoin_np",
	"pthread_timedjoin_np",
	"pthread_clockjoin_np",
	"pthread_exit",
	"pthread_detach",
	"pthread_atfork",
	"register_atfork",
	"cxa_atexit",
	"cxa_thread_atexit_impl",
	"cxa_finalize",
	"atexit",
	"on_exit",
	"at_quick_exit",
	"exit",
	"quick_exit",
	"thrd_create",
	"thrd_exit",
];
/// What allocators and C libraries put before such names.
const PREFIXES: &[&str] = &["__libc_", "__", "je_", "tc_", "mi_"];

pub fn bare(name: &str) -> &str {
	PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// Is it a name that matters here?
pub fn is_wanted(name: &str) -> bool {
	HOLDING.contains(&bare(name)) || BRIEFLY_HOLDING.contains(&bare(name))
}

#[cfg(test)]
mod tests {
	use super::*;

	#[test]
	fn names_of_allocators() {
		for name in ["malloc", "__libc_malloc", "je_free", "tc_calloc", "__cxa_atexit", "_Fork"] {
			assert!(is_wanted(name), "{name}");
		}
		for name in ["mallocator", "main", "write", "free_list", ""] {
			assert!(!is_wanted(name), "{name}");
		}
	}
}
