/* Trampolines for Fortran entry names: they tell where the call came from and go on, knowing
 * nothing of the arguments. Every register but r11 (x16, x17) and the stack stay as they came.
 *
 * The generator writes a file that includes this one and says for each entry name and copy:
 *
 *	#include "edges/entry.S"
 *	fathom_entry entry_mpi_file_write_at__0, 1234, "mpi_file_write_at_"
 *
 * This defines the hidden function of the first name, which belongs into edge_wrappers[1234] and
 * jumps to edge_originals[1234]. */
#ifndef FATHOM_ENTRY_S
#define FATHOM_ENTRY_S

	.section .note.GNU-stack,"",%progbits
	.text
	.hidden entry_site
	.hidden edge_originals

.macro fathom_entry function, index, name
	.section .rodata.str1.1,"aMS",%progbits,1
.Lname_\function:
	.asciz "\name"
	.text
	.globl \function
	.hidden \function
	.type \function, %function
	.p2align 4
\function:
	.cfi_startproc
#if defined(__x86_64__)
	endbr64
	mov entry_site@gottpoff(%rip), %r11
	mov %rsp, %fs:(%r11)
	pushq (%rsp)
	.cfi_adjust_cfa_offset 8
	popq %fs:8(%r11)
	.cfi_adjust_cfa_offset -8
	push %rax
	.cfi_adjust_cfa_offset 8
	lea .Lname_\function(%rip), %rax
	mov %rax, %fs:16(%r11)
	pop %rax
	.cfi_adjust_cfa_offset -8
	jmp *edge_originals+8*\index(%rip)
#elif defined(__aarch64__)
	/* The return address is in x30, not yet on the stack: no slot can vouch for it (NULL). */
	hint 34
	adrp x16, :gottprel:entry_site
	ldr x16, [x16, :gottprel_lo12:entry_site]
	mrs x17, tpidr_el0
	add x16, x16, x17
	stp xzr, x30, [x16]
	adrp x17, .Lname_\function
	add x17, x17, :lo12:.Lname_\function
	str x17, [x16, 16]
	adrp x16, edge_originals+8*\index
	ldr x16, [x16, :lo12:edge_originals+8*\index]
	br x16
#else
#error "no entry trampoline for this architecture yet"
#endif
	.cfi_endproc
	.size \function, . - \function
.endm

#endif
