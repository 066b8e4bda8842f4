/* Hooks that must not leave a frame between the caller and the real function: dlsym looks at its
 * return address, fork and vfork return twice. Each does its part and jumps on, with all
 * arguments as they came. */
#include <sys/syscall.h>

#include "edges/hooks.h"

	.section .note.GNU-stack,"",%progbits
	.text
	.hidden originals
#ifndef FATHOM_LINKED
	.hidden loader_dlsym
	.hidden loader_dlvsym
#endif
	.hidden before_fork
	.hidden before_vfork
	.hidden before_command
	.hidden before_spawn
	.hidden process_vfork_child
	.hidden process_vfork_parent

.macro BEGIN name
	.globl \name
	.hidden \name
	.type \name, %function
	.p2align 4
\name:
	.cfi_startproc
.endm

.macro END name
	.cfi_endproc
	.size \name, . - \name
.endm

#if defined(__x86_64__)

.macro KEEP_ONE register
	push \register
	.cfi_adjust_cfa_offset 8
.endm

.macro BACK_ONE register
	pop \register
	.cfi_adjust_cfa_offset -8
.endm

.macro DROP bytes
	add $\bytes, %rsp
	.cfi_adjust_cfa_offset -\bytes
.endm

.macro ROOM bytes
	sub $\bytes, %rsp
	.cfi_adjust_cfa_offset \bytes
.endm

/* Calls `function` with the arguments as they came, then jumps to the original. */
.macro BEFORE name, function, original
	BEGIN \name
	endbr64
	KEEP_ONE %rdi
	KEEP_ONE %rsi
	KEEP_ONE %rdx
	KEEP_ONE %rcx
	KEEP_ONE %r8
	KEEP_ONE %r9
	KEEP_ONE %rax
	call \function
	BACK_ONE %rax
	BACK_ONE %r9
	BACK_ONE %r8
	BACK_ONE %rcx
	BACK_ONE %rdx
	BACK_ONE %rsi
	BACK_ONE %rdi
	jmp *originals+\original(%rip)
	END \name
.endm

/* `answer` takes the call's arguments and, last, its return address; NULL: the original answers. */
.macro ANSWER name, function, last, original
	BEGIN \name
	endbr64
	KEEP_ONE %rdi
	KEEP_ONE %rsi
	KEEP_ONE %rdx
	mov 24(%rsp), \last
	call \function
	BACK_ONE %rdx
	BACK_ONE %rsi
	BACK_ONE %rdi
	test %rax, %rax
	jz 1f
	ret
1:	jmp *originals+\original(%rip)
	END \name
.endm

/* The child runs on this stack and overwrites the return address, so it waits in a register. */
.macro VFORK name, original
	BEGIN \name
	endbr64
	ROOM 8
	mov originals+\original(%rip), %rdi
	call before_vfork
	DROP 8
	test %al, %al
	jnz 1f
	jmp *originals+\original(%rip)
1:	BACK_ONE %rdi
	.cfi_register %rip, %rdi
	mov $SYS_vfork, %eax
	syscall
	KEEP_ONE %rdi
	.cfi_rel_offset %rip, 0
	test %rax, %rax
	js 3f
	jnz 2f
	ROOM 8
	call process_vfork_child
	DROP 8
	xor %eax, %eax
	ret
2:	KEEP_ONE %rax
	call process_vfork_parent
	BACK_ONE %rax
	ret
3:	neg %rax
	KEEP_ONE %rax
	call __errno_location@PLT
	BACK_ONE %rcx
	mov %ecx, (%rax)
	mov $-1, %rax
	ret
	END \name
.endm

#ifndef FATHOM_LINKED /* a static program has no loader to ask */
ANSWER hook_dlsym, loader_dlsym, %rdx, ORIGINAL_DLSYM
ANSWER hook_dlvsym, loader_dlvsym, %rcx, ORIGINAL_DLVSYM
#endif

#elif defined(__aarch64__)

.macro KEEP
	stp x29, x30, [sp, -96]!
	.cfi_adjust_cfa_offset 96
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov x29, sp
	stp x0, x1, [sp, 16]
	stp x2, x3, [sp, 32]
	stp x4, x5, [sp, 48]
	stp x6, x7, [sp, 64]
	str x8, [sp, 80]
.endm

.macro BACK
	ldp x0, x1, [sp, 16]
	ldp x2, x3, [sp, 32]
	ldp x4, x5, [sp, 48]
	ldp x6, x7, [sp, 64]
	ldr x8, [sp, 80]
	ldp x29, x30, [sp], 96
	.cfi_adjust_cfa_offset -96
	.cfi_restore x29
	.cfi_restore x30
.endm

.macro JUMP original
	adrp x16, originals
	add x16, x16, :lo12:originals
	ldr x16, [x16, \original]
	br x16
.endm

.macro BEFORE name, function, original
	BEGIN \name
	hint 34
	KEEP
	bl \function
	BACK
	JUMP \original
	END \name
.endm

.macro ANSWER name, function, last, original
	BEGIN \name
	hint 34
	KEEP
	mov \last, x30
	bl \function
	mov x16, x0
	BACK
	cbz x16, 1f
	mov x0, x16
	ret
1:	JUMP \original
	END \name
.endm

/* The return address is in x30, which both processes have; only our calls need it kept: in the
 * child's case on the shared stack below the parent's, in a register across the system call. */
.macro VFORK name, original
	BEGIN \name
	hint 34
	KEEP
	adrp x0, originals
	add x0, x0, :lo12:originals
	ldr x0, [x0, \original]
	bl before_vfork
	mov w17, w0
	BACK
	cbz w17, 4f
	mov x0, 0x4111 /* CLONE_VM | CLONE_VFORK | SIGCHLD */
	mov x1, sp
	mov x8, SYS_clone
	svc 0
	cmp x0, 0
	b.lt 3f
	b.gt 2f
	KEEP
	bl process_vfork_child
	BACK
	mov x0, 0
	ret
2:	KEEP
	bl process_vfork_parent
	BACK
	ret
3:	neg x0, x0
	KEEP
	bl __errno_location
	mov x16, x0
	BACK
	str w0, [x16]
	mov x0, -1
	ret
4:	JUMP \original
	END \name
.endm

#ifndef FATHOM_LINKED /* a static program has no loader to ask */
ANSWER hook_dlsym, loader_dlsym, x2, ORIGINAL_DLSYM
ANSWER hook_dlvsym, loader_dlvsym, x3, ORIGINAL_DLVSYM
#endif

#else
#error "no hooks for this architecture yet"
#endif

VFORK hook_vfork, ORIGINAL_VFORK
VFORK hook_other_vfork, ORIGINAL_OTHER_VFORK
BEFORE hook_fork, before_fork, ORIGINAL_FORK
BEFORE hook_bare_fork, before_fork, ORIGINAL_BARE_FORK
BEFORE hook_other_fork, before_fork, ORIGINAL_OTHER_FORK
BEFORE hook_forkpty, before_fork, ORIGINAL_FORKPTY
BEFORE hook_system, before_command, ORIGINAL_SYSTEM
BEFORE hook_popen, before_command, ORIGINAL_POPEN
BEFORE hook_spawn_0, before_spawn, ORIGINAL_SPAWN_0
BEFORE hook_spawn_1, before_spawn, ORIGINAL_SPAWN_1
BEFORE hook_spawnp_0, before_spawn, ORIGINAL_SPAWNP_0
BEFORE hook_spawnp_1, before_spawn, ORIGINAL_SPAWNP_1
