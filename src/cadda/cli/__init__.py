"""The command line: each file parses one command, calls the library and prints."""

import os

# Threads that wait for each other use up their cores. On a busy machine, training took 3 to 47
# times as long with two threads as with one (benchmarks/busy.py). Torch reads this when loaded.
if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = "1000"
