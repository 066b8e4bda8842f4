// All vector registers hold a pattern over many short sleeps, in which they may be looked at and put back by a tracer.
#ifndef REGISTERS_H
#define REGISTERS_H

#include <cstdint>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

// Loads, sleeps a hundred times, stores: in one piece, so that no compiler uses the registers meanwhile. Returns how many
// sleeps failed. The general registers that a system call keeps are summed on the way.
#define HOLD(load, store)                                                                          \
	asm volatile(                                                                              \
		load                                                                               \
		"mov $100, %%r12\n\t xor %%r13, %%r13\n\t"                                         \
		"mov $0x1122334455667788, %%r14\n\t mov %%r14, %%r15\n\t"                          \
		"1: mov $35, %%eax\n\t mov %[time], %%rdi\n\t xor %%esi, %%esi\n\t syscall\n\t"    \
		"test %%rax, %%rax\n\t setne %%al\n\t movzbq %%al, %%rax\n\t add %%rax, %%r13\n\t" \
		"cmp %%r14, %%r15\n\t setne %%al\n\t movzbq %%al, %%rax\n\t add %%rax, %%r13\n\t"  \
		"dec %%r12\n\t jnz 1b\n\t" store "mov %%r13, %[wrong]\n\t"                         \
		: [wrong] "=&r"(wrong)                                                             \
		: [time] "r"(&time), [from] "r"(from), [to] "r"(to)                                \
		: "rax", "rcx", "r11", "rdi", "rsi", "r12", "r13", "r14", "r15", "memory", "cc")

#define LOAD(move, width, bytes, r)  move " " #bytes "*" #r "(%[from]), %%" width "mm" #r "\n\t"
#define STORE(move, width, bytes, r) move " %%" width "mm" #r ", " #bytes "*" #r "(%[to])\n\t"
#define SIXTEEN(what, m, w, b)                                                                     \
	what(m, w, b, 0) what(m, w, b, 1) what(m, w, b, 2) what(m, w, b, 3) what(m, w, b, 4)       \
		what(m, w, b, 5) what(m, w, b, 6) what(m, w, b, 7) what(m, w, b, 8)                \
			what(m, w, b, 9) what(m, w, b, 10) what(m, w, b, 11) what(m, w, b, 12)     \
				what(m, w, b, 13) what(m, w, b, 14) what(m, w, b, 15)
#define MORE(what, m, w, b)                                                                        \
	what(m, w, b, 16) what(m, w, b, 17) what(m, w, b, 18) what(m, w, b, 19) what(m, w, b, 20)  \
		what(m, w, b, 21) what(m, w, b, 22) what(m, w, b, 23) what(m, w, b, 24)            \
			what(m, w, b, 25) what(m, w, b, 26) what(m, w, b, 27) what(m, w, b, 28)    \
				what(m, w, b, 29) what(m, w, b, 30) what(m, w, b, 31)

// AMX's tiles: 8 KiB that a process has to ask for.
static bool tiles_hold(const timespec &time)
{
	static const bool allowed = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
	alignas(64) static unsigned char layout[64] = {1};
	alignas(64) unsigned char from[1024], to[1024] = {};
	const uint64_t stride = 64;

	if (!allowed)
		return true;
	layout[16] = 64; // bytes a row of tile 0
	layout[48] = 16; // its rows
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + 1);
	asm volatile("ldtilecfg (%0)" ::"r"(layout) : "memory");
	asm volatile("tileloadd (%0, %1, 1), %%tmm0" ::"r"(from), "r"(stride) : "memory");
	for (int i = 0; i < 100; i++)
		syscall(SYS_nanosleep, &time, nullptr);
	asm volatile("tilestored %%tmm0, (%0, %1, 1)\n\ttilerelease" ::"r"(to), "r"(stride)
		     : "memory");
	return memcmp(from, to, sizeof(from)) == 0;
}

// `interruptible`: the sleeps may fail.
static bool registers_hold(bool interruptible)
{
	alignas(64) unsigned char from[2048], to[2048] = {};
	const timespec time{0, 20000};
	size_t bytes = 256;
	uint64_t wrong = 0;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 31 + i / 256);
	if (__builtin_cpu_supports("avx512f")) {
		HOLD(SIXTEEN(LOAD, "vmovdqu64", "z", 64) MORE(LOAD, "vmovdqu64", "z", 64),
		     SIXTEEN(STORE, "vmovdqu64", "z", 64) MORE(STORE, "vmovdqu64", "z", 64));
		bytes = 2048;
	} else if (__builtin_cpu_supports("avx")) {
		HOLD(SIXTEEN(LOAD, "vmovdqu", "y", 32), SIXTEEN(STORE, "vmovdqu", "y", 32));
		bytes = 512;
	} else {
		HOLD(SIXTEEN(LOAD, "movdqu", "x", 16), SIXTEEN(STORE, "movdqu", "x", 16));
	}
	return (interruptible || wrong == 0) && memcmp(from, to, bytes) == 0 && tiles_hold(time);
}

#else // its floating-point registers are in the compiler's hands

static bool registers_hold(bool interruptible)
{
	volatile double in_register = 1.25;
	const timespec time{0, 20000};

	return (nanosleep(&time, nullptr) == 0 || interruptible) && in_register == 1.25;
}

#endif
#endif
