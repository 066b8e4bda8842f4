#!/bin/bash
#SBATCH --job-name=s3d
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:30:00
# A Slurm job whose steps are all recorded: sbatch slurm.sh PROGRAM [ARGUMENT...]
# The run directory must lie on a file system that all nodes see; by default it is the folder of the submission.
set -euo pipefail
name=${SLURM_JOB_NAME:-job}.${SLURM_JOB_ID:-0}
launch=${LAUNCH:-srun}

# Cheap counting for all ranks; what is worth a closer look, the page says.
environment=$(fathom env -o "$name" --level "${LEVEL:-file}")
eval "$environment"

status=0
$launch "$@" || status=$?

# What killed ranks left in the memory of their nodes; nothing to do after a clean end. Not itself to be recorded.
unset LD_PRELOAD
if [ "$status" -ne 0 ] && [ "${launch%% *}" = srun ]; then
	srun --ntasks-per-node=1 fathom pack --recover "$name"
fi
fathom pack "$name"
fathom show "$name" --all >"$name.txt"
exit "$status"
