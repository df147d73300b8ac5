"""A study of numbers: what is missing is done, once, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from matplotlib.figure import Figure

from cadda import Windows, simulate_sleep
from cadda._internal.jsonlines import JsonLines
from cadda.compute import open_engine
from cadda.exceptions import RunError
from cadda.experiments import JobEnd, run_study
from cadda.experiments.folder import StudyFolder
from cadda.experiments.plan import AnyProgress, StudyRun, describe_data, make_plan
from cadda.experiments.runner import run_missing
from cadda.experiments.study import (
    AnyStudy,
    JobResult,
    PlanOnly,
    Record,
    ResultTable,
    Study,
    StudyConfig,
    StudyJob,
)


class PowerJob(StudyJob):
    number: int


class PowerResult(JobResult):
    power: int
    n: int


def make_study() -> AnyStudy:
    """Define it here, so that it is sent to other processes by value."""

    class PowerConfig(StudyConfig):
        exponent: int = 2
        n_numbers: PlanOnly[int] = 4
        log: PlanOnly[str] = ""
        broken: PlanOnly[int] = -1

    class PowerStudy(Study[PowerConfig, PowerJob, PowerResult]):
        config_type = PowerConfig
        job_type = PowerJob
        result_type = PowerResult
        scales: ClassVar = {"quick": {}}

        def jobs(self, config: PowerConfig, windows: Windows) -> list[PowerJob]:
            return [PowerJob(number=i) for i in range(config.n_numbers)]

        def expected_seconds(self, config: PowerConfig, windows: Windows, job: PowerJob) -> float:
            return 1.0 + job.number

        def run(self, config: PowerConfig, windows: Windows, job: PowerJob) -> PowerResult:
            if config.log:
                with open(config.log, "a") as file:  # noqa: PTH123
                    file.write(f"{job.number}\n")
            if job.number == config.broken:
                raise ArithmeticError("no power today")
            return PowerResult(power=job.number**config.exponent, n=len(windows))

        def table(self, records: Sequence[Record[PowerJob, PowerResult]]) -> ResultTable:
            rows = tuple((record.job.number, record.result.power) for record in records)
            return ResultTable("powers", ("number", "power"), rows)

        def figure(self, records: Sequence[Record[PowerJob, PowerResult]]) -> Figure:
            return Figure()

    return PowerStudy()


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=1, n_windows=10)


@pytest.fixture
def run(
    windows: Windows, tmp_path: Path
) -> Callable[..., tuple[AnyProgress, list[JobEnd], list[int]]]:
    """Return a function that runs the study and reports what was done."""
    log = tmp_path / "log"

    def runner(
        engine: str = "serial", data: Windows = windows, folder: Path = tmp_path, **changes: Any
    ) -> tuple[AnyProgress, list[JobEnd], list[int]]:
        log.write_text("")
        study = make_study()
        config = study.config_type(log=str(log), **changes)
        plan = make_plan(
            "power", study, "quick", config, data, describe_data(data, "simulated", "")
        )
        place = StudyFolder(folder)
        place.start(plan, config)
        events: list[JobEnd] = []
        with open_engine(engine) as workers:
            progress = run_missing(
                StudyRun(study, config, data), plan, place, workers, events.append
            )
        return progress, events, sorted(map(int, log.read_text().split()))

    return runner


@pytest.mark.parametrize(
    ("data", "title"),
    [("night.edf", "power: night.edf"), ("power", "power"), ("POWER", "power")],
)
def test_a_title_does_not_say_the_same_twice(
    data: str, title: str, windows: Windows, tmp_path: Path
) -> None:
    study, figure = make_study(), Figure()
    plan = make_plan(
        "power", study, "quick", study.config_type(), windows, describe_data(windows, data, "")
    )
    StudyFolder(tmp_path).save_figure(figure, plan)
    assert figure.get_suptitle() == title


def powers(progress: AnyProgress) -> list[int]:
    return [record.result.power for record in progress.records]


@pytest.mark.parametrize(
    "engine", ["serial", "processes:2", pytest.param("dask:local:2", marks=pytest.mark.slow)]
)
def test_each_job_is_done_once(engine: str, run: Any) -> None:
    progress, events, done = run(engine)
    assert powers(progress) == [0, 1, 4, 9]
    assert done == [0, 1, 2, 3]
    assert [event.done for event in events] == [1, 2, 3, 4]
    assert not progress.missing
    again, events, done = run(engine)
    assert powers(again) == [0, 1, 4, 9]
    assert not events
    assert not done


def test_progress_counts_what_earlier_runs_did(run: Any) -> None:
    run(n_numbers=2)
    _, events, _ = run(n_numbers=4)
    assert [(event.done, event.total) for event in events] == [(3, 4), (4, 4)]


def test_the_folder_of_another_study_is_refused(run: Any, tmp_path: Path) -> None:
    run()
    place = StudyFolder(tmp_path)
    before = place.plan.read_bytes()
    study = make_study()
    config = study.config_type(log="")
    data = simulate_sleep(n_subjects=1, n_windows=10)
    info = describe_data(data, "simulated", "")
    with pytest.raises(RunError, match="holds the study power, not other; choose another `out`"):
        place.start(make_plan("other", study, "quick", config, data, info), config)
    assert place.plan.read_bytes() == before


def test_planned_settings_keep_results_and_others_do_not(run: Any, windows: Windows) -> None:
    run(n_numbers=2)
    progress, _, done = run(n_numbers=3)
    assert done == [2]
    assert powers(progress) == [0, 1, 4]
    progress, _, done = run(n_numbers=3, exponent=3)
    assert done == [0, 1, 2]
    assert powers(progress) == [0, 1, 8]
    progress, _, done = run(n_numbers=3, data=windows[:8])
    assert done == [0, 1, 2]
    assert [record.result.n for record in progress.records] == [8, 8, 8]
    progress, _, done = run(n_numbers=3)
    assert not done
    assert powers(progress) == [0, 1, 4]


def test_other_names_are_other_data(run: Any, windows: Windows) -> None:
    """The same numbers under other names of channels are not the same data."""
    renamed = Windows(
        windows.x,
        windows.y,
        subject=windows.subject,
        sfreq=windows.sfreq,
        ch_names=["C3", "C4"],
        class_names=windows.class_names,
    )
    run()
    assert run(data=renamed)[2] == [0, 1, 2, 3]


@pytest.mark.parametrize("engine", ["serial", pytest.param("processes:2", marks=pytest.mark.slow)])
def test_a_failed_job_does_not_stop_the_others_and_is_tried_again(engine: str, run: Any) -> None:
    progress, events, _ = run(engine, broken=1)
    assert powers(progress) == [0, 4, 9]
    assert progress.failures == ((PowerJob(number=1), "ArithmeticError: no power today"),)
    assert progress.missing == (PowerJob(number=1),)
    assert sum(event.error is not None for event in events) == 1
    progress, _, done = run(engine)
    assert done == [1]
    assert powers(progress) == [0, 1, 4, 9]
    assert not progress.failures


def test_a_half_written_result_is_done_again(run: Any, tmp_path: Path) -> None:
    run()
    path = tmp_path / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    progress, _, done = run()
    assert done == [3]
    assert powers(progress) == [0, 1, 4, 9]


def test_times_are_corrected_by_finished_jobs(run: Any, tmp_path: Path) -> None:
    run(n_numbers=4, broken=3)
    study = make_study()
    plan = StudyFolder(tmp_path).read_plan("power", PowerJob)
    lines = [
        line.model_copy(update={"seconds": 3 * line.expected})
        for line in StudyFolder(tmp_path).read_results()
    ]
    progress = plan.progress(study, lines)
    assert progress.n_measured == 3
    assert progress.seconds_left == pytest.approx(3 * 4.0)
    assert plan.progress(study, []).seconds_left == 1.0 + 2.0 + 3.0 + 4.0
    other = {"settings": {"seed": 0, "exponent": 7}}
    others = [line.model_copy(update=other) for line in lines]
    assert plan.progress(study, others).seconds_left == 1.0 + 2.0 + 3.0 + 4.0


def test_time_left_falls_to_zero(run: Any) -> None:
    _, events, _ = run()
    assert events[0].seconds_left > 0
    assert events[-1].seconds_left == pytest.approx(0, abs=1e-6)
    assert {event.total for event in events} == {4}


def test_the_plan_can_be_read_again(run: Any, tmp_path: Path) -> None:
    run()
    plan = StudyFolder(tmp_path).read_plan("power", PowerJob)
    assert plan.jobs == tuple(PowerJob(number=i) for i in range(4))
    assert plan.data.ch_names == ("Fpz-Cz", "Pz-Oz")
    assert powers(plan.progress(make_study(), StudyFolder(tmp_path).read_results())) == [
        0,
        1,
        4,
        9,
    ]


def test_results_of_a_study_with_the_same_jobs_are_reused(
    run: Any, windows: Windows, tmp_path: Path
) -> None:
    study, source = make_study(), describe_data(windows, "simulated", "")
    run(folder=tmp_path / "power", n_numbers=2, broken=1)
    run(folder=tmp_path / "power", n_numbers=2, exponent=3)
    plan = make_plan("like-power", study, "quick", study.config_type(n_numbers=3), windows, source)
    folder = StudyFolder(tmp_path / "like-power")
    folder.start(plan, study.config_type())
    # Neither the job that failed nor those with another exponent.
    assert folder.reuse_results(plan, study, ["no such study", "power"]) == 1
    (record,) = plan.progress(study, folder.read_results()).records
    assert record == Record(PowerJob(number=0), PowerResult(power=0, n=len(windows)))
    assert folder.read_results()[0].taken_from == "power"
    assert folder.reuse_results(plan, study, ["power"]) == 0
    other = windows.standardised()
    elsewhere = make_plan(
        "like-power", study, "quick", study.config_type(), other, describe_data(other, "mine", "")
    )
    assert StudyFolder(tmp_path / "mine").reuse_results(elsewhere, study, ["power"]) == 0


def test_a_line_that_is_no_result_is_named(run: Any, tmp_path: Path) -> None:
    run()
    place = StudyFolder(tmp_path)
    JsonLines(place.results).append({"study": 3})
    with pytest.raises(RunError, match=r"results.jsonl, line 5, is not a result of a study"):
        place.read_results()


@pytest.mark.parametrize("formats", [("png",), ("svg", "pdf")])
def test_figures_have_the_same_bytes_each_time(
    formats: tuple[str, ...], windows: Windows, tmp_path: Path
) -> None:
    study = make_study()
    info = describe_data(windows, "simulated", "")
    plan = make_plan("power", study, "quick", study.config_type(), windows, info)
    written = []
    for name in ("first", "second"):
        folder = StudyFolder(tmp_path / name)
        folder.start(plan, study.config_type())
        figure = Figure()
        figure.add_subplot().plot([1, 2])
        files = folder.save_figure(figure, plan, formats)
        assert [file.suffix[1:] for file in files] == list(formats)
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]


def test_unknown_formats() -> None:
    with pytest.raises(ValueError, match="`formats` must be among png, svg, pdf, got 'gif'"):
        run_study("frequency-shift", scale="quick", formats=["gif"])
