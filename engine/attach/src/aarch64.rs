//! aarch64: a thread's registers, a call put into it, and the signal frame by which it goes back on its own.

use std::ffi::c_int;

use crate::frame::{Place, Saved, put, put_word};

/// Sets of registers besides the general ones that a signal frame holds: NT_PRFPREG, NT_ARM_SVE.
pub const EXTENDED: &[c_int] = &[2, 0x405];
/// Sets that forbid to put a call into a thread, if they are in use: NT_ARM_SSVE and NT_ARM_ZA, which no frame of ours
/// holds, and NT_ARM_GCS, shadow stacks.
pub const GUARDS: &[c_int] = &[0x40b, 0x40c, 0x410];
/// `mov x8, #139; svc #0`, as the vDSO has it for the end of handlers: rt_sigreturn.
pub const RETURNS: &[&[u8]] = &[&[0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4]];
/// The number of a system call is a set of its own here: registers are given after rt_sigreturn.
pub const RESTORES_AT_ONCE: bool = false;
/// System calls that allocator and loader make as they go: futex, sched_yield, brk, munmap, mremap, mmap, mprotect,
/// madvise.
pub const SHORT_CALLS: &[u64] = &[98, 124, 214, 215, 216, 222, 226, 233];
/// System calls that say EINTR to whoever is stopped in them, and may be made again: io_getevents, epoll_pwait,
/// rt_sigtimedwait, semtimedop, semop, accept, sendto, recvfrom, sendmsg, recvmsg, accept4, recvmmsg, io_pgetevents,
/// io_uring_enter, epoll_pwait2.
pub const MADE_AGAIN: &[u64] =
	&[4, 22, 137, 192, 193, 202, 206, 207, 211, 212, 242, 243, 292, 426, 441];

const SIGRETURN: u64 = 139;
const CONTEXT: usize = 128; // ucontext behind siginfo
const MASK: usize = CONTEXT + 40;
const MACHINE: usize = CONTEXT + 176; // sigcontext
const RECORDS: usize = MACHINE + 288;
const RECORDS_BYTES: usize = 4096;
const FPSIMD: u32 = 0x4650_8001;
const SVE: u32 = 0x5356_4501;

/// As `struct user_pt_regs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers(pub Vec<u64>);

const SP: usize = 31;
const PC: usize = 32;
pub const WORDS: usize = 34;

pub const STACK_NUMBER: u16 = 31;
pub const FRAME_NUMBER: u16 = 29;
pub const RETURN_NUMBER: u16 = 32;
pub const LINK_NUMBER: u16 = 30;
/// The bits above may hold a signature.
pub const ADDRESS_BITS: u64 = (1 << 48) - 1;

impl Registers {
	pub fn pc(&self) -> u64 {
		self.0[PC]
	}

	pub fn sp(&self) -> u64 {
		self.0[SP]
	}

	/// By DWARF's numbers, and where it is.
	pub fn unwound(&self) -> Vec<u64> {
		self.0[..=PC].to_vec()
	}

	/// The kernel tells it in another set: what an instruction before this one would have made.
	pub fn system_call(&self) -> Option<u64> {
		Some(self.0[8]).filter(|_| (self.0[0] as i64) < 0)
	}

	pub fn is_foreign(&self) -> bool {
		self.0[33] & 0x10 != 0 // of 32 bits
	}

	/// Did a system call end by EINTR that may be made again?
	pub fn was_cut_short(&self) -> bool {
		let call = self.system_call();
		self.0[0] as i64 == -i64::from(libc::EINTR)
			&& call.is_some_and(|number| MADE_AGAIN.contains(&number))
	}

	/// The kernel has put it back to its system call before it stopped. Of one that it ended by EINTR the first
	/// argument is lost, so that stays.
	pub fn resumed(&self, _cut_short: bool) -> Registers {
		self.clone()
	}

	/// About to call a function, which returns to `returns`.
	pub fn calling(
		&self,
		function: u64,
		arguments: [u64; 2],
		place: &Place,
		returns: u64,
	) -> Registers {
		let mut call = self.clone();
		call.0[0] = arguments[0];
		call.0[1] = arguments[1];
		call.0[30] = returns;
		call.0[SP] = place.frame;
		call.0[PC] = function;
		call.0[33] &= 0xf000_0000; // conditions, and no branch that has to land somewhere
		call
	}

	/// Does it enter the system call that ends such a call?
	pub fn is_returning(&self, place: &Place) -> bool {
		self.0[8] == SIGRETURN && self.0[SP] == place.frame
	}
}

/// SSVE: its flags say that there are registers. ZA: more than its head. GCS: a feature is on.
pub fn is_guarded(set: c_int, bytes: &[u8]) -> bool {
	match set {
		0x40b => bytes.get(12).is_some_and(|flags| flags & 1 == 1),
		0x40c => bytes.len() > 16,
		_ => bytes.iter().take(8).any(|&byte| byte != 0),
	}
}

/// Where a frame lies below a stack pointer, with room for `data` above it.
pub fn place(sp: u64, _extended: &[Vec<u8>], data: usize) -> Place {
	let below = sp - data as u64;
	Place { frame: (below - (RECORDS + RECORDS_BYTES) as u64) & !15, data: below }
}

/// What the kernel would have written for a signal that came at these registers.
pub fn frame(saved: &Saved<Registers>, _place: &Place, _returns: u64) -> Vec<u8> {
	let mut bytes = vec![0_u8; RECORDS + RECORDS_BYTES];
	put(&mut bytes, CONTEXT + 24, &0x7fff_u32.to_le_bytes()); // no such flags: the alternate stack stays
	put_word(&mut bytes, MASK, saved.mask);
	for (i, &register) in saved.registers.0.iter().enumerate() {
		put_word(&mut bytes, MACHINE + 8 + 8 * i, register);
	}
	let mut at = RECORDS;
	if let Some(set) = saved.extended.first() {
		put_fpsimd(&mut bytes[at..], set);
		at += 528;
	}
	if let Some(set) = saved.extended.get(1) {
		put_sve(&mut bytes[at..], set);
	}
	bytes
}

/// `struct fpsimd_context`; the set has its two control registers last.
fn put_fpsimd(record: &mut [u8], set: &[u8]) {
	put(record, 0, &FPSIMD.to_le_bytes());
	put(record, 4, &528_u32.to_le_bytes());
	put(record, 8, &set[512..520]);
	put(record, 16, &set[..512]);
}

/// `struct sve_context`: what lies behind the set's head of 16 bytes, if it holds more than FPSIMD's registers.
fn put_sve(record: &mut [u8], set: &[u8]) {
	let flags = set.get(12).copied().unwrap_or(0);
	if flags & 1 == 0 || set.len() > record.len() - 16 {
		return;
	}
	let length = set.len().next_multiple_of(16) as u32;
	put(record, 0, &SVE.to_le_bytes());
	put(record, 4, &length.to_le_bytes());
	put(record, 8, &set[8..10]);
	put(record, 16, &set[16..]);
}
