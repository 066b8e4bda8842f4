/* Operations of io_uring: a ring is made, is given one, has done it. */
/* Rings that processes of the run made. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} rings SEC(".maps");

static bool tells_calls(void)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	__u32 *known = bpf_map_lookup_elem(&processes, &process);

	return known && *known == ALL;
}

SEC("raw_tp/io_uring_create")
int ring_made(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 ring = ctx->args[1];
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	struct call *call = tells_calls() ? call_begin(RING) : NULL;

	if (!call) {
		bpf_map_delete_elem(&rings, &ring);
		return 0;
	}
	bpf_map_update_elem(&rings, &ring, &process, BPF_ANY);
	call->arguments[0] = (__u32)ctx->args[0];
	call->arguments[1] = ring;
	call_say(call);
	return 0;
}

/* Of linux/io_uring.h. */
enum opcode {
	READV = 1,
	WRITEV = 2,
	FSYNC = 3,
	READ_FIXED = 4,
	WRITE_FIXED = 5,
	SYNC_FILE_RANGE = 8,
	FALLOCATE = 17,
	OPENAT = 18,
	CLOSE = 19,
	STATX = 21,
	READ_PLAIN = 22,
	WRITE_PLAIN = 23,
	OPENAT2 = 28,
	RENAMEAT = 35,
	UNLINKAT = 36,
	MKDIRAT = 37,
};

static void posted_data(struct call *call, const struct io_rw *rw, bool vector)
{
	const __u32 length = BPF_CORE_READ(rw, len);

	call->arguments[4] = BPF_CORE_READ(rw, kiocb.ki_pos);
	call->arguments[5] = vector ? vector_bytes(BPF_CORE_READ(rw, addr), length) : length;
}

static void posted_path(struct call *call, int directory, const struct filename *name)
{
	call->arguments[2] = directory;
	call->length = read_length(bpf_probe_read_kernel_str(call->path, sizeof(call->path),
							     BPF_CORE_READ(name, name)));
}

/* Its fields' places are the loader's to find, by the request's type. */
#define posted_path_of(call, request, type, directory, path)                                       \
	posted_path(call, BPF_CORE_READ((type *)(request), directory),                             \
		    BPF_CORE_READ((type *)(request), path))

static void posted_open(struct call *call, const struct io_open *open)
{
	call->arguments[3] = BPF_CORE_READ(open, file_slot);
	call->pointed[0] = BPF_CORE_READ(open, how.flags);
	posted_path(call, BPF_CORE_READ(open, dfd), BPF_CORE_READ(open, filename));
}

static void posted_close(struct call *call, const struct io_close *close)
{
	const __u32 slot = BPF_CORE_READ(close, file_slot);

	call->arguments[2] = slot ? slot - 1 : (__u32)BPF_CORE_READ(close, fd);
	call->arguments[3] = slot;
}

/* What is asked for, in the thread that hands it over: the program's, or the kernel's own of this ring. */
SEC("raw_tp/io_uring_submit_req")
int ring_posted(struct bpf_raw_tracepoint_args *ctx)
{
	struct io_kiocb *request = (void *)ctx->args[0];
	__u64 ring = (__u64)BPF_CORE_READ(request, ctx);
	struct call *call = bpf_map_lookup_elem(&rings, &ring) ? call_begin(POST) : NULL;

	if (!call)
		return 0;
	call->number = BPF_CORE_READ(request, opcode);
	call->arguments[0] = (__u64)request;
	call->arguments[1] = ring;
	call->arguments[2] = BPF_CORE_READ(request, cqe.fd);
	call->arguments[3] =
		BPF_CORE_READ(request, flags) & 1; /* a file by its number in the ring */
	switch (call->number) {
	case READV:
	case WRITEV:
		posted_data(call, (void *)request, true);
		break;
	case READ_FIXED:
	case WRITE_FIXED:
	case READ_PLAIN:
	case WRITE_PLAIN:
		posted_data(call, (void *)request, false);
		break;
	case FSYNC:
	case SYNC_FILE_RANGE:
	case FALLOCATE:
		call->arguments[4] = BPF_CORE_READ((struct io_sync *)request, off);
		call->arguments[5] = BPF_CORE_READ((struct io_sync *)request, len);
		break;
	case OPENAT:
	case OPENAT2:
		posted_open(call, (void *)request);
		break;
	case CLOSE:
		posted_close(call, (void *)request);
		break;
	case STATX:
		posted_path_of(call, request, struct io_statx, dfd, filename);
		break;
	case RENAMEAT:
		posted_path_of(call, request, struct io_rename, old_dfd, oldpath);
		break;
	case UNLINKAT:
		posted_path_of(call, request, struct io_unlink, dfd, filename);
		break;
	case MKDIRAT:
		posted_path_of(call, request, struct io_mkdir, dfd, filename);
		break;
	}
	call_say(call);
	return 0;
}

SEC("raw_tp/io_uring_complete")
int ring_done(struct bpf_raw_tracepoint_args *ctx)
{
	struct io_kiocb *request = (void *)ctx->args[1]; /* none: one of several answers to it */
	__u64 ring = request ? (__u64)BPF_CORE_READ(request, ctx) : 0;
	struct call *call = bpf_map_lookup_elem(&rings, &ring) ? call_begin(DONE) : NULL;

	if (!call)
		return 0;
	call->arguments[0] = (__u64)request;
	call->result = BPF_CORE_READ(request, cqe.res);
	call_say(call);
	return 0;
}
