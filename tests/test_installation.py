"""The wheel, installed into a fresh environment outside the checkout, works as it should."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PIP = ("-m", "pip", "--disable-pip-version-check")

pytestmark = pytest.mark.slow


def call(*command: object, cwd: Path) -> str:
    """Run a command without the paths of this environment, and return what it prints."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside the checkout, or skip where no package can be downloaded."""
    folder = tmp_path_factory.mktemp("installation")
    download = [sys.executable, *PIP, "download", "--quiet", "--no-deps", "hatchling"]
    if subprocess.run(download, cwd=folder, capture_output=True).returncode:
        pytest.skip("packages cannot be downloaded here")
    return folder


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    build = (*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "dist", ROOT)
    call(sys.executable, *build, cwd=folder)
    (wheel,) = (folder / "dist").iterdir()
    return wheel


@pytest.fixture(scope="module")
def programs(folder: Path, wheel: Path) -> Path:
    """Return the programs of an environment that has the wheel and what it requires."""
    call(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    install = ("install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
    call(programs / "python", *PIP, *install, cwd=folder)
    return programs


def test_the_wheel_has_all_files_of_the_package_and_no_others(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = call("git", "ls-files", "src/cadda", cwd=ROOT).splitlines()
    assert names == {name.removeprefix("src/") for name in tracked}


def test_the_command_has_the_name_of_the_package(wheel: Path) -> None:
    """Tools that run a command from a package, such as uvx and pipx, rely on it."""
    content = zipfile.ZipFile(wheel)
    (entry,) = (name for name in content.namelist() if name.endswith("entry_points.txt"))
    assert "cadda = cadda.cli.app:main" in content.read(entry).decode()


def test_requirements_are_complete(programs: Path, folder: Path) -> None:
    assert "No broken requirements" in call(programs / "python", *PIP, "check", cwd=folder)
    where = "import cadda; print(cadda.__file__, cadda.Windows.__name__)"
    assert str(folder) in call(programs / "python", "-c", where, cwd=folder)
    assert json.loads(call(programs / "cadda", "doctor", "--json", cwd=folder))["healthy"]


def test_search_on_the_command_line(programs: Path, folder: Path) -> None:
    version = call(programs / "cadda", "--version", cwd=folder)
    assert version.split()[-1] in (ROOT / "src" / "cadda" / "_version.py").read_text()
    data = folder / "data.npz"
    simulate = ("data", "simulate", "motor-imagery", data, "--subjects", 6, "--windows", 10)
    call(programs / "cadda", *simulate, cwd=folder)
    options = ("--method", "random", "--budget", 2, "--model", "shallow", "--max-epochs", 2)
    run = folder / "run"
    found = json.loads(
        call(programs / "cadda", "search", data, "--out", run, *options, "--json", cwd=folder)
    )
    assert 0 <= found["scores"]["balanced_accuracy"] <= 1
    assert found["policy"]["format"] == "cadda-policy"
    assert "</html>" in (run / "report.html").read_text("utf-8")
