/* What of the kernel's structs is read. The loader finds where the running kernel has these members (CO-RE), so no more of
 * a struct is here than that, in no order. */
#ifndef FATHOM_KERNEL_H
#define FATHOM_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid, euid;
};

struct thread_info {
	unsigned long flags;
	__u32 status;
};

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	const struct cred *cred;
	void *files, *fs;
};

struct linux_binprm {
	const char *filename;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned short i_mode;
	__u32 i_rdev;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct address_space {
	struct inode *host;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long _flags_1;
};

/* Until Linux 6.5 a folio's order stood alone. */
struct folio___until_6_5 {
	unsigned char _folio_order;
};

enum pageflags {
	PG_head,
};

struct block_device {
	__u32 bd_dev;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct block_device *bi_bdev;
	__u32 bi_opf;
	struct bvec_iter bi_iter;
};

struct request {
	__u32 cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
};

enum req_flag_bits {
	__REQ_PREFLUSH,
};

struct transaction_s {
	unsigned int t_tid;
};

struct journal_s {
	struct block_device *j_fs_dev;
};

struct io_ring_ctx {
	unsigned int flags;
};

struct io_cqe {
	__s32 res;
	int fd;
};

struct io_kiocb {
	__u8 opcode;
	__u32 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

struct kiocb {
	long long ki_pos;
};

/* What a request is made of, by its opcode: it begins with one of these. */
struct io_rw {
	struct kiocb kiocb;
	__u64 addr;
	__u32 len;
};

struct io_sync {
	long long len, off;
};

struct filename {
	const char *name;
};

struct open_how {
	__u64 flags;
};

struct io_open {
	int dfd;
	__u32 file_slot;
	struct filename *filename;
	struct open_how how;
};

struct io_close {
	int fd;
	__u32 file_slot;
};

struct io_statx {
	int dfd;
	struct filename *filename;
};

struct io_unlink {
	int dfd;
	struct filename *filename;
};

struct io_mkdir {
	int dfd;
	struct filename *filename;
};

struct io_rename {
	int old_dfd;
	struct filename *oldpath;
};

#pragma clang attribute pop

/* A call's arguments among the registers, whose order is the same in every kernel: from here on, at these places. */
#ifdef __TARGET_ARCH_arm64
enum { FIRST_REGISTER = 0, REGISTERS = 6 };
static const __u8 argument_registers[] = {0, 1, 2, 3, 4, 5};
#else
enum { FIRST_REGISTER = 7, REGISTERS = 8 }; /* r10, r9, r8, ax, cx, dx, si, di */
static const __u8 argument_registers[] = {7, 6, 5, 0, 2, 1};
#endif

#endif
