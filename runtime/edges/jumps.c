/* longjmp leaves calls without returning through their wrappers: those below the frame that is jumped to
 * end here. */
#include <setjmp.h>
#include <stdint.h>

#include "core/process.h"
#include "edges/hooks.h"

/* The stack pointer that setjmp kept, as libc has mangled it; NULL: not known on this architecture. */
static const void *target_of(const struct __jmp_buf_tag *place)
{
#if defined(__x86_64__)
	uint64_t mangled = (uint64_t)place->__jmpbuf[6], guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return (const void *)(((mangled >> 17) | (mangled << 47)) ^ guard);
#else
	(void)place;
	return NULL;
#endif
}

_Noreturn static void jump(void *original, struct __jmp_buf_tag *place, int value)
{
	process_jumps(target_of(place));
	((void (*)(struct __jmp_buf_tag *, int))original)(place, value);
	__builtin_unreachable();
}

_Noreturn static void hook_longjmp(struct __jmp_buf_tag *place, int value)
{
	jump(originals.longjmp, place, value);
}

_Noreturn static void hook_bare_longjmp(struct __jmp_buf_tag *place, int value)
{
	jump(originals.bare_longjmp, place, value);
}

_Noreturn static void hook_siglongjmp(struct __jmp_buf_tag *place, int value)
{
	jump(originals.siglongjmp, place, value);
}

_Noreturn static void hook_checked_longjmp(struct __jmp_buf_tag *place, int value)
{
	jump(originals.checked_longjmp, place, value);
}

const struct hook jump_hooks[] = {
	{"longjmp", 1, {hook_longjmp}, {&originals.longjmp}},
	{"_longjmp", 1, {hook_bare_longjmp}, {&originals.bare_longjmp}},
	{"siglongjmp", 1, {hook_siglongjmp}, {&originals.siglongjmp}},
	{"__longjmp_chk", 1, {hook_checked_longjmp}, {&originals.checked_longjmp}},
};
const uint32_t jump_hooks_count = sizeof(jump_hooks) / sizeof(jump_hooks[0]);
