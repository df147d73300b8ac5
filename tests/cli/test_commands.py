"""Errors and help in the words of the command line."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from commands import run
from pydantic import BaseModel, model_serializer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from cadda.cli.app import app
from cadda.cli.commands import add_command, hint_on_interrupt, name_options
from cadda.exceptions import DataError
from cadda.models import MODEL_NAMES
from cadda.models.registry import MODELS
from cadda.searchers.registry import METHODS


def commands(group: TyperGroup, *path: str) -> list[list[str]]:
    """Return the path of every command, `["policy", "show"]` and so on."""
    found = []
    for name, command in group.commands.items():
        inner = [*path, name]
        found += commands(command, *inner) if isinstance(command, TyperGroup) else [inner]
    return found


COMMANDS = commands(get_command(app))


@dataclass(frozen=True)
class Group:
    lr: Annotated[float, typer.Option(help="Learning rate.")] = 0.1
    drop_bad: Annotated[bool, typer.Option("--drop-bad")] = False


def message_of(error: Exception) -> str:
    """Return what is printed when a command raises."""

    def work(
        source: Annotated[str, typer.Argument()],
        group: Group,
        *,
        max_warmup: int = 3,
        n_folds: Annotated[int, typer.Option("--folds")] = 5,
        classwise: Annotated[bool | None, typer.Option("--classwise/--no-classwise")] = None,
        resume: Annotated[bool, typer.Option("--resume")] = False,
    ) -> None:
        assert group == Group(lr=0.5)
        raise error

    small = typer.Typer(pretty_exceptions_enable=False)
    add_command(small, work)
    done = CliRunner().invoke(small, ["somewhere", "--lr", "0.5"])
    assert done.exit_code == 2
    assert not done.stdout
    return done.stderr.strip()


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ("`max_warmup`", "`--max-warmup`"),
        ("`n_folds`", "`--folds`"),
        ("`lr`", "`--lr`"),
        ("`lr=0.01`", "`--lr 0.01`"),
        ("`resume=True`", "`--resume`"),
        ("`classwise=False`", "`--no-classwise`"),
        ("`on_bad='drop'`", "`--drop-bad`"),
        ("`lowpass=None`", "`--lowpass none`"),
        ("`highpass=None`", "`--highpass none`"),
        ("`source`", "`SOURCE`"),
        # These are no options of the command.
        ("`sign_flip`", "`sign_flip`"),
        ("`valid=0.3`", "`valid=0.3`"),
        ("max_warmup", "max_warmup"),
        # These are values, and keys of a file.
        ("'lrr' (did you mean `lr`?)", "'lrr' (did you mean `lr`?)"),
        ("unknown setting `lr`", "unknown setting `lr`"),
        ("key `lr`", "key `lr`"),
    ],
)
def test_errors_name_options(argument: str, option: str) -> None:
    said = message_of(ValueError(f"{argument} must be 3, got 2."))
    assert said == f"cadda: {option} must be 3, got 2."


def test_errors_of_the_library_and_the_system_end_in_a_sentence() -> None:
    assert message_of(DataError("no windows.")) == "cadda: no windows."
    missing = FileNotFoundError(2, "No such file or directory", "a.fif")
    assert message_of(missing) == "cadda: cannot use a.fif: No such file or directory."


def test_warnings_name_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the log and those of `warnings`, without the line of code."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])

    def work(*, max_warmup: int = 3) -> None:
        logging.getLogger("cadda.data").warning("set `max_warmup` to %d.", max_warmup)
        warnings.warn("`max_warmup` is large.", stacklevel=1)
        warnings.warn("`max_warmup` will change.", FutureWarning, stacklevel=1)

    small = typer.Typer(pretty_exceptions_enable=False)
    add_command(small, work)
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        get_command(small)(["--max-warmup", "4"], standalone_mode=False)
    said = capsys.readouterr().err.splitlines()
    assert said == ["set `--max-warmup` to 4.", "Warning: `--max-warmup` is large."]
    assert [str(other.message) for other in others] == ["`max_warmup` will change."]
    logging.getLogger("cadda.data").warning("`max_warmup` is out.")
    assert capsys.readouterr().err.strip() == "`max_warmup` is out."


def test_the_package_can_be_run() -> None:
    command = [sys.executable, "-m", "cadda", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("cadda ")


def test_messages_outside_a_command_stay_as_they_are() -> None:
    assert name_options("`lr` must be positive") == "`lr` must be positive"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_of_itself(path: list[str]) -> None:
    shown = " ".join(run(*path, "--help").stdout.split())
    assert re.search(rf"Examples?: cadda {' '.join(path)}\b", shown), shown


def test_help_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut off, and every option is in the section of its panel."""
    monkeypatch.setenv("COLUMNS", "80")
    group = get_command(app)
    for path in COMMANDS:
        command = group
        for name in path:
            command = command.commands[name]
        shown = run(*path, "--help").stdout
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= 80
        title = ""
        where = {}
        for line in shown.splitlines():
            title = line[:-1] if re.fullmatch(r"\S.*:", line) else title
            where |= dict.fromkeys(re.findall(r"(?<!\S)--[a-z0-9-]+", line), title)
        for option in command.params:
            if option.param_type_name == "option":
                assert where[option.opts[0]] == (option.rich_help_panel or "Options")


def test_help_has_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for path in ([], ["data"], ["policy"], ["experiment"]):
        shown = run(*path, "--help").stdout
        assert "Commands:" in shown
        assert "..." not in shown.partition("Commands:")[2]


def test_no_help_needs_torch() -> None:
    """Nor anything else that takes long to import."""
    script = (
        "import sys; from cadda.cli.app import app\n"
        f"for path in {[[], ['data'], *COMMANDS]}:\n"
        "    try: app([*path, '--help'])\n"
        "    except SystemExit as end: assert end.code == 0\n"
        "    heavy = {'torch', 'mne', 'matplotlib', 'numpy'} & set(sys.modules)\n"
        "    assert not heavy, (path, heavy)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_help_lists_what_the_registries_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    shown = run("search", "--help").stdout
    for name in (*METHODS, *MODELS, "braindecode:NAME"):
        assert name in shown
    assert tuple(MODELS) == MODEL_NAMES


class Interrupted(BaseModel):
    number: int

    @model_serializer
    def interrupt(self) -> str:
        os.kill(os.getpid(), self.number)
        return ""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupts_that_a_library_reports_as_its_own_error(number: int, code: int) -> None:
    def work() -> None:
        with hint_on_interrupt("Resume with: this"):
            Interrupted(number=number).model_dump_json()

    small = typer.Typer(pretty_exceptions_enable=False)
    add_command(small, work)
    # The tests may run in the background of a shell, which ignores interrupts.
    inherited = signal.signal(number, signal.default_int_handler)
    try:
        done = CliRunner().invoke(small, [])
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, inherited)
    assert done.exit_code == code
    assert "Interrupted. Resume with: this" in done.stderr
    assert "Error calling function" not in done.stderr
