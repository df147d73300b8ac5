"""Schedulers and workers of Dask as processes: data, workers that come and go, certificates."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from dask_processes import dask_processes, wait_for
from distributed import Client, LocalCluster

from cadda.compute import Engine, open_engine
from cadda.exceptions import CaddaError


def make_shared(log: Path) -> Any:
    """Make a value that writes a line in each process that receives it.

    Its class is defined here, so that workers, which do not have this file, get it as well.
    """

    class Shared:
        def __reduce__(self) -> tuple[Any, ...]:
            def restore() -> Any:
                with log.open("a") as file:
                    file.write(f"{os.getpid()}\n")
                return Shared()

            return restore, ()

        def work(self, seconds: float) -> int:
            time.sleep(seconds)
            return os.getpid()

    return Shared()


def submit(engine: Engine, shared: Any, n_tasks: int, seconds: float) -> list[Any]:
    return [engine.submit(lambda value: value.work(seconds), shared) for _ in range(n_tasks)]


def receivers(log: Path) -> list[int]:
    here = str(os.getpid())
    return sorted(int(line) for line in log.read_text().split() if line != here)


def test_workers_that_come_later_get_the_data_once_and_take_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would remove copies from workers that have nothing to do for a moment.
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ACTIVE_MEMORY_MANAGER__INTERVAL", "100ms")
    with dask_processes(tmp_path) as cluster:
        cluster.add_worker()
        with open_engine(f"dask:{cluster.address}") as engine:
            assert engine.n_workers == 1
            shared = engine.share(make_shared(tmp_path / "log"))
            futures = submit(engine, shared, 16, 0.4)
            cluster.add_worker()
            wait_for(lambda: engine.n_workers == 2)
            done = {future.result(timeout=60) for future in futures}
            time.sleep(1)
            again = submit(engine, shared, 4, 0.3)
            assert {future.result(timeout=60) for future in again} == done
        with Client(cluster.address) as client:
            assert client.amm.running()
    assert len(done) == 2
    assert receivers(tmp_path / "log") == sorted(done)


def test_without_any_worker_tasks_wait_for_the_next(tmp_path: Path) -> None:
    with dask_processes(tmp_path) as cluster:
        first = cluster.add_worker()
        with open_engine(f"dask:{cluster.address}") as engine:
            futures = submit(engine, engine.share(make_shared(tmp_path / "log")), 3, 0.5)
            wait_for(lambda: (tmp_path / "log").exists())
            first.kill()
            second = cluster.add_worker()
            done = [future.result(timeout=60) for future in futures]
            assert set(done) <= {first.pid, second.pid}
            assert done[-1] == second.pid
            # All tasks have lost the data, and it is sent again once.
            assert receivers(tmp_path / "log").count(second.pid) == 1


def test_an_adaptive_cluster_starts_workers_when_there_is_work(tmp_path: Path) -> None:
    with LocalCluster(
        n_workers=0, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="100ms", wait_count=3)
        with open_engine(f"dask:{cluster.scheduler_address}") as engine:
            shared = engine.share(make_shared(tmp_path / "log"))
            futures = submit(engine, shared, 12, 0.5)
            done = {future.result(timeout=60) for future in futures}
            assert 1 <= len(done) <= 2
            wait_for(lambda: len(cluster.scheduler.workers) < 2)
            futures = submit(engine, shared, 2, 0.1)
            assert all(future.result(timeout=60) for future in futures)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a certificate that signs itself, with its key in the same file."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


def test_a_cluster_with_certificates(certificate: Path, tmp_path: Path) -> None:
    file = str(certificate)
    options = ["--tls-ca-file", file, "--tls-cert", file, "--tls-key", file]
    with dask_processes(tmp_path, *options, protocol="tls") as cluster:
        assert cluster.address.startswith("tls://")
        cluster.add_worker()
        with pytest.raises(CaddaError, match="needs certificates; set those of `distributed"):
            open_engine(f"dask:{cluster.address}")
        names = ("ca-file", "client.cert", "client.key")
        with (
            dask.config.set({f"distributed.comm.tls.{name}": file for name in names}),
            open_engine(f"dask:{cluster.address}") as engine,
        ):
            assert engine.submit(lambda: 42).result(timeout=60) == 42
