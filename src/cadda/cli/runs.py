"""`cadda evaluate` and `cadda report`: the model and the results of a run folder."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from cadda.cli.options import AsJson, Data
from cadda.cli.reading import ReadingOptions
from cadda.cli.run_reading import options_like

__all__ = ["evaluate", "report"]


def evaluate(
    run: Annotated[Path, Argument(help="Folder of a training run or a search.")],
    data: Data,
    read_options: ReadingOptions,
    *,
    skip_seen: Annotated[
        bool, Option("--skip-seen", help="Skip subjects that the model was trained on.")
    ] = False,
    different_subjects: Annotated[
        bool,
        Option(
            "--different-subjects",
            help="Subjects with the same names as in training are different people.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score a trained model on windows of unseen subjects, together and one by one.

    Data are read as those of the run; options that are given replace those of the run.

    Example: cadda evaluate run other-epo.fif.gz
    """
    from cadda.api.run import evaluate_run
    from cadda.cli.display import print_scores, print_subjects, print_warnings
    from cadda.runs.folder import RunFolder
    from cadda.training.diagnosis import prediction_warnings

    options = options_like(RunFolder(run).read_config().reading, read_options, data)
    if described := options.describe():
        typer.echo(f"note: reading as for {run}: {described}", err=True)
    windows = options.read(data)
    scores, n_subjects = evaluate_run(
        run,
        windows,
        skip_seen=skip_seen,
        different_subjects=different_subjects,
        reading=options.reading(data),
    )
    if as_json:
        typer.echo(json.dumps(scores.to_dict()))
    else:
        print_scores(scores, f"{n_subjects} subjects")
        print_subjects({"": scores})
        print_warnings(prediction_warnings(scores.confusion, list(scores.f1_per_class), "test"))


def report(
    run: Annotated[
        Path, Argument(help="Folder of a search, a training run, a cross-validation or a study.")
    ],
    open_it: Annotated[bool, Option("--open", help="Open the report in a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run or a study, report.html in its folder.

    The page is self-contained: result, data, policy, curves, example windows, scores and
    provenance; of a cross-validation, the scores of all folds and subjects, with links to the
    reports of the folds, which are written too; of a study, tables, figure and settings.
    `cadda search`, `cadda compare` and `cadda experiment run` write it automatically.

    Example: cadda report run --open
    """
    path = _write(run)
    typer.echo(json.dumps({"report": str(path)}) if as_json else str(path))
    if open_it and not webbrowser.open(path.as_uri()):
        typer.echo("No browser found; open the file manually.", err=True)


def _write(folder: Path) -> Path:
    """Write the report that fits a folder; return its path."""
    from cadda.cli.display import print_warnings
    from cadda.experiments.folder import StudyFolder
    from cadda.runs.folder import RunFolder
    from cadda.runs.folds_report import write_folds_report
    from cadda.runs.report import write_report

    if StudyFolder(folder).plan.exists():
        return _write_study_report(folder)
    if RunFolder(folder).has_folds:
        return write_folds_report(folder).path
    written = write_report(folder)
    if written.edited:
        print_warnings([written.edited])
    return written.path


def _write_study_report(folder: Path) -> Path:
    """Write the report of a study or a comparison; return its path."""
    from cadda.experiments import draw_study
    from cadda.experiments.folder import StudyFolder

    return draw_study(StudyFolder(folder).read_study(), folder).report.resolve()
