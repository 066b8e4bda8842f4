/* fathom-forward-fuse [--token FILE] [--timeout S] [--durability accepted|written|synced] ADDRESS DIR
 * A forwarding server's files as a file system at DIR, for shells and static programs; docs/forwarding-fuse.md. In the
 * foreground: prints DIR once it is mounted, ends by SIGTERM, SIGINT or when it is unmounted. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mount.h"

enum { THREADS = 64 /* calls at once: the window of a client */ };

struct mount mount_point = {.level = FATHOM_FWD_WRITTEN};

/* What takes away set-user-ID bits when a file is written is left to the kernel, which knows the caller. */
static void begin(void *with, struct fuse_conn_info *connection)
{
	(void)with;
	connection->want &= ~(unsigned)(FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_ATOMIC_O_TRUNC);
}

const struct fuse_lowlevel_ops mount_operations = {
	.init = begin,
	.lookup = do_lookup,
	.forget = do_forget,
	.getattr = do_getattr,
	.setattr = do_setattr,
	.readlink = do_readlink,
	.mknod = do_mknod,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.symlink = do_symlink,
	.rename = do_rename,
	.link = do_link,
	.create = do_create,
	.open = do_open,
	.read = do_read,
	.write = do_write,
	.flush = do_flush,
	.fsync = do_fsync,
	.release = do_release,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.releasedir = do_releasedir,
	.fsyncdir = do_fsync,
	.statfs = do_statfs,
	.getlk = do_getlk,
	.setlk = do_setlk,
	.flock = do_flock,
	.lseek = do_lseek,
	.fallocate = do_fallocate,
	.getxattr = do_getxattr,
	.setxattr = do_setxattr,
	.listxattr = do_listxattr,
	.removexattr = do_removexattr,
};

static int usage(void)
{
	fputs("usage: fathom-forward-fuse [--token FILE] [--munge[=SOCKET]] [--timeout S] "
	      "[--durability accepted|written|synced] ADDRESS DIR\n",
	      stderr);
	return 2;
}

static uint8_t durability_of(const char *word)
{
	static const char *const words[] = {"accepted", "written", "synced"};

	for (uint8_t i = 0; i < 3; i++)
		if (!strcmp(word, words[i]))
			return (uint8_t)(FATHOM_FWD_ACCEPTED + i);
	return 0;
}

/* False: what was said is wrong. */
static bool read_options(int argc, char **argv, struct fathom_fwd_options *options)
{
	static const struct option known[] = {{"token", required_argument, NULL, 't'},
					      {"munge", optional_argument, NULL, 'm'},
					      {"timeout", required_argument, NULL, 's'},
					      {"durability", required_argument, NULL, 'd'},
					      {0}};
	double seconds;
	int word;

	while ((word = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (word) {
		case 't':
			options->token_file = optarg;
			break;
		case 'm':
			options->munge = optarg ? optarg : "";
			break;
		case 's':
			seconds = strtod(optarg, NULL);
			if (!(seconds > 0 && seconds < 1e6))
				return false;
			mount_point.timeout = (uint32_t)(seconds * 1000);
			break;
		case 'd':
			mount_point.level = durability_of(optarg);
			if (!mount_point.level)
				return false;
			break;
		default:
			return false;
		}
	}
	options->timeout = mount_point.timeout;
	return argc - optind == 2;
}

/* The kernel checks modes and owners; all users may come where the server can give files to them. */
static struct fuse_session *session(const char *address)
{
	char options[300];
	char *words[] = {"fathom-forward-fuse", "-o", options, NULL};
	struct fuse_args arguments = FUSE_ARGS_INIT(3, words);

	snprintf(options, sizeof(options), "default_permissions%s,subtype=fathom,fsname=%.200s",
		 geteuid() ? "" : ",allow_other", address);
	return fuse_session_new(&arguments, &mount_operations, sizeof(mount_operations), NULL);
}

static int serve(struct fuse_session *s)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int signal;

	fuse_loop_cfg_set_max_threads(config, THREADS);
	signal = fuse_session_loop_mt(s, config);
	fuse_loop_cfg_destroy(config);
	return signal < 0; /* a signal's number: it was asked to end */
}

int main(int argc, char **argv)
{
	struct fathom_fwd_options options = {.name = NULL};
	struct fathom_fwd_error error;
	struct fuse_session *s;
	int failed = 1;

	if (!read_options(argc, argv, &options))
		return usage();
	if (fathom_fwd_init(&mount_point.client, argv[optind], &options, &error)) {
		fprintf(stderr, "fathom forward: %s\n", error.what);
		return 1;
	}
	s = session(argv[optind]);
	if (s && !fuse_set_signal_handlers(s) && !fuse_session_mount(s, argv[optind + 1])) {
		puts(argv[optind + 1]);
		fclose(stdout);
		failed = serve(s);
		fuse_session_unmount(s);
		locks_end();
	}
	if (s)
		fuse_session_destroy(s);
	fathom_fwd_finalize(mount_point.client);
	return failed;
}
