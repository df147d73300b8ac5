"""What a comparison compares: methods by name, policies by file and those of the zoo."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pydantic import JsonValue

from cadda._internal.text import did_you_mean
from cadda.api.policies import AS_OPERATIONS, read_policy
from cadda.api.prepare import Device, join_windows
from cadda.api.search import search
from cadda.experiments.objects import find_model
from cadda.experiments.racing import CLASSWISE, NO_SEARCH, UNLIMITED, MethodVariant, parse_variant
from cadda.experiments.training import Fold, TrainingConfig, training_settings
from cadda.operations.base import Settings
from cadda.operations.own import OwnOperations
from cadda.policies.schedule import PolicySchedule, policies_of
from cadda.policies.spec.model import PolicySpec
from cadda.policies.spec.text import YAML_FILES
from cadda.policies.zoo import is_zoo_name
from cadda.searchers.race.candidates import Level, level_of
from cadda.searchers.registry import METHODS, find_method, is_method

__all__ = [
    "DUPLICATES",
    "Content",
    "SearchLimits",
    "Treatment",
    "apply_condition",
    "parse_policy",
    "read_content",
    "variant_of",
]

DUPLICATES = "duplicates"
"""The condition of jobs that train with every window twice."""

NOT_SEARCHED = (NO_SEARCH, DUPLICATES)
POLICY_FILES = (".json", ".txt", *YAML_FILES)

Content: TypeAlias = dict[str, JsonValue]
"""Content of a policy file: a job has it, so that results of an edited file are not mixed up."""


@dataclass(frozen=True)
class SearchLimits:
    """What searches choose from, how long, and where."""

    operations: OwnOperations | None
    max_seconds: float | None  # None for the default budget of each method
    trial_epochs: int | None = None  # most epochs of a trial, of methods that train models for it
    operation_settings: Mapping[str, Settings] | None = None  # that are not the default
    device: Device = "auto"


@dataclass(frozen=True, eq=False)
class Treatment:
    """How to train under a condition: data, policy, and what finding it has cost."""

    fold: Fold
    policy: PolicySpec | PolicySchedule | None
    level: Level
    n_entries: int
    n_steps: int | None = None  # epochs, trials or training runs; None if there was no search
    seconds: float = 0.0
    is_undecided: bool = False  # whether the search ended before it could tell gains from none


def read_content(
    name: str, class_names: Sequence[str], known: Collection[str] = ()
) -> Content | None:
    """Return the content of a policy; None for what is not a policy but a method.

    ``known`` are operations that it may have beside those of cadda.
    """
    if _is_policy(name):
        policy = read_policy(name, known, class_names, AS_OPERATIONS)
        content: Content = json.loads(policy.to_json())
        return content
    variant_of(name)
    return None


def parse_policy(content: Mapping[str, JsonValue]) -> PolicySpec | PolicySchedule:
    """Return the policy or schedule of a content."""
    kind = PolicySchedule if "segments" in content else PolicySpec
    return kind.from_dict(content, known=None)


def variant_of(name: str) -> MethodVariant | None:
    """Return the search method of a condition; None if nothing is searched."""
    if name in NOT_SEARCHED or _is_policy(name):
        return None
    if not is_method(name.removeprefix(CLASSWISE)):
        known = [*NOT_SEARCHED, *METHODS]
        raise ValueError(
            f"`methods` must be search methods, policy files ({', '.join(POLICY_FILES)}), "
            f"zoo:NAME, {' or '.join(NOT_SEARCHED)}, got {name!r}{did_you_mean(name, known)}; "
            f"methods are {', '.join(METHODS)}."
        )
    return parse_variant(name)


def _is_policy(name: str) -> bool:
    return name.endswith(POLICY_FILES) or is_zoo_name(name)


def apply_condition(
    name: str, content: Content | None, config: TrainingConfig, fold: Fold, limits: SearchLimits
) -> Treatment:
    """Return how to train under a condition; a search sees training and validation subjects."""
    if content is not None:
        return _with_policy(fold, parse_policy(content))
    if name == DUPLICATES:
        twice = replace(fold, train=join_windows(fold.train, fold.train))
        return Treatment(twice, None, Level.DUPLICATES, 0)
    variant = variant_of(name)
    if variant is None:
        return Treatment(fold, None, Level.NONE, 0)
    method = find_method(variant.method)
    is_unlimited = limits.max_seconds is not None and not method.plans_ahead
    result = search(
        fold.train,
        fold.valid,
        method=variant.method,
        classwise=variant.classwise or None,
        model=find_model(config.model),
        operations=limits.operations,
        operation_settings=limits.operation_settings,
        budget=UNLIMITED if is_unlimited else None,
        max_seconds=limits.max_seconds,
        training=training_settings(config, fold),
        trial_epochs=limits.trial_epochs if method.trains_trials else None,
        seed=fold.seed,
        device=limits.device,
        engine="serial",
        retrain=False,
        baseline=False,
        progress=False,
    )
    n_steps = len(result.history) if result.race is None else result.race.n_runs
    treatment = _with_policy(fold, result.schedule_or_policy)
    # A policy that was found is measured here, whatever the search could tell of it.
    is_undecided = result.policy.is_none and result.race is not None and not result.race.is_decided
    return replace(treatment, n_steps=n_steps, seconds=result.seconds, is_undecided=is_undecided)


def _with_policy(fold: Fold, policy: PolicySpec | PolicySchedule) -> Treatment:
    specs = policies_of(policy)
    n_entries = max(len(spec.entries) for spec in specs)
    return Treatment(fold, policy, max(map(level_of, specs)), n_entries)
