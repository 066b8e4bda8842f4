/* The stack walked by .eh_frame (DWARF 5, 6.4; LSB 5.0, 10.6): what each function saved where, at the instruction that
 * called the next. Only registers that a function has to give back are followed: nothing else says where frames are.
 * Code that a program made while it ran has no such tables; it is walked by its frame pointers. */
#include "core/unwind.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>

#include "core/base.h"
#include "core/process.h"
#include "core/raw.h"
#include "core/segments.h"
#include "core/text.h"

/* Registers by their place here; their DWARF numbers follow. */
enum { SP, RA, FP, SAVED };
#if defined(__x86_64__)
static const uint8_t numbers[] = {7, 16, 6, 3, 12, 13, 14, 15};
#elif defined(__aarch64__)
static const uint8_t numbers[] = {31, 30, 29, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28};
#endif
enum { REGISTERS = sizeof(numbers), REMEMBERED = 2, STACK = 8, FARTHEST = 1 << 30, NEAR = 1 << 16 };

enum way { SAME, LOST, AT, IS, IN, AT_VALUE, IS_VALUE };
struct rule {
	uint8_t way;
	uint8_t from;   /* IN: a register; of the frame: the one that its address is counted from */
	int32_t offset; /* AT, IS: from the frame's address */
	const uint8_t *value; /* AT_VALUE, IS_VALUE: an expression, after its length */
};

struct row {
	struct rule frame; /* its address: IS, from a register, or IS_VALUE */
	struct rule reg[REGISTERS];
};

struct bytes {
	const uint8_t *at, *end;
	bool bad;
};

/* How the rows of a function are written. */
struct unwinding {
	const char *code, *end_of_code; /* of the function */
	uint64_t step;                  /* of its addresses */
	int64_t unit;                   /* of its offsets */
	struct bytes first, then;       /* instructions: common ones, its own */
	uint8_t encoding;               /* of its addresses */
	bool signal;                    /* of a signal handler's return: no call was made there */
};

struct registers {
	uint64_t value[REGISTERS];
	const uint64_t *saved_at; /* where RA was, NULL: in no place of the stack */
};

static uint64_t fixed(struct bytes *b, size_t n)
{
	uint64_t value = 0;

	if ((size_t)(b->end - b->at) < n) {
		b->bad = true;
		return 0;
	}
	memcpy(&value, b->at, n);
	b->at += n;
	return value;
}

static uint64_t leb(struct bytes *b, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = fixed(b, 1);
		value |= shift < 64 ? (byte & 0x7f) << shift : 0;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

static uint64_t uleb(struct bytes *b)
{
	return leb(b, false);
}

static int64_t sleb(struct bytes *b)
{
	return (int64_t)leb(b, true);
}

/* An address as DW_EH_PE_* says; such as stand elsewhere or count from elsewhere are in no code we know. */
static uint64_t pointer(struct bytes *b, uint8_t encoding)
{
	const uint64_t here = (uintptr_t)b->at;
	uint64_t value;

	switch (encoding & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		value = fixed(b, 8);
		break;
	case 0x03: /* udata4 */
		value = fixed(b, 4);
		break;
	case 0x0b: /* sdata4 */
		value = (uint64_t)(int64_t)(int32_t)fixed(b, 4);
		break;
	default:
		b->bad = true;
		return 0;
	}
	if ((encoding & 0x70) == 0x10) /* pcrel */
		value += here;
	else if (encoding & 0x70)
		b->bad = true;
	return value;
}

static int place_of(uint64_t number)
{
	for (int i = 0; i < REGISTERS; i++)
		if (numbers[i] == number)
			return i;
	return -1;
}

static void set(struct row *row, uint64_t number, struct rule rule)
{
	const int place = place_of(number);

	if (place >= 0)
		row->reg[place] = rule;
}

/* A length, and so many bytes. */
static const uint8_t *expression(struct bytes *b)
{
	const uint8_t *begin = b->at;
	const uint64_t length = uleb(b);

	if (length > (uint64_t)(b->end - b->at))
		b->bad = true;
	else
		b->at += length;
	return begin;
}

static struct rule saved(enum way way, int64_t offset)
{
	return (struct rule){.way = (uint8_t)way, .offset = (int32_t)offset};
}

static struct rule counted(uint64_t number, int64_t offset)
{
	const int place = place_of(number);

	return place < 0 ? (struct rule){.way = LOST}
			 : (struct rule){
				   .way = IS, .from = (uint8_t)place, .offset = (int32_t)offset};
}

static struct rule computed(enum way way, struct bytes *b)
{
	return (struct rule){.way = (uint8_t)way, .value = expression(b)};
}

static struct rule moved(uint64_t number)
{
	const int place = place_of(number);

	return place < 0 ? (struct rule){.way = LOST}
			 : (struct rule){.way = IN, .from = (uint8_t)place};
}

static const struct rule *before(const struct row *first, uint64_t number)
{
	static const struct rule same;
	const int place = place_of(number);

	return place < 0 ? &same : &first->reg[place];
}

struct machine {
	struct row row, first, remembered[REMEMBERED];
	unsigned depth;
	const char *at; /* the address that the row is of */
};

/* An instruction that changes rules (DW_CFA_*). */
static void change(struct machine *m, const struct unwinding *u, uint8_t op, struct bytes *b)
{
	struct rule *frame = &m->row.frame;
	uint64_t number = 0;

	switch (op) {
	case 0x0a: /* remember_state */
		if (m->depth < REMEMBERED)
			m->remembered[m->depth++] = m->row;
		else
			b->bad = true;
		return;
	case 0x0b: /* restore_state */
		if (m->depth)
			m->row = m->remembered[--m->depth];
		else
			b->bad = true;
		return;
	case 0x0d: /* def_cfa_register */
		*frame = counted(uleb(b), frame->offset);
		return;
	case 0x0e: /* def_cfa_offset */
		frame->offset = (int32_t)uleb(b);
		return;
	case 0x0f: /* def_cfa_expression */
		*frame = computed(IS_VALUE, b);
		return;
	case 0x13: /* def_cfa_offset_sf */
		frame->offset = (int32_t)(sleb(b) * u->unit);
		return;
	case 0x2d: /* AARCH64_negate_ra_state: an address is stripped of its signature anyway */
		return;
	case 0x2e: /* GNU_args_size */
		uleb(b);
		return;
	}
	number = uleb(b);
	switch (op) {
	case 0x05: /* offset_extended */
		set(&m->row, number, saved(AT, (int64_t)uleb(b) * u->unit));
		break;
	case 0x06: /* restore_extended */
		set(&m->row, number, *before(&m->first, number));
		break;
	case 0x07: /* undefined */
		set(&m->row, number, saved(LOST, 0));
		break;
	case 0x08: /* same_value */
		set(&m->row, number, saved(SAME, 0));
		break;
	case 0x09: /* register */
		set(&m->row, number, moved(uleb(b)));
		break;
	case 0x0c: /* def_cfa */
		*frame = counted(number, (int64_t)uleb(b));
		break;
	case 0x10: /* expression */
		set(&m->row, number, computed(AT_VALUE, b));
		break;
	case 0x11: /* offset_extended_sf */
		set(&m->row, number, saved(AT, sleb(b) * u->unit));
		break;
	case 0x12: /* def_cfa_sf */
		*frame = counted(number, sleb(b) * u->unit);
		break;
	case 0x14: /* val_offset */
		set(&m->row, number, saved(IS, (int64_t)uleb(b) * u->unit));
		break;
	case 0x15: /* val_offset_sf */
		set(&m->row, number, saved(IS, sleb(b) * u->unit));
		break;
	case 0x16: /* val_expression */
		set(&m->row, number, computed(IS_VALUE, b));
		break;
	default:
		b->bad = true;
	}
}

/* Goes through instructions as far as `address`. */
static bool run_instructions(struct machine *m, const struct unwinding *u, struct bytes b,
			     const char *address)
{
	while (b.at < b.end && !b.bad) {
		const uint8_t op = (uint8_t)fixed(&b, 1), low = op & 0x3f;
		uint64_t step = 0;

		switch (op >> 6) {
		case 1: /* advance_loc */
			step = low;
			break;
		case 2: /* offset */
			set(&m->row, low, saved(AT, (int64_t)uleb(&b) * u->unit));
			continue;
		case 3: /* restore */
			set(&m->row, low, *before(&m->first, low));
			continue;
		default:
			if (op == 0x00) /* nop */
				continue;
			if (op == 0x01) { /* set_loc */
				m->at = (const char *)(uintptr_t)pointer(&b, u->encoding);
			} else if (op >= 0x02 && op <= 0x04) { /* advance_loc1, 2, 4 */
				step = fixed(&b, (size_t)1 << (op - 2));
			} else {
				change(m, u, op, &b);
				continue;
			}
		}
		m->at += step * u->step;
		if (m->at > address)
			return true;
	}
	return !b.bad;
}

/* What all functions of a kind have in common. */
static bool read_common(struct unwinding *u, const uint8_t *at)
{
	struct bytes b = {at, at + 4, false};
	const uint32_t length = (uint32_t)fixed(&b, 4);
	const char *letters;
	uint8_t version;

	b.end = b.at + length;
	if (length >= 0xfffffff0u || fixed(&b, 4) != 0)
		return false;
	version = (uint8_t)fixed(&b, 1);
	letters = (const char *)b.at;
	while (fixed(&b, 1))
		;
	u->step = uleb(&b);
	u->unit = sleb(&b);
	if ((version == 1 ? fixed(&b, 1) : uleb(&b)) != numbers[RA] || *letters++ != 'z')
		return false;
	uleb(&b); /* the length of what the letters tell */
	for (; *letters && !b.bad; letters++) {
		if (*letters == 'R')
			u->encoding = (uint8_t)fixed(&b, 1);
		else if (*letters == 'P')
			pointer(&b, (uint8_t)fixed(&b, 1) & 0x0f);
		else if (*letters == 'L')
			fixed(&b, 1);
		else if (*letters == 'S')
			u->signal = true;
		else if (*letters != 'B')
			return false;
	}
	u->first = b;
	return !b.bad;
}

/* The entry of one function (FDE). */
static bool read_entry(struct unwinding *u, const uint8_t *at)
{
	struct bytes b = {at, at + 4, false};
	const uint32_t length = (uint32_t)fixed(&b, 4);
	const uint8_t *here = b.at;
	uint32_t back;
	uint64_t skipped;

	b.end = b.at + length;
	if (length >= 0xfffffff0u)
		return false;
	back = (uint32_t)fixed(&b, 4);
	if (b.bad || !back || !read_common(u, here - back))
		return false;
	u->code = (const char *)(uintptr_t)pointer(&b, u->encoding);
	u->end_of_code = u->code + pointer(&b, u->encoding & 0x0f);
	skipped = uleb(&b);
	if (skipped > (uint64_t)(b.end - b.at))
		return false;
	b.at += skipped;
	u->then = b;
	return !b.bad;
}

/* PT_GNU_EH_FRAME of the module that begins there; NULL: it has none. */
static const uint8_t *frame_table(const char *begin)
{
	const struct segments s = segments_of(begin);

	for (int i = 0; i < s.n; i++)
		if (s.at[i].p_type == PT_GNU_EH_FRAME)
			return (const uint8_t *)s.base + s.at[i].p_vaddr;
	return NULL;
}

/* By the table that all linkers make: pairs of 4-byte distances from itself, in the order of addresses. */
static bool find(struct unwinding *u, const char *address)
{
	void *begin = NULL;
	const uint8_t *table = process_module(address, &begin) ? frame_table(begin) : NULL;
	const int32_t(*pair)[2];
	const int64_t wanted = address - (const char *)table;
	uint32_t low = 0, high;

	if (!table || table[0] != 1 || table[2] != 0x03 || table[3] != 0x3b)
		return false;
	memcpy(&high, table + 8, sizeof(high)); /* after the 4-byte address of .eh_frame */
	pair = (const void *)(table + 12);
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (pair[middle][0] <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low && read_entry(u, table + pair[low - 1][1]) && u->code <= address &&
	       address < u->end_of_code;
}

static uint64_t load(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at;
}

/* DW_OP_*: as much of it as linkers and signal frames need. */
static bool evaluate(const uint8_t *at, const struct registers *r, uint64_t *result)
{
	struct bytes b = {at, at + 10, false}; /* a length has no more */
	const uint64_t length = uleb(&b);
	uint64_t stack[STACK + 1] = {0, *result};
	unsigned n = 1;

	b.end = b.at + length;
	while (b.at < b.end && !b.bad && n > 0 && n < STACK) {
		const uint8_t op = (uint8_t)fixed(&b, 1);

		if (op >= 0x70 && op <= 0x8f) { /* breg */
			const int place = place_of(op - 0x70u);
			const int64_t offset = sleb(&b);

			if (place < 0)
				return false;
			stack[++n] = r->value[place] + (uint64_t)offset;
		} else if (op >= 0x30 && op <= 0x4f) { /* lit */
			stack[++n] = op - 0x30u;
		} else if (op == 0x06) { /* deref */
			stack[n] = load(stack[n]);
		} else if (op == 0x23) { /* plus_uconst */
			stack[n] += uleb(&b);
		} else if (op == 0x22) { /* plus */
			stack[n - 1] += stack[n];
			n--;
		} else {
			return false;
		}
	}
	*result = stack[n];
	return !b.bad;
}

static bool apply(const struct rule *rule, uint64_t frame, const struct registers *now, int place,
		  struct registers *next)
{
	uint64_t value = frame;

	switch (rule->way) {
	case SAME:
		value = place == SP ? frame : now->value[place];
		break;
	case AT:
		value = load(frame + (uint64_t)(int64_t)rule->offset);
		if (place == RA)
			next->saved_at =
				(const void *)(uintptr_t)(frame + (uint64_t)(int64_t)rule->offset);
		break;
	case IS:
		value = frame + (uint64_t)(int64_t)rule->offset;
		break;
	case IN:
		value = now->value[rule->from];
		break;
	case AT_VALUE:
		if (!evaluate(rule->value, now, &value))
			return false;
		if (place == RA)
			next->saved_at = (const void *)(uintptr_t)value;
		value = load(value);
		break;
	case IS_VALUE:
		if (!evaluate(rule->value, now, &value))
			return false;
		break;
	default: /* LOST: of RA, it is the outermost function; of others, nobody may need it */
		return place != RA;
	}
	next->value[place] = value;
	return true;
}

static const char *address_of(uint64_t held)
{
#if defined(__aarch64__)
	register uint64_t x30 __asm__("x30") = held;

	__asm__("hint 7" : "+r"(x30)); /* xpaclri: nothing, where addresses are not signed */
	return (const char *)(uintptr_t)x30;
#else
	return (const char *)(uintptr_t)held;
#endif
}

static bool step_by_table(const struct unwinding *u, const char *address, struct registers *r,
			  bool *exact)
{
	struct machine m = {.at = u->code};
	struct registers next = *r;
	uint64_t frame = 0;

	if (!run_instructions(&m, u, u->first, u->end_of_code))
		return false;
	m.first = m.row;
	m.at = u->code;
	if (!run_instructions(&m, u, u->then, address))
		return false;
	if (m.row.frame.way == IS)
		frame = r->value[m.row.frame.from] + (uint64_t)(int64_t)m.row.frame.offset;
	else if (m.row.frame.way != IS_VALUE || !evaluate(m.row.frame.value, r, &frame))
		return false;
	if (frame <= r->value[SP] || frame - r->value[SP] > FARTHEST || frame % sizeof(uint64_t))
		return false;
	next.saved_at = NULL;
	for (int i = 0; i < REGISTERS; i++)
		if (!apply(&m.row.reg[i], frame, r, i, &next))
			return false;
	*exact = u->signal;
	*r = next;
	return true;
}

/* What may not be there. */
static bool peek(const char *at, void *out, size_t size)
{
	const struct iovec here = {out, size}, there = {(void *)at, size};

	return raw6(SYS_process_vm_readv, raw3(SYS_getpid, 0, 0, 0), (long)&here, 1, (long)&there,
		    1, 0) == (long)size;
}

/* Does a call instruction end there? What is no frame does not hold such addresses. */
static bool is_called(const char *address)
{
#if defined(__x86_64__)
	static const uint8_t lengths[] = {2, 3, 4, 6, 7}; /* of ff /2, without prefixes */
	uint8_t code[7];

	if (!peek(address - sizeof(code), code, sizeof(code)))
		return false;
	if (code[2] == 0xe8)
		return true;
	for (size_t i = 0; i < sizeof(lengths); i++) {
		const uint8_t *at = code + sizeof(code) - lengths[i];

		if (at[0] == 0xff && (at[1] & 0x38) == 0x10)
			return true;
	}
	return false;
#elif defined(__aarch64__)
	uint32_t code;

	return peek(address - sizeof(code), &code, sizeof(code)) &&
	       ((code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000);
#endif
}

static bool step_by_pointer(struct registers *r, bool *exact)
{
	const uint64_t frame = r->value[FP];
	uint64_t saved[2]; /* the caller's frame pointer, and where it goes on */

	if (frame < r->value[SP] || frame - r->value[SP] > NEAR || frame % sizeof(frame) ||
	    !peek((const char *)(uintptr_t)frame, saved, sizeof(saved)) ||
	    !is_called(address_of(saved[1])))
		return false;
	r->saved_at = (const uint64_t *)(uintptr_t)frame + 1;
	r->value[SP] = frame + sizeof(saved);
	r->value[FP] = saved[0];
	r->value[RA] = saved[1];
	*exact = false;
	return true;
}

/* Does the process tell of code that it made (/tmp/perf-PID.map)? Run-times that do have pieces of that kind also in
 * their own file, without tables. */
static bool tells_of_code(void)
{
	static _Atomic bool tells;
	char path[48] = "/tmp/perf-";

	if (!tells) {
		text_decimal(path + strlen(path), (uint64_t)raw3(SYS_getpid, 0, 0, 0));
		strcat(path, ".map");
		tells = raw4(SYS_faccessat, AT_FDCWD, (long)path, 0, 0) == 0;
	}
	return tells;
}

/* From a function to the one that called it. */
static bool step(struct registers *r, bool *exact)
{
	struct unwinding u = {0};
	const char *address = address_of(r->value[RA]) - !*exact;
	void *begin = NULL;

	if (find(&u, address))
		return step_by_table(&u, address, r, exact);
	return (!process_module(address, &begin) || tells_of_code()) && step_by_pointer(r, exact);
}

/* The calling function's registers as they are here. */
static inline __attribute__((always_inline)) void take(struct registers *r)
{
#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %%rax\n\t"
			 "mov %%rsp, 0(%0)\n\t"
			 "mov %%rax, 8(%0)\n\t"
			 "mov %%rbp, 16(%0)\n\t"
			 "mov %%rbx, 24(%0)\n\t"
			 "mov %%r12, 32(%0)\n\t"
			 "mov %%r13, 40(%0)\n\t"
			 "mov %%r14, 48(%0)\n\t"
			 "mov %%r15, 56(%0)"
			 :
			 : "r"(r->value)
			 : "rax", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov x9, sp\n\t"
			 "adr x10, .\n\t"
			 "stp x9, x10, [%0]\n\t"
			 "stp x29, x19, [%0, 16]\n\t"
			 "stp x20, x21, [%0, 32]\n\t"
			 "stp x22, x23, [%0, 48]\n\t"
			 "stp x24, x25, [%0, 64]\n\t"
			 "stp x26, x27, [%0, 80]\n\t"
			 "str x28, [%0, 96]"
			 :
			 : "r"(r->value)
			 : "x9", "x10", "memory");
#endif
}

enum { OWN_FRAMES = 24 }; /* of this library, between the call and here: more there are not */

uint32_t unwind(const void *address, struct caller *callers, uint32_t most)
{
	struct registers r = {0};
	uint32_t n = 0;
	bool exact = true;

	take(&r);
	for (int i = 0; address_of(r.value[RA]) != address; i++)
		if (i == OWN_FRAMES || !step(&r, &exact))
			return 0;
	while (n < most && step(&r, &exact) && r.saved_at) {
		callers[n].slot = (const void *const *)r.saved_at;
		callers[n].held = (const void *)(uintptr_t)r.value[RA];
		callers[n].address = address_of(r.value[RA]);
		n++;
	}
	return n;
}
