"""The panel: what searches gain on unseen subjects where few subjects can be learned from.

``python -m benchmarks panel --folder DIR --work DIR`` takes 6, 12 or 18 usable subjects of seven
sets of data, five with recordings (``*-epo.fif.gz``) and two simulated, and tests on all others
(simulated: 60 fresh ones), in five or ten draws. In each draw, a policy is found under every
condition (no augmentation, every window twice, all operations equally often, `guided`, `auto` and
other searches); the first third of the usable subjects validates where a method needs that. Models
are then trained with it six times, and each third of the usable subjects validates twice. The
score is the mean balanced accuracy of the six models on the test subjects.

Results are kept in ``benchmarks/results/panel.jsonl``, and unfinished searches in the folder
``--work``; a rerun computes what is missing. ``--status`` prints what that is and how long it may
take, ``--table`` the results. Not all differences between draws are independent, because they
share subjects.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.panel_jobs import Job, run
from benchmarks.panel_plan import CONDITIONS, Kept, Plan, panel_cells, panel_plan
from benchmarks.panel_sets import SETS, Cell
from benchmarks.panel_table import summary_tables
from benchmarks.parallel import Record, run_jobs
from benchmarks.records import Records
from cadda.tracking.displays import format_duration


def run_plan(
    plan: Plan, records: Records, *, folder: Path, work: Path, engine: str, console: Console
) -> bool:
    """Compute what is missing, and keep it; return whether all jobs succeeded."""
    kept, n_failed = Kept(records.all()), 0
    n_workers = int(engine.partition(":")[2] or 1)
    jobs = run_jobs(
        lambda: plan.ready(kept), partial(run, folder=folder, work=work), engine=engine
    )
    for job, made in jobs:
        if isinstance(made, Exception):
            n_failed += 1
            console.print(f"FAILED {job.title}: {type(made).__name__}: {made}")
            continue
        record = job.key | made
        records.lines.append(record)
        kept.add(record)
        console.print(f"{progress(plan, kept, n_workers)} · {describe(job, made)}")
    return n_failed == 0


def progress(plan: Plan, kept: Kept, n_workers: int) -> str:
    """Return such as ``"12 of 340, 3.5 h left"``."""
    jobs = plan.all_jobs(kept)
    missing = [job for job in jobs if job not in kept]
    return f"{len(jobs) - len(missing)} of {len(jobs)}, {time_left(missing, kept, n_workers)} left"


def time_left(jobs: list[Job], kept: Kept, n_workers: int) -> str:
    """Estimate the time of jobs from similar ones; those without any are counted."""
    seconds = [kept.expected_seconds(job) for job in jobs]
    known = sum(value for value in seconds if value is not None)
    n_unknown = seconds.count(None)
    more = f" and {n_unknown} jobs without an estimate" if n_unknown else ""
    return f"{format_duration(known / n_workers)}{more}"


def describe(job: Job, made: Record) -> str:
    """Return what a job has found."""
    answer = made.get("race", {}).get("chosen") or ("none" if made.get("is_none") else "done")
    result = made.get("balanced_accuracy", answer)
    return f"{job.title}: {result} ({format_duration(made['seconds'])})"


def status(plan: Plan, kept: Kept, n_workers: int) -> Table:
    """Return how many jobs are finished, and the time that the others may take."""
    groups: dict[tuple[str, int], list[Job]] = {}
    for job in plan.all_jobs(kept):
        groups.setdefault((job.cell.set, job.cell.n_usable), []).append(job)
    table = Table(title="jobs of the panel", caption=progress(plan, kept, n_workers))
    for column in ("data", "subjects", "finished", "missing", "time left"):
        table.add_column(column)
    for (name, size), jobs in groups.items():
        missing = [job for job in jobs if job not in kept]
        left = Counter(job.condition for job in missing)
        finished = f"{len(jobs) - len(missing)} of {len(jobs)}"
        words = ", ".join(f"{condition} {count}" for condition, count in left.items())
        table.add_row(name, str(size), finished, words, time_left(missing, kept, n_workers))
    return table


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all")
    parser.add_argument("--sizes", type=int, nargs="+", help="only these numbers of subjects")
    parser.add_argument(
        "--draws", type=int, nargs="+", help="only these draws; tables have those from 20 on"
    )
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=CONDITIONS)
    parser.add_argument("--status", action="store_true", help="print what is missing, and stop")
    parser.add_argument("--table", action="store_true", help="print the results, and stop")
    add_run_arguments(parser)
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.sets) - set(SETS))
    if unknown:
        parser.error(f"SET must be among {', '.join(SETS)}, got {unknown[0]}")
    return arguments


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=Path(), help="folder of the recordings")
    parser.add_argument(
        "--work", type=Path, default=Path("panel-work"), help="unfinished searches"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes, each with one thread")


def selected_cells(arguments: argparse.Namespace) -> list[Cell]:
    return [
        cell
        for cell in panel_cells(arguments.draws)
        if cell.set in (arguments.sets or SETS)
        if arguments.sizes is None or cell.n_usable in arguments.sizes
    ]


def main() -> None:
    arguments = parse_arguments()
    records, console = Records("panel"), Console(highlight=False, markup=False, soft_wrap=True)
    plan = panel_plan(selected_cells(arguments), arguments.conditions)
    if arguments.status:
        console.print(status(plan, Kept(records.all()), arguments.jobs))
        return
    is_complete = arguments.table or run_plan(
        plan,
        records,
        folder=arguments.folder.resolve(),
        work=arguments.work.resolve(),
        engine=f"processes:{arguments.jobs}",
        console=console,
    )
    console.print(summary_tables(Kept(records.all())))
    if not is_complete:
        raise SystemExit("Some jobs failed; a rerun tries them again.")
