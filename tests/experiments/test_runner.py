"""A study of numbers: what is missing is done, once, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from matplotlib.figure import Figure

from cadda import Windows, simulate_sleep
from cadda.compute import open_engine
from cadda.exceptions import RunError
from cadda.experiments.folder import StudyFolder
from cadda.experiments.plan import Progress, make_plan
from cadda.experiments.preparing import Work
from cadda.experiments.runner import JobEnd, run_missing
from cadda.experiments.sources import describe
from cadda.experiments.study import Job, Planned, Record, Result, Study, StudyConfig
from cadda.experiments.tables import Table


def make_study() -> Study[Any]:
    """Make it here, so that it is sent to other processes as it is."""

    class PowerConfig(StudyConfig):
        exponent: int = 2
        n_numbers: Planned[int] = 4
        log: Planned[str] = ""
        broken: Planned[int] = -1

    class PowerStudy(Study[PowerConfig]):
        config_type = PowerConfig
        scales: ClassVar = {"quick": {}}

        def jobs(self, config: PowerConfig, windows: Windows) -> list[Job]:
            return [{"number": i} for i in range(config.n_numbers)]

        def expected_seconds(self, config: PowerConfig, windows: Windows, job: Job) -> float:
            return 1.0 + job["number"]

        def run(self, config: PowerConfig, windows: Windows, job: Job) -> Result:
            if config.log:
                with open(config.log, "a") as file:  # noqa: PTH123
                    file.write(f"{job['number']}\n")
            if job["number"] == config.broken:
                raise ArithmeticError("no power today")
            return {"power": job["number"] ** config.exponent, "n": len(windows)}

        def table(self, records: Sequence[Record]) -> Table:
            rows = tuple((one.job["number"], one.result["power"]) for one in records)
            return Table("powers", ("number", "power"), rows)

        def figure(self, records: Sequence[Record]) -> Figure:
            return Figure()

    return PowerStudy()


@pytest.fixture(scope="module")
def windows() -> Windows:
    return simulate_sleep(n_subjects=1, n_windows=10)


@pytest.fixture
def run(
    windows: Windows, tmp_path: Path
) -> Callable[..., tuple[Progress, list[JobEnd], list[int]]]:
    """Give a function that runs the study and says what was done."""
    log = tmp_path / "log"

    def runner(
        engine: str = "serial", data: Windows = windows, folder: Path = tmp_path, **changes: Any
    ) -> tuple[Progress, list[JobEnd], list[int]]:
        log.write_text("")
        study = make_study()
        config = study.config_type(log=str(log), **changes)
        plan = make_plan("power", study, "quick", config, data, describe(data, "simulated", ""))
        place = StudyFolder(folder)
        place.begin(plan, config)
        events: list[JobEnd] = []
        with open_engine(engine) as workers:
            progress = run_missing(Work(study, config, data), plan, place, workers, events.append)
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
        "power", study, "quick", study.config_type(), windows, describe(windows, data, "")
    )
    StudyFolder(tmp_path).save_figure(figure, plan)
    assert figure.get_suptitle() == title


def powers(progress: Progress) -> list[int]:
    return [record.result["power"] for record in progress.records]


@pytest.mark.parametrize("engine", ["serial", "processes:2"])
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
    info = describe(data, "simulated", "")
    with pytest.raises(RunError, match="holds the study power, not other; give another folder"):
        place.begin(make_plan("other", study, "quick", config, data, info), config)
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
    assert [record.result["n"] for record in progress.records] == [8, 8, 8]
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


@pytest.mark.parametrize("engine", ["serial", "processes:2"])
def test_a_failed_job_does_not_stop_the_others_and_is_tried_again(engine: str, run: Any) -> None:
    progress, events, _ = run(engine, broken=1)
    assert powers(progress) == [0, 4, 9]
    assert progress.failures == (({"number": 1}, "ArithmeticError: no power today"),)
    assert progress.missing == ({"number": 1},)
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
    plan = StudyFolder(tmp_path).read_plan("power")
    lines = StudyFolder(tmp_path).results.read()
    for line in lines:
        if "result" in line:
            line["seconds"] = 3 * line["expected"]
    progress = plan.progress(lines)
    assert progress.n_measured == 3
    assert progress.seconds_left == pytest.approx(3 * 4.0)
    assert plan.progress([]).seconds_left == 1.0 + 2.0 + 3.0 + 4.0
    others = [line | {"settings": {"seed": 0, "exponent": 7}} for line in lines]
    assert plan.progress(others).seconds_left == 1.0 + 2.0 + 3.0 + 4.0


def test_time_left_falls_to_zero(run: Any) -> None:
    _, events, _ = run()
    assert events[0].seconds_left > 0
    assert events[-1].seconds_left == pytest.approx(0, abs=1e-6)
    assert {event.total for event in events} == {4}


def test_the_plan_can_be_read_again(run: Any, tmp_path: Path) -> None:
    run()
    plan = StudyFolder(tmp_path).read_plan("power")
    assert plan.jobs == ({"number": 0}, {"number": 1}, {"number": 2}, {"number": 3})
    assert plan.data.ch_names == ("Fpz-Cz", "Pz-Oz")
    assert powers(plan.progress(StudyFolder(tmp_path).results.read())) == [0, 1, 4, 9]


def test_results_of_a_study_with_the_same_jobs_are_taken_over(
    run: Any, windows: Windows, tmp_path: Path
) -> None:
    study, source = make_study(), describe(windows, "simulated", "")
    run(folder=tmp_path / "power", n_numbers=2, broken=1)
    run(folder=tmp_path / "power", n_numbers=2, exponent=3)
    plan = make_plan("like-power", study, "quick", study.config_type(n_numbers=3), windows, source)
    folder = StudyFolder(tmp_path / "like-power")
    folder.begin(plan, study.config_type())
    # Neither the job that failed nor those with another exponent.
    assert folder.take_over(plan, ["no such study", "power"]) == 1
    (record,) = plan.progress(folder.results.read()).records
    assert record == Record({"number": 0}, {"power": 0, "n": len(windows)})
    assert folder.results.read()[0]["taken_from"] == "power"
    assert folder.take_over(plan, ["power"]) == 0
    other = windows.standardised()
    elsewhere = make_plan(
        "like-power", study, "quick", study.config_type(), other, describe(other, "mine", "")
    )
    assert StudyFolder(tmp_path / "mine").take_over(elsewhere, ["power"]) == 0
