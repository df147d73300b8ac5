"""The files of docs/cluster.md: what can be checked without SLURM and Kubernetes."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_commands import tiny_windows
from typer.main import get_command

from cadda.cli.app import app
from cadda.compute import check_engine

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "cluster"


@pytest.mark.slow
def test_the_script_for_slurm_searches_with_local_workers(tmp_path: Path) -> None:
    data = tmp_path / "windows.npz"
    tiny_windows().save(data)
    options = [
        "--local",
        "1",
        "--budget",
        "12",
        "--max-epochs",
        "1",
        "--out",
        str(tmp_path / "run"),
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", FOLDER / "search_on_slurm.py", data, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "unseen subjects: 0." in done.stdout or "unseen subjects: 1." in done.stdout
    assert (tmp_path / "run" / "policy.json").exists()


def test_the_script_for_slurm_asks_for_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for dask-jobqueue, which is not installed here."""
    asked: dict[str, Any] = {}

    class SLURMCluster:
        def __init__(self, **options: Any) -> None:
            asked.update(options)

        def adapt(self, **options: Any) -> None:
            asked.update(options)

    module = type(sys)("dask_jobqueue")
    module.SLURMCluster = SLURMCluster  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dask_jobqueue", module)
    names: dict[str, Any] = {"__name__": "script"}
    exec((FOLDER / "search_on_slurm.py").read_text(), names)  # noqa: S102
    names["start_cluster"](7, None)
    assert (asked["cores"], asked["processes"], asked["maximum_jobs"]) == (1, 1, 7)
    hours, minutes, _ = map(int, asked["walltime"].split(":"))
    lifetime = dict(
        zip(asked["worker_extra_args"][::2], asked["worker_extra_args"][1::2], strict=True)
    )
    latest = int(lifetime["--lifetime"][:-1]) + int(lifetime["--lifetime-stagger"][:-1])
    assert latest < 60 * hours + minutes


def test_the_job_for_slurm_is_valid_and_calls_the_script() -> None:
    path = FOLDER / "slurm.sh"
    subprocess.run(["/bin/bash", "-n", path], check=True)
    assert "exec python search_on_slurm.py" in path.read_text()
    done = subprocess.run(["/bin/bash", path], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "usage: sbatch slurm.sh DATA [OUT]" in done.stderr


@pytest.fixture
def job() -> dict[str, Any]:
    (document,) = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
    return document


def container(part: dict[str, Any]) -> dict[str, Any]:
    (only,) = part["spec"]["containers"]
    return only


def test_all_containers_have_the_image_that_is_built(job: dict[str, Any]) -> None:
    cluster = job["spec"]["cluster"]["spec"]
    parts = (job["spec"]["job"], cluster["worker"], cluster["scheduler"])
    images = {container(part)["image"] for part in parts}
    first = (FOLDER / "Dockerfile").read_text().splitlines()[0]
    words = shlex.split(first.removeprefix("# "))
    assert images == {words[words.index("--tag") + 1]}
    assert (ROOT / words[words.index("--file") + 1]).exists()


def test_the_service_finds_the_scheduler_of_the_job(job: dict[str, Any]) -> None:
    assert (job["apiVersion"], job["kind"]) == ("kubernetes.dask.org/v1", "DaskJob")
    scheduler = job["spec"]["cluster"]["spec"]["scheduler"]
    service = scheduler["service"]
    assert service["selector"]["dask.org/cluster-name"] == job["metadata"]["name"]
    ports = {port["name"]: port["containerPort"] for port in container(scheduler)["ports"]}
    assert ports == {"tcp-comm": 8786, "http-dashboard": 8787}
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == ports


def test_the_containers_run_commands_that_exist(job: dict[str, Any]) -> None:
    program, command, *arguments = container(job["spec"]["job"])["args"]
    assert program == "cadda"
    found: Any = get_command(app)
    context = found.get_command(None, command).make_context(command, list(arguments))
    check_engine(context.params["engine"].replace("$(DASK_SCHEDULER_ADDRESS)", "tcp://a:8786"))
    cluster = job["spec"]["cluster"]["spec"]
    for kind in ("worker", "scheduler"):
        program, command, *options = container(cluster[kind])["args"]
        assert (program, command) == ("dask", kind)
        known = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", f"distributed.cli.dask_{kind}", "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert all(option in known for option in options if option.startswith("--"))
