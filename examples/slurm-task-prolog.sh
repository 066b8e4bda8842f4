#!/bin/bash
# Counts the I/O of every job of a centre. In slurm.conf: TaskProlog=/etc/slurm/fathom-task-prolog.sh; docs/batch.md says the rest.
#
# One run directory per job, SPOOL/USER/JOB.fathom, made by the job's user; of a step outside a batch script JOB.STEP.fathom. SPOOL
# is a directory like /tmp (mode 1777) that all nodes see. Users opt out by FATHOM_DISABLE=1; their own `fathom run` goes before.
# Slurm reads what is printed. Where anything fails nothing is printed, and the job starts as without.
spool=${FATHOM_SPOOL:-/var/spool/fathom}
fathom=${FATHOM_COMMAND:-/usr/local/bin/fathom}

[ -z "${FATHOM_DISABLE:-}${FATHOM_RUN:-}" ] || exit 0
run=$spool/$(id -un)/$SLURM_JOB_ID
# The numbers from the top are the batch script and the like: steps started in it are of the same run.
[ "${SLURM_STEP_ID:-4294967291}" -ge 4294967280 ] || run=$run.$SLURM_STEP_ID
mkdir -p "${run%/*}" 2>/dev/null || exit 0
environment=$("$fathom" env --join -o "$run" --level job 2>/dev/null) || exit 0
eval "$environment"
for name in LD_PRELOAD $(compgen -e FATHOM_); do
	printf 'export %s=%s\n' "$name" "${!name}"
done
