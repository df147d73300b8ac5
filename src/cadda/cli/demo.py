"""`cadda demo`: a search on simulated EEG, from the probe to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from cadda.cli import options
from cadda.cli.commands import command_line, hint_on_interrupt, name_options
from cadda.cli.search import print_outcome

__all__ = ["demo"]

OWN_RECORDINGS = {
    "motor-imagery": """\
The same on real recordings, which the first command downloads:
  cadda data fetch eegbci --subjects 1-30 --out eegbci
  cadda search eegbci/imagined-fists.toml --model shallow --out run""",
    "sleep": """\
The same on real recordings, which the first command downloads:
  cadda data fetch sleep-physionet --subjects 0-14 --recordings 1 --out nights
  cadda search nights --out run""",
}


def demo(
    data: Annotated[
        Literal["motor-imagery", "sleep"],
        Argument(help="What is simulated: imagined fists, or sleep stages."),
    ] = "motor-imagery",
    out: Annotated[Path, Option(help="Folder for the results.")] = Path("demo"),
    seed: options.Seed = 0,
) -> None:
    """Find augmentation for simulated EEG: probe, race, test on other subjects, report.

    Takes about three minutes on two cores.

    Examples: cadda demo · cadda demo sleep --out demo-sleep
    """
    from cadda.api.demo import DEMOS, N_TEST
    from cadda.runs.report import write_report
    from cadda.runs.sessions import recorded_session
    from cadda.tracking import SearchDisplay, tee

    chosen, run = DEMOS[data], out / "run"
    typer.echo(
        f"Data: {chosen.data} of {chosen.n_usable} subjects to learn from and {N_TEST} to test "
        "on.\n"
        "1. A probe finds out what each operation does to each class.\n"
        "2. A race compares augmentation policies by full training runs, in which all subjects to "
        "learn from take turns in training and validation.\n"
        "3. Models with the policy found and without augmentation are tested."
    )
    windows = chosen.windows(seed)
    with (
        hint_on_interrupt(f"Resume with:\n  {command_line()}"),
        recorded_session(run, command_line()) as session,
        SearchDisplay(repr(windows), format_warning=name_options) as display,
    ):
        outcome = chosen.run(windows, run, seed=seed, on_event=tee(session, display))
    print_outcome(outcome, write_report(run), run)
    typer.echo(OWN_RECORDINGS[data])
