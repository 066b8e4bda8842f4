#!/bin/bash
#PBS -N s3d
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l walltime=00:30:00
#PBS -v PROGRAM,ARGUMENTS
# A PBS job that is recorded: qsub -v PROGRAM=./s3d,ARGUMENTS="200 200 200" pbs.sh
set -euo pipefail
cd "${PBS_O_WORKDIR:-.}"
name=${PBS_JOBNAME:-job}.${PBS_JOBID%%.*}
launch=${LAUNCH:-mpiexec}

environment=$(fathom env -o "$name" --level "${LEVEL:-file}")
eval "$environment"

# Open MPI hands the environment to other nodes by -x only; MPICH and Intel MPI do so by themselves.
if $launch --version 2>&1 | grep -qi -e open-mpi -e openrte -e 'open mpi'; then
	for variable in LD_PRELOAD $(compgen -e FATHOM_); do
		launch="$launch -x $variable"
	done
fi
status=0
# The words of ARGUMENTS are the program's arguments.
# shellcheck disable=SC2086
$launch "$PROGRAM" ${ARGUMENTS:-} || status=$?

unset LD_PRELOAD
fathom pack "$name"
fathom show "$name" --all >"$name.txt"
exit "$status"
