/* System calls of programs that no library is in, with what their arguments point to; libaio's operations among them. */
static const struct wanted *wanted_of(__u32 number)
{
	const struct wanted *wanted = bpf_map_lookup_elem(&wanted_calls, &number);

	return wanted && wanted->wanted ? wanted : NULL;
}

/* Those of 32 bits have numbers of their own. */
static bool is_32_bit(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ(task, thread_info.flags) >> 22 & 1;
#else
	return BPF_CORE_READ(task, thread_info.status) & 2;
#endif
}

SEC("raw_tp/sys_enter")
int call_entered(struct bpf_raw_tracepoint_args *ctx)
{
	unsigned long *regs = (void *)ctx->args[0];
	__u64 who = bpf_get_current_pid_tgid();
	__u32 process = who >> 32, thread = (__u32)who, number = (__u32)ctx->args[1];
	__u32 *known = bpf_map_lookup_elem(&processes, &process);
	struct entered *call, nothing = {0};
	__u64 registers[REGISTERS] = {0};

	if (!known || *known != ALL || !wanted_of(number) || is_32_bit())
		return 0;
	call = bpf_map_lookup_elem(&entered, &thread);
	if (!call) {
		bpf_map_update_elem(&entered, &thread, &nothing, BPF_ANY);
		call = bpf_map_lookup_elem(&entered, &thread);
	}
	if (!call) {
		count_lost(NOT_FOLLOWED);
		return 0;
	}
	bpf_probe_read_kernel(registers, sizeof(registers), regs + FIRST_REGISTER);
	for (int i = 0; i < 6; i++)
		call->arguments[i] = registers[argument_registers[i]];
	call->number = number;
	call->began = bpf_ktime_get_ns();
	return 0;
}

/* Bytes of a vector; all ones: not known. It is looked at by the kernel once, not wherever it is called from. */
__attribute__((noinline)) __u64 vector_bytes(__u64 at, __u64 count)
{
	struct {
		__u64 base, length;
	} part;
	__u64 sum = 0;

	if (count > MOST_VECTORS)
		return ~0ull;
	for (int i = 0; i < MOST_VECTORS && (__u64)i < count; i++) {
		if (bpf_probe_read_user(&part, sizeof(part), (void *)(at + i * sizeof(part))))
			return ~0ull;
		sum += part.length;
	}
	return sum;
}

static __u64 argument(const struct call *call, __u8 place_and_one)
{
	return call->arguments[(place_and_one - 1) & (ARGUMENTS - 1)];
}

/* What its arguments point to. The kernel has read it, so it is in memory; offsets have moved on meanwhile. */
static void call_details(struct call *call, const struct wanted *wanted)
{
	for (int i = 0; i < 2; i++)
		if (wanted->pointed[i] && argument(call, wanted->pointed[i]))
			bpf_probe_read_user(&call->pointed[i], sizeof(call->pointed[i]),
					    (void *)argument(call, wanted->pointed[i]));
	if (wanted->pair || wanted->how)
		bpf_probe_read_user(
			&call->pointed[0], sizeof(call->pointed[0]),
			(void *)argument(call, wanted->pair ? wanted->pair : wanted->how));
	if (wanted->vector)
		call->pointed[0] = vector_bytes(call->arguments[1], call->arguments[2]);
	if (wanted->path)
		call->length = read_length(bpf_probe_read_user_str(
			call->path, sizeof(call->path), (void *)argument(call, wanted->path)));
	if (wanted->to)
		call->length_to = read_length(bpf_probe_read_user_str(
			call->to, sizeof(call->to), (void *)argument(call, wanted->to)));
}

/* What asynchronous calls are given and give back, as they lie in memory, in parts that fit into an event. */
enum {
	BLOCK = 64,
	BLOCKS = MOST_TEXT / BLOCK - 1,
	EVENT = 32,
	EVENTS = MOST_TEXT / EVENT - 1,
	MOST_PARTS = 16
};
enum { REGISTER_FILES = 2, REGISTER_FILES_UPDATE = 6 };
/* Of linux/aio_abi.h's struct iocb. It says nothing in one place, so its address does, which its completion names; of a
 * vector its bytes stand where their number would. */
enum { OPCODE = 16, BUFFER = 24, COUNT = 32, RESERVED = 48, PREADV = 7, PWRITEV = 8 };

/* The end of the text is where a string's zero would be. */
static void list_say(struct call *call, __u32 kind, __u32 bytes)
{
	const __u32 call_kind = call->kind;

	call->kind = kind;
	call->length = bytes + 1;
	call_say(call);
	call->kind = call_kind;
	call->length = 0;
}

static void say_blocks(struct call *call)
{
	__u64 at = call->arguments[2], block;

	for (int part = 0; part < MOST_PARTS && part * BLOCKS < call->result; part++) {
		__u32 count = 0;

		for (int i = 0; i < BLOCKS && part * BLOCKS + i < call->result; i++, count++) {
			char *to = call->path + i * BLOCK;

			if (bpf_probe_read_user(
				    &block, sizeof(block),
				    (void *)(at + (part * BLOCKS + i) * sizeof(block))) ||
			    bpf_probe_read_user(to, BLOCK, (void *)block))
				break;
			__builtin_memcpy(to + RESERVED, &block, sizeof(block));
			if (to[OPCODE] == PREADV || to[OPCODE] == PWRITEV)
				*(__u64 *)(to + COUNT) = vector_bytes(*(__u64 *)(to + BUFFER),
								      *(__u64 *)(to + COUNT));
		}
		list_say(call, POSTS, count * BLOCK);
	}
}

static void say_fetched(struct call *call)
{
	for (int part = 0; part < MOST_PARTS && part * EVENTS < call->result; part++) {
		__u64 bytes = (call->result - part * EVENTS) * EVENT;

		if (bytes > EVENTS * EVENT)
			bytes = EVENTS * EVENT;
		if (bpf_probe_read_user(call->path, bytes,
					(void *)(call->arguments[3] + part * EVENTS * EVENT)))
			return;
		list_say(call, FETCHED, bytes);
	}
}

/* Of files that a ring knows by number: the first number, and descriptors. */
static void registered_details(struct call *call)
{
	struct {
		__u32 first, unused;
		__u64 files;
	} update = {.files = call->arguments[2]};
	__u64 bytes = (__u64)(__u32)call->arguments[3] * sizeof(int);

	if (call->arguments[1] == REGISTER_FILES_UPDATE)
		bpf_probe_read_user(&update, sizeof(update), (void *)call->arguments[2]);
	else if (call->arguments[1] != REGISTER_FILES)
		return;
	if (bytes > MOST_TEXT - sizeof(int))
		bytes = MOST_TEXT - sizeof(int);
	if (bpf_probe_read_user(call->path, bytes, (void *)update.files))
		return;
	call->pointed[0] = update.first;
	call->length = bytes + 1;
}

static bool opens_library(const struct call *call)
{
	__u32 first = 0, start;
	const struct library *library = bpf_map_lookup_elem(&the_library, &first);

	if (!library || call->result < 0 || !library->length || call->length <= library->length)
		return false;
	start = call->length - 1 - library->length;
	for (__u32 i = 0; i < MOST_LIBRARY && i < library->length; i++)
		if (call->path[(start + i) & (MOST_TEXT - 1)] != library->name[i])
			return false;
	return true;
}

SEC("raw_tp/sys_exit")
int call_left(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 who = bpf_get_current_pid_tgid();
	__u32 process = who >> 32, thread = (__u32)who;
	__u32 *known = bpf_map_lookup_elem(&processes, &process);
	struct entered *began =
		known && *known == ALL ? bpf_map_lookup_elem(&entered, &thread) : NULL;
	const struct wanted *wanted = began && began->began ? wanted_of(began->number) : NULL;
	struct call *call = wanted ? call_begin(CALL) : NULL;

	if (!call)
		return 0;
	call->number = began->number;
	call->began = began->began;
	__builtin_memcpy(call->arguments, began->arguments, sizeof(call->arguments));
	call->result = (__s64)ctx->args[1];
	call_details(call, wanted);
	began->began = 0; /* a call that is not wanted may come next */
	if (wanted->list == POSTED_BLOCKS)
		say_blocks(call);
	if (wanted->list == FETCHED_EVENTS)
		say_fetched(call);
	if (wanted->list == REGISTERED_FILES)
		registered_details(call);
	if (wanted->wanted == OPENS && opens_library(call)) {
		*known = NO_CALLS;
		call->kind = RECORDED;
	}
	call_say(call);
	return 0;
}
