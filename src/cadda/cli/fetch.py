"""`cadda data fetch`: download public recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from cadda.cli.commands import command_group
from cadda.cli.display import progress_bar
from cadda.cli.options import AsJson

__all__ = ["app", "eegbci", "sleep_physionet"]


def sleep_physionet(
    subjects: Annotated[str, Option(help="Numbers of the subjects, such as 0-4,7.")] = "0-4",
    recordings: Annotated[str, Option(help="Nights per subject, such as 1,2.")] = "1,2",
    out: Annotated[
        Path | None, Option(help="Folder to download to; default: MNE's data folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Download nights of Sleep Physionet, about 50 MB each; existing files are kept.

    Example: cadda data fetch sleep-physionet --subjects 0-4 --recordings 1,2
    """
    from cadda.data.datasets.sleep_physionet import fetch_sleep_physionet

    numbers = _numbers("subjects", subjects)
    with progress_bar("Fetching") as on_progress:
        pairs = fetch_sleep_physionet(
            numbers, _numbers("recordings", recordings), folder=out, on_progress=on_progress
        )
    where = pairs[0][0].parent
    if as_json:
        typer.echo(json.dumps({"folder": str(where), "nights": len(pairs)}, indent=1))
        return
    typer.echo(f"{len(pairs)} nights are in {where}")
    typer.echo(f'Next: cadda data info "{where}"')


def eegbci(
    out: Annotated[Path, Option(help="Folder to download to.")],
    subjects: Annotated[str, Option(help="Numbers of the subjects, such as 1-10,12.")] = "1-10",
    as_json: AsJson = False,
) -> None:
    """Download imagined movements of the left or right fist, about 8 MB per subject.

    The EEG Motor Movement/Imagery Dataset has 109 subjects. Existing files are kept.

    Example: cadda data fetch eegbci --subjects 1-10 --out eegbci
    """
    from cadda.data.datasets.eegbci import fetch_imagined_fists

    numbers = _numbers("subjects", subjects)
    with progress_bar("Fetching") as on_progress:
        mapping = fetch_imagined_fists(numbers, out, on_progress=on_progress)
    if as_json:
        typer.echo(json.dumps({"mapping": str(mapping), "subjects": len(set(numbers))}, indent=1))
        return
    typer.echo(f"{len(set(numbers))} subjects are in {out}")
    typer.echo(
        "Slow activity, probably of the eyes, tells left from right in these recordings, so that "
        "a model need not use the imagined movement; the mapping file removes it by a high-pass "
        "at 4 Hz."
    )
    typer.echo(f'Next: cadda search "{mapping}" --model shallow --out run')


def _numbers(argument: str, text: str) -> list[int]:
    """Return the numbers in a text such as ``0-4,7``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and (not last.isdigit() or int(last) < int(first))):
            raise ValueError(f"`{argument}` must be numbers such as 0-4,7, got {text!r}.")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


app = command_group(
    "Download public recordings with MNE's fetchers.",
    "cadda data fetch eegbci --subjects 1-10 --out eegbci · "
    "cadda data fetch sleep-physionet --subjects 0-4",
    *(sleep_physionet, eegbci),
)
