"""Options of the command line and arguments of Python: the same names, the same defaults."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

import pytest
from typer.core import TyperGroup
from typer.main import get_command

import cadda
from cadda.api.run import evaluate_run, run_search, run_training
from cadda.cli.app import app
from cadda.cli.options import TrainingOptions
from cadda.experiments.run import run_study
from cadda.experiments.studies.compare import CompareConfig
from cadda.probing.probe import ProbeSettings
from cadda.training import TrainingSettings
from cadda.training.optimizers import OPTIMIZERS

TRAINING = {item.name for item in fields(TrainingSettings)} - {"betas", "seed"}
"""Settings of training that the command line has; Adam's decay rates are for experts."""


def options_of(name: str) -> dict[str, Any]:
    """Return the defaults of the options of a command, by the names of their arguments."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    return {str(p.name): p.default for p in command.params if p.param_type_name == "option"}


def defaults(*functions: Any) -> dict[str, Any]:
    """Return the defaults of the arguments of functions, the first function first."""
    found: dict[str, Any] = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                found.setdefault(name, parameter.default)
    return found


def config_defaults(kind: Any) -> dict[str, Any]:
    return {name: field.default for name, field in kind.model_fields.items()}


def differences(options: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return both defaults where they differ; no value, false and none are the same.

    Folders of results may have other names.
    """
    return {
        name: (options[name], arguments[name])
        for name in options.keys() & arguments.keys()
        if name != "out" and (options[name] or None) != (arguments[name] or None)
    }


PYTHON = {
    "search": defaults(cadda.search, run_search, cadda.read_windows, TrainingSettings),
    "train": defaults(cadda.fit, run_training, cadda.read_windows, TrainingSettings),
    "probe": defaults(cadda.probe, run_search, cadda.read_windows, ProbeSettings),
    "evaluate": defaults(evaluate_run, cadda.read_windows),
    "compare": defaults(cadda.compare, run_study, cadda.read_windows, TrainingSettings),
}


@pytest.mark.parametrize("command", PYTHON)
def test_defaults_are_those_of_python(command: str) -> None:
    options = options_of(command)
    shared = options.keys() & PYTHON[command].keys()
    assert len(shared) > 5
    if command == "compare":
        options["methods"] = tuple(options["methods"].split(","))
        # The budget of a comparison is either its seconds or the default of each method.
        assert options.pop("budget") == "seconds"
    assert not differences(options, PYTHON[command])


def test_a_comparison_has_the_defaults_of_its_study() -> None:
    """All arguments but those of running it are settings, and the command has them all."""
    arguments, settings = defaults(cadda.compare), config_defaults(CompareConfig)
    own = arguments.keys() - {"training", "engine", "out", "reading", "progress", "log_to"}
    assert own <= settings.keys() & options_of("compare").keys()
    assert {name: arguments[name] for name in own} == {name: settings[name] for name in own}
    training = defaults(TrainingSettings)
    assert {name: training[name] for name in TRAINING} == {
        name: settings[name] for name in TRAINING
    }
    assert str(options_of("compare")["out"]) == arguments["out"]


def test_splits_are_those_of_python() -> None:
    split = defaults(cadda.Windows.split)
    assert options_of("compare")["valid"] == split["valid"]
    for command in ("search", "train", "probe"):
        options = options_of(command)
        assert {name: options[name] for name in ("valid", "test")} == {
            name: split[name] for name in ("valid", "test")
        }


@pytest.mark.parametrize("command", ["search", "train", "compare"])
def test_commands_that_train_share_the_options_of_training(command: str) -> None:
    assert options_of(command).keys() >= TRAINING
    assert ("trial_epochs" in options_of(command)) == (command != "train")


def test_options_of_training_are_its_settings() -> None:
    given = {item.name: item for item in fields(TrainingOptions)}
    assert given.keys() == TRAINING
    assert TrainingOptions().settings(seed=3) == TrainingSettings(seed=3)
    annotation = inspect.signature(TrainingOptions, eval_str=True).parameters["optimizer"]
    assert set(get_args(get_args(annotation.annotation)[0])) == OPTIMIZERS.keys()
