"""The command line: each file parses one command, calls the library and prints."""

import os

# Threads that wait for each other use up their cores. On a busy machine, training then took
# seventy times as long with two threads as with one. This is read once, when torch is loaded.
if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
    os.environ["GOMP_SPINCOUNT"] = "1000"
