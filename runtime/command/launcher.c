/* Who started us: a parallel launcher or not, and a name for the job on which all its ranks agree. */
#include "command.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* Slurm's batch script and interactive shell are steps as well, with numbers from the top. */
static bool slurm_task(void)
{
	const char *step = variable("SLURM_STEP_ID");

	return variable("SLURM_PROCID") && step && strtoull(step, NULL, 10) < 0xfffffff0u;
}

/* Name, parent and start time of a process; /proc/PID/stat, where the name may hold anything. */
static bool process_read(int pid, char name[64], int *parent, char start[32])
{
	char *path = format_text("/proc/%d/stat", pid);
	char line[1024];
	char *open, *close, *field;
	int number = 3;

	if (!read_line(path, line, sizeof(line)))
		return false;
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close)
		return false;
	*close = '\0';
	snprintf(name, 64, "%s", open + 1);
	for (field = strtok(close + 2, " "); field; field = strtok(NULL, " "), number++) {
		if (number == 4)
			*parent = atoi(field);
		if (number == 22)
			snprintf(start, 32, "%s", field);
	}
	return number > 22;
}

/* Hydra gives no job id. On one node its proxy, the ancestor of all ranks, is one. */
static const char *hydra_job(void)
{
	const char *here = variable("MPI_LOCALNRANKS"), *all = variable("PMI_SIZE");
	struct node node;
	char name[64], start[32] = "";
	int pid = getpid(), parent = 0, proxy = getppid();

	if (!here || !all || strcmp(here, all))
		return NULL;
	for (int up = 0; up < 8 && pid > 1 && process_read(pid, name, &parent, start); up++) {
		if (strcmp(name, "hydra_pmi_proxy") == 0)
			proxy = pid;
		pid = parent;
	}
	if (!process_read(proxy, name, &parent, start))
		return NULL;
	node_read(&node);
	return format_text("%s.%s.%d.%s", node.host, node.boot_id, proxy, start);
}

struct launcher launcher_find(void)
{
	const char *unique = variable("OMPI_MCA_orte_precondition_transports");

	if (slurm_task())
		return (struct launcher){"slurm", format_text("%s.%s", variable("SLURM_JOB_ID"),
							      variable("SLURM_STEP_ID"))};
	/* Open MPI's name spaces come back after some days; its transport key does not. */
	if (variable("PMIX_RANK") || variable("OMPI_COMM_WORLD_RANK"))
		return (struct launcher){"pmix",
					 variable("PMIX_NAMESPACE")
						 ? format_text("%s.%s", variable("PMIX_NAMESPACE"),
							       unique ? unique : "")
						 : unique};
	if (variable("MPI_LOCALRANKID"))
		return (struct launcher){"hydra", hydra_job()};
	if (variable("PMI_RANK"))
		return (struct launcher){"pmi", variable("PMI_JOBID") ? variable("PMI_JOBID")
								      : variable("PBS_JOBID")};
	return (struct launcher){"", NULL};
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* After a launcher the program is the first word that is an executable file. */
const char *program_word(char **command)
{
	static const char *const launchers[] = {
		"mpiexec", "mpirun", "orterun", "prterun", "srun",    "aprun", "jsrun",
		"ibrun",   "env",    "numactl", "taskset", "timeout", "nice",  "time",
	};
	const char *name = base_name(command[0]);

	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		size_t length = strlen(launchers[i]);

		if (strncmp(name, launchers[i], length) || (name[length] && name[length] != '.'))
			continue;
		for (char **word = command + 1; *word; word++)
			if (strchr(*word, '/') && access(*word, X_OK) == 0 &&
			    open(*word, O_DIRECTORY | O_PATH | O_CLOEXEC) < 0)
				return program_word(word);
	}
	return command[0];
}

const char *program_name(char **command)
{
	return base_name(program_word(command));
}
