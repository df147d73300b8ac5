#!/bin/bash
# sbatch slurm.sh night-epo.fif.gz run
# The search itself needs one core; it starts and ends the jobs of its workers. If the time of this
# job is over, submit it again: it continues.
#SBATCH --job-name=cadda-search
#SBATCH --cpus-per-task=1
#SBATCH --mem=8G
#SBATCH --time=24:00:00
#SBATCH --output=%x-%j.log
set -euo pipefail

data=${1:?usage: sbatch slurm.sh DATA [OUT]}
out=${2:-run}

source "${VENV:-.venv}/bin/activate"
exec python search_on_slurm.py "$data" --out "$out" --jobs "${JOBS:-32}"
