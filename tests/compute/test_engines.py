"""Work in this process, in others and on a Dask cluster, with workers that are really killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import dask
import pytest
from dask_processes import dask_processes, wait_for

from cadda.compute import Engine, check_engine, open_engine
from cadda.compute.processes import ProcessEngine, threads_per_worker
from cadda.exceptions import CaddaError, WorkerError

ENGINES = ["serial", "processes:2", "dask:local:2"]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with open_engine(request.param) as opened:
        yield opened


def test_results_come_back(engine: Engine) -> None:
    factor = 3
    futures = [engine.submit(lambda x, *, plus: factor * x + plus, i, plus=1) for i in range(5)]
    assert [future.result() for future in futures] == [1, 4, 7, 10, 13]
    assert list(engine.map(abs, [-1, -2])) == [1, 2]
    assert engine.n_workers == (1 if type(engine).__name__ == "SerialEngine" else 2)


def test_a_shared_value_reaches_each_worker_once(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "unpickled"

    class Big:
        """Writes a line whenever it is unpickled."""

        def __reduce__(self) -> tuple[Any, ...]:
            def remake() -> dict[str, int]:
                with log.open("a") as file:
                    file.write(f"{os.getpid()}\n")
                return {"answer": 42}

            return remake, ()

    shared = engine.share(Big())
    futures = [engine.submit(lambda value: getattr(value, "get", lambda _: 42)("answer"), shared)
               for _ in range(8)]  # fmt: skip
    assert [future.result() for future in futures] == [42] * 8
    readers = log.read_text().split() if log.exists() else []
    in_workers = [reader for reader in readers if int(reader) != os.getpid()]
    assert len(in_workers) == len(set(in_workers)) <= 2


def test_tasks_are_given_as_they_are_done(engine: Engine) -> None:
    futures = [engine.submit(time.sleep, seconds) for seconds in (0.5, 0.0, 0.0, 0.0)]
    fails = engine.submit(int, "x")
    order = list(engine.finished([*futures, fails]))
    assert set(order) == {*futures, fails}
    assert all(future.done() for future in order)
    assert isinstance(fails.exception(), ValueError)
    if engine.n_workers > 1:
        assert order.index(futures[0]) > order.index(futures[1])


def count_faults() -> int:
    """Return the pages that the system has to clear for steps of a few large tensors each."""
    resource = pytest.importorskip("resource")

    def usage() -> int:
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)

    def step() -> None:
        kept = [b"x" * (4 << 20) for _ in range(8)]
        kept.clear()

    # The first makes room for those that are counted.
    step()
    before = usage()
    for _ in range(10):
        step()
    return usage() - before


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
@pytest.mark.parametrize("name", ["processes:1", "dask:local:1"])
@pytest.mark.parametrize("trim", [None, "65536"])
def test_workers_keep_freed_memory(
    name: str, trim: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask sets 65536 for its workers, and in the process that starts them."""
    if trim is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", trim)
    # Each step has 8192 pages.
    with open_engine(name) as engine:
        assert engine.submit(count_faults).result() < 8192


def test_what_users_tell_the_allocator_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "100000")
    with open_engine("processes:1") as engine:
        assert engine.submit(count_faults).result() > 8192


def test_errors_come_back(engine: Engine) -> None:
    def fail() -> None:
        raise KeyError("nothing here")

    with pytest.raises(KeyError, match="nothing here"):
        engine.submit(fail).result()


def test_an_error_that_cannot_be_pickled_comes_back_as_text() -> None:
    class OddError(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__(f"{first} and {second}")

    def fail() -> None:
        raise OddError(1, 2)

    with (
        open_engine("processes:1") as engine,
        pytest.raises(RuntimeError, match="OddError: 1 and 2"),
    ):
        engine.submit(fail).result()


def test_what_a_task_prints_does_no_harm() -> None:
    with open_engine("processes:1") as engine:
        assert engine.submit(lambda: os.write(1, b"hello\n")).result() == 6
        assert engine.submit(lambda: 1).result() == 1


def slow_once(folder: Path) -> str:
    """Write the process id of the worker, and wait to be killed the first time."""
    first = not list(folder.iterdir())
    (folder / str(os.getpid())).touch()
    if first:
        time.sleep(60)
    return "done"


@pytest.mark.parametrize("kind", ["processes:2", "dask:local:2"])
def test_a_killed_worker_costs_a_retry(kind: str, tmp_path: Path) -> None:
    with open_engine(kind) as engine:
        value = engine.share({"x": 1})

        def work(folder: Path, shared: dict[str, int]) -> str:
            return slow_once(folder) + str(shared["x"])

        future: Future[Any] = engine.submit(lambda v, f: work(f, v), value, tmp_path)
        others = [engine.submit(lambda i=i: i) for i in range(3)]
        wait_for(lambda: list(tmp_path.iterdir()))
        os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
        assert future.result(timeout=60) == "done1"
        assert [other.result(timeout=60) for other in others] == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("kind", ["processes:2", "dask:local:2"])
def test_every_worker_killed_at_once(kind: str, tmp_path: Path) -> None:
    """What was shared is lost with those who have it, and is sent again."""
    with open_engine(kind) as engine:
        value = engine.share({"x": 1})
        for i in range(2):
            (tmp_path / str(i)).mkdir()
        futures = [
            engine.submit(lambda v, f: slow_once(f) + str(v["x"]), value, tmp_path / str(i))
            for i in range(2)
        ]
        wait_for(lambda: all(list((tmp_path / str(i)).iterdir()) for i in range(2)))
        for i in range(2):
            os.kill(int(next((tmp_path / str(i)).iterdir()).name), signal.SIGKILL)
        assert [future.result(timeout=120) for future in futures] == ["done1", "done1"]


def test_a_task_that_kills_every_worker_is_given_up() -> None:
    with open_engine("processes:2") as engine:
        fatal = engine.submit(lambda: os._exit(9))
        others = [engine.submit(lambda i=i: i) for i in range(4)]
        with pytest.raises(WorkerError, match=r"3 workers died .* code 9"):
            fatal.result()
        assert [other.result() for other in others] == [0, 1, 2, 3]


@pytest.mark.slow
def test_a_task_that_kills_every_dask_worker_is_given_up() -> None:
    with open_engine("dask:local:1") as engine:
        with pytest.raises(WorkerError, match="run_alone"):
            engine.submit(lambda: os._exit(9)).result(timeout=120)
        assert engine.submit(lambda: 1).result(timeout=60) == 1


def test_leaving_ends_workers_at_once() -> None:
    start = time.monotonic()
    with open_engine("processes:2") as engine:
        assert isinstance(engine, ProcessEngine)
        engine.submit(time.sleep, 60)
        wait_for(lambda: engine.worker_ids)
        ids = engine.worker_ids
    assert time.monotonic() - start < 30
    for number in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_interrupts_of_a_terminal_do_not_reach_workers() -> None:
    """Not even while a worker imports, when it would print a traceback."""
    with open_engine("processes:1") as engine:
        assert isinstance(engine, ProcessEngine)
        answer = engine.submit(lambda: 1)
        wait_for(lambda: engine.worker_ids)
        assert os.getpgid(engine.worker_ids[0]) != os.getpgrp()
        assert answer.result() == 1


def test_threads_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert [threads_per_worker(n) for n in (1, 3, 8, 20)] == [8, 2, 1, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert threads_per_worker(2) == 2
    with open_engine("processes:2") as engine:
        assert engine.submit(lambda: os.environ["OMP_NUM_THREADS"]).result() == "2"


@pytest.mark.parametrize(
    "text", ["", "seriel", "processes", "processes:0", "processes:two", "dask", "dask:local"]
)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="`engine` must be 'serial', 'processes:N', 'dask:ADDR"):
        check_engine(text)


def waiting_at_most(time: str) -> AbstractContextManager[object]:
    return dask.config.set({"distributed.comm.timeouts.connect": time})


def test_a_scheduler_that_is_not_there() -> None:
    with (
        waiting_at_most("200ms"),
        pytest.raises(CaddaError, match=r"cannot be reached .*; is a scheduler running"),
    ):
        open_engine("dask:tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_scheduler_of_its_own(tmp_path: Path) -> None:
    """As on a cluster: scheduler and workers are started apart; a worker has two threads."""

    def overlapping(log: Path) -> bool:
        """Return whether another task runs in this process at the same time."""
        inside = log / f"{os.getpid()} {time.monotonic_ns()}"
        inside.touch()
        time.sleep(0.2)
        others = len(list(log.iterdir())) > 1
        inside.unlink()
        return others

    log = tmp_path / "log"
    log.mkdir()
    with dask_processes(tmp_path) as cluster:
        with (
            waiting_at_most("3s"),
            pytest.raises(CaddaError, match="the scheduler has no workers; start some, or wait"),
        ):
            open_engine(f"dask:{cluster.address}")
        cluster.add_worker("--nthreads", "2")
        with waiting_at_most("60s"), open_engine(f"dask:{cluster.address}") as engine:
            futures = [engine.submit(overlapping, log) for _ in range(4)]
            assert [future.result(timeout=60) for future in futures] == [False] * 4
