"""Search on the nodes of a SLURM cluster; the same call continues an interrupted search.

``python search_on_slurm.py night-epo.fif.gz --out run`` starts up to 32 jobs with a worker each.
``--local 2`` tries the script out, with two workers of this machine.
"""

import argparse
from typing import Any

import cadda


def start_cluster(n_jobs: int, n_local: int | None) -> Any:
    """Start workers; they come as soon as the queue lets them, and may be fewer than asked for."""
    if n_local is not None:
        from distributed import LocalCluster

        return LocalCluster(n_workers=n_local, threads_per_worker=1, dashboard_address=":0")
    from dask_jobqueue import SLURMCluster

    cluster = SLURMCluster(
        cores=1,
        processes=1,
        memory="8GB",
        walltime="04:00:00",
        # A worker ends before its job does, so that it can give its data and tasks to others.
        worker_extra_args=["--lifetime", "230m", "--lifetime-stagger", "5m"],
    )
    cluster.adapt(minimum_jobs=1, maximum_jobs=n_jobs)
    return cluster


def main() -> None:
    """Read, search, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="what `cadda.read_windows` reads")
    parser.add_argument("--out", default="run", help="folder of the search")
    parser.add_argument("--jobs", type=int, default=32, help="most jobs at the same time")
    parser.add_argument("--local", type=int, help="workers of this machine instead of jobs")
    parser.add_argument("--budget", type=int, help="training runs of the search")
    parser.add_argument("--max-epochs", type=int, default=300, help="of each training run")
    arguments = parser.parse_args()
    windows = cadda.read_windows(arguments.data)
    train, valid, test = windows.split(valid=0.2, seed=0)
    with start_cluster(arguments.jobs, arguments.local) as cluster:
        cluster.wait_for_workers(1)
        result = cadda.search(
            train,
            valid,
            budget=arguments.budget,
            training=cadda.TrainingSettings(max_epochs=arguments.max_epochs),
            engine=f"dask:{cluster.scheduler_address}",
            run_dir=arguments.out,
        )
    print(result.verdict)
    print(f"unseen subjects: {cadda.evaluate(result.fitted, test).balanced_accuracy:.3f}")


# Workers of this machine import the script once more, and must not search themselves.
if __name__ == "__main__":
    main()
