/* Made from catalog/runtime-files.toml by `make facts`. */
#ifndef FATHOM_LAUNCHERS_H
#define FATHOM_LAUNCHERS_H

/* Programs whose own calls are not recorded; the environment passes through them. */
/* clang-format off */
static const char *const launchers[] = {
	"mpiexec*",
	"mpirun*",
	"orterun",
	"orted",
	"prte*",
	"prun",
	"hydra_*",
	"pmi_proxy",
	"srun",
	"sbatch",
	"salloc",
	"slurmstepd",
	"aprun",
	"jsrun",
	"flux",
	"ibrun",
	"ssh",
	"sshd",
	"rsh",
	"env",
	"timeout",
	"nice",
	"numactl",
	"taskset",
	"time",
	"stdbuf",
	"setsid",
	"nohup",
	"sudo",
	"strace",
	"ltrace",
	"gdb",
	"fathom",
	"sh",
	"bash",
	"dash",
	"ksh*",
	"zsh",
	"csh",
	"tcsh",
	"fish",
	"busybox",
	"fathom-engine",
};
/* clang-format on */

#endif
