//! x86-64: a thread's registers, a call put into it, and the signal frame by which it goes back on its own.

use std::ffi::c_int;

use crate::frame::{Place, Saved, put, put_word};

/// Sets of registers besides the general ones that a signal frame holds: NT_X86_XSTATE.
pub const EXTENDED: &[c_int] = &[0x202];
/// Sets that forbid to put a call into a thread, if they are in use: NT_X86_SHSTK, shadow stacks.
pub const GUARDS: &[c_int] = &[0x204];
/// `mov $15, %rax; syscall`, as libraries have it for the end of handlers: rt_sigreturn.
pub const RETURNS: &[&[u8]] =
	&[&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05], &[0xb8, 15, 0, 0, 0, 0x0f, 0x05]];
/// A thread that is about to end a call may be given its registers at once.
pub const RESTORES_AT_ONCE: bool = true;
/// System calls that allocator and loader make as they go: mmap, mprotect, munmap, brk, sched_yield, mremap, madvise,
/// futex.
pub const SHORT_CALLS: &[u64] = &[9, 10, 11, 12, 24, 25, 28, 202];
/// System calls that say EINTR to whoever is stopped in them, and may be made again: accept, sendto, recvfrom, sendmsg,
/// recvmsg, semop, rt_sigtimedwait, io_getevents, semtimedop, epoll_wait, epoll_pwait, accept4, recvmmsg,
/// io_pgetevents, io_uring_enter, epoll_pwait2.
pub const MADE_AGAIN: &[u64] =
	&[43, 44, 45, 46, 47, 65, 128, 208, 220, 232, 281, 288, 299, 333, 426, 441];

const SIGRETURN: u64 = 15;
const RESTART: u64 = 219;
const CODE_OF_64_BITS: u64 = 0x33;
const RED_ZONE: u64 = 128;
/// Of the frame: the address that a call returns to, then ucontext, then what XSAVE wrote.
const CONTEXT: u64 = 8;
const CONTEXT_BYTES: usize = 304;
const XSAVE: u64 = 8 + 320;
/// Direction, single step, alignment check: no function expects them.
const FLAGS: u64 = 0x400 | 0x100 | 0x4_0000;
/// Of what XSAVE writes: where the kernel keeps words of its own; which parts are in use.
const SOFTWARE: usize = 464;
const IN_USE: usize = 512;
/// Tiles of AMX: 8 KiB that a process has to ask for.
const TILES: u64 = 1 << 18;

/// As `struct user_regs_struct`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers(pub Vec<u64>);

const R15: usize = 0;
const R14: usize = 1;
const R13: usize = 2;
const R12: usize = 3;
const RBP: usize = 4;
const RBX: usize = 5;
const R11: usize = 6;
const R10: usize = 7;
const R9: usize = 8;
const R8: usize = 9;
const RAX: usize = 10;
const RCX: usize = 11;
const RDX: usize = 12;
const RSI: usize = 13;
const RDI: usize = 14;
const ORIG_RAX: usize = 15;
const RIP: usize = 16;
const CS: usize = 17;
const FLAGS_REGISTER: usize = 18;
const RSP: usize = 19;
const SS: usize = 20;
pub const WORDS: usize = 27;

/// Numbers of DWARF, in the order of the psABI; the return address comes last.
const UNWOUND: [usize; 17] =
	[RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP];
pub const STACK_NUMBER: u16 = 7;
pub const FRAME_NUMBER: u16 = 6;
pub const RETURN_NUMBER: u16 = 16;
pub const LINK_NUMBER: u16 = 16;
pub const ADDRESS_BITS: u64 = u64::MAX;

impl Registers {
	pub fn pc(&self) -> u64 {
		self.0[RIP]
	}

	pub fn sp(&self) -> u64 {
		self.0[RSP]
	}

	/// By DWARF's numbers.
	pub fn unwound(&self) -> Vec<u64> {
		UNWOUND.iter().map(|&at| self.0[at]).collect()
	}

	/// The system call that it is in.
	pub fn system_call(&self) -> Option<u64> {
		Some(self.0[ORIG_RAX]).filter(|&number| number as i64 >= 0)
	}

	/// Does it run code of 32 bits?
	pub fn is_foreign(&self) -> bool {
		self.0[CS] != CODE_OF_64_BITS
	}

	/// Did a system call end by EINTR that may be made again?
	pub fn was_cut_short(&self) -> bool {
		let call = self.system_call();
		self.0[RAX] as i64 == -i64::from(libc::EINTR)
			&& call.is_some_and(|number| MADE_AGAIN.contains(&number))
	}

	/// As the kernel would let it go on: at the system call that was interrupted.
	pub fn resumed(&self, cut_short: bool) -> Registers {
		let mut after = self.clone();
		let Some(number) = self.system_call() else { return after };
		let again = match self.0[RAX] as i64 {
			-514..=-512 => Some(number),
			-516 => Some(RESTART),
			_ => Some(number).filter(|_| cut_short),
		};
		if let Some(again) = again {
			after.0[RAX] = again;
			after.0[RIP] -= 2;
		}
		after.0[ORIG_RAX] = u64::MAX;
		after
	}

	/// About to call a function, which returns to what the frame says.
	pub fn calling(
		&self,
		function: u64,
		arguments: [u64; 2],
		place: &Place,
		_returns: u64,
	) -> Registers {
		let mut call = self.clone();
		call.0[RIP] = function;
		call.0[RDI] = arguments[0];
		call.0[RSI] = arguments[1];
		call.0[RSP] = place.frame;
		call.0[RAX] = 0;
		call.0[ORIG_RAX] = u64::MAX;
		call.0[FLAGS_REGISTER] &= !FLAGS;
		call
	}

	/// Does it enter the system call that ends such a call?
	pub fn is_returning(&self, place: &Place) -> bool {
		self.0[ORIG_RAX] == SIGRETURN
			&& self.0[RAX] as i64 == -i64::from(libc::ENOSYS)
			&& self.0[RSP] == place.frame + CONTEXT
	}
}

/// The kernel has this set for threads that use it only.
pub fn is_guarded(_set: c_int, _bytes: &[u8]) -> bool {
	true
}

/// Where a frame lies below a stack pointer, with room for `data` above it.
pub fn place(sp: u64, extended: &[Vec<u8>], data: usize) -> Place {
	let below = sp - RED_ZONE - data as u64;
	let xsave: usize = extended.iter().map(|set| set.len() + 4).sum();
	// What XSAVE wrote begins at a multiple of 64, as the processor wants it.
	let base = (below - xsave as u64) & !63;
	Place { frame: base - XSAVE, data: below }
}

/// What the kernel would have written for a signal that came at these registers.
pub fn frame(saved: &Saved<Registers>, place: &Place, returns: u64) -> Vec<u8> {
	let set = saved.extended.first().map_or(&[][..], Vec::as_slice);
	let mut bytes = vec![0_u8; XSAVE as usize];
	put_word(&mut bytes, 0, returns);
	put_context(&mut bytes[CONTEXT as usize..][..CONTEXT_BYTES], saved, place.frame + XSAVE);
	put_xsave(&mut bytes, set);
	bytes
}

fn put_context(context: &mut [u8], saved: &Saved<Registers>, xsave: u64) {
	const ORDER: [usize; 18] = [
		R8,
		R9,
		R10,
		R11,
		R12,
		R13,
		R14,
		R15,
		RDI,
		RSI,
		RBP,
		RBX,
		RDX,
		RAX,
		RCX,
		RSP,
		RIP,
		FLAGS_REGISTER,
	];
	put_word(context, 0, 7); // XSAVE's format, SS is valid, and to be taken as it is
	put(context, 24, &0x7fff_u32.to_le_bytes()); // no such flags: the alternate stack stays as it is
	for (i, register) in ORDER.into_iter().enumerate() {
		put_word(context, 40 + 8 * i, saved.registers.0[register]);
	}
	put(context, 184, &(saved.registers.0[CS] as u16).to_le_bytes());
	put(context, 190, &(saved.registers.0[SS] as u16).to_le_bytes());
	put_word(context, 224, xsave);
	put_word(context, 296, saved.mask);
}

/// The kernel's words say how much there is: no more than what it keeps for this process, or it takes the first 512
/// bytes only.
fn put_xsave(bytes: &mut Vec<u8>, set: &[u8]) {
	let word = |at: usize| {
		set.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
	};
	let in_use = word(IN_USE);
	let parts = word(SOFTWARE) & !(TILES & !in_use);
	let length = xsave_bytes(parts).min(set.len());
	let begin = bytes.len();
	bytes.extend_from_slice(&set[..length]);
	bytes.extend_from_slice(&0x4650_5845_u32.to_le_bytes());
	let software = &mut bytes[begin + SOFTWARE..][..48];
	software.fill(0);
	put(software, 0, &0x4650_5853_u32.to_le_bytes());
	put(software, 4, &(length as u32 + 4).to_le_bytes());
	put_word(software, 8, parts);
	put(software, 16, &(length as u32).to_le_bytes());
}

#[cfg(target_arch = "x86_64")]
use crate::ptrace::xsave_bytes;
#[cfg(not(target_arch = "x86_64"))]
fn xsave_bytes(_parts: u64) -> usize {
	usize::MAX
}
