"""Provenance of a result, and how to reproduce and cite it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from pydantic import JsonValue

from cadda._internal.places import is_place
from cadda._version import __version__
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.label_maps import plain_name
from cadda.operations.own import OwnOperation
from cadda.policies.schedule import policies_of
from cadda.policies.spec.model import PolicySpec
from cadda.reporting.html.formatting import count, duration
from cadda.reporting.records import Machine, Reading, RunRecord, SplitSettings
from cadda.training.settings import TrainingSettings

__all__ = ["bibtex", "policy_file", "provenance_rows", "read_call", "runner_up_snippet", "snippet"]

READERS: Mapping[str, tuple[str, ...]] = {
    "cadda.read_windows": (
        *("source", "subject", "label", "channels", "classes", "min_windows", "standardise"),
        *("class_from", "class_map", "within", "repeat", "participants", "transition"),
        *("on_bad", "window_seconds", "offset", "highpass", "lowpass", "notch", "reference"),
        *("sfreq", "baseline_seconds", "reject", "keep_stage_4", "preprocessing", "cache"),
        "engine",
    ),
    "cadda.simulate_sleep": ("n_subjects", "n_windows", "montage", "seed"),
    "cadda.simulate_motor_imagery": ("n_subjects", "n_windows", "seed"),
}
"""Functions that make windows and their arguments; no other name in a file becomes code."""


def provenance_rows(record: RunRecord) -> Iterator[tuple[str, str]]:
    """Yield name and text of commands, times, seeds, versions, machine and digests."""
    for session in record.sessions:
        end = "" if session.finished else ", interrupted"
        started = session.started.replace("T", " ").removesuffix("+00:00")
        yield (
            "Command",
            f"{session.command} (started {started} UTC, {duration(session.seconds)}{end})",
        )
    for name, seconds in record.seconds.items():
        yield f"Time for {name}", duration(seconds)
    if record.search is not None:
        scope = "one policy per class" if record.search.classwise else "one policy for all classes"
        yield "Method", f"{record.search.method}, {scope}, with the model {record.model}"
        yield "Seeds", f"search {record.search.seed}, training {record.training.seed}"
    else:
        settings = {"model": record.model} | asdict(record.training)
        yield "Training", ", ".join(f"{name} {value}" for name, value in settings.items())
    versions = record.sessions[-1].versions if record.sessions else record.versions
    yield ("Versions", f"cadda {versions.cadda}, python {versions.python}, torch {versions.torch}")
    machine = record.sessions[-1].machine if record.sessions else None
    yield "Machine", versions.machine if machine is None else _describe_machine(machine)
    for part, facts in record.data.parts.items():
        yield f"SHA-256 of {part}", facts.digest


def _describe_machine(machine: Machine) -> str:
    cores = count(machine.cores or 1, "core")
    return f"{machine.system}, {machine.processor}, {cores}, {machine.gpu or 'no GPU'}"


def snippet(record: RunRecord) -> str:
    """Return Python code that trains and tests like the run, from any folder.

    Names of functions and arguments are cadda's own; everything that comes from files of the run
    is a quoted literal.
    """
    file, own = policy_file(record), _own_operations(record)
    policy = f'policy=f"{{run}}/{file}", ' if record.is_augmented else ""
    lines = [
        "import cadda",
        "",
        f"run = {_literal(record.folder)}  # the folder of this report",
        f"windows = {read_call(record.reading)}",
        f"train, valid, test = {_split_call(record.data.split)}",
        *_pool_lines(record, own),
        "",
        *_fit_lines(record, policy, own),
    ]
    known = ", known=pool.names" if own else ""
    if record.is_augmented and (record.search is not None or record.schedule is None):
        lines += [
            "",
            "# In your own training loop:",
            f'spec = cadda.PolicySpec.load(f"{{run}}/policy.json"{known})',
            f"policy = cadda.Policy(spec, {'pool' if own else 'cadda.operation_pool(windows)'})",
            "x, y = policy(train.x[:16], train.y[:16])",
        ]
    return "\n".join(lines) + "\n"


def runner_up_snippet(record: RunRecord, text: str) -> str:
    """Return code that continues `snippet` and trains with another policy, in short form."""
    own = _own_names(PolicySpec.from_text(text, known=None).operation_names)
    quoted = "\n".join(f"    {_literal(line)}" for line in text.splitlines(keepends=True))
    lines = [
        *_pool_lines(record, own),
        "candidate = cadda.PolicySpec.from_text(",
        f"{quoted},\n    known=pool.names," if own else quoted,
        ")",
        *_fit_lines(record, "policy=candidate, ", own),
    ]
    return "\n".join(lines) + "\n"


def _fit_lines(record: RunRecord, policy: str, own: list[str]) -> tuple[str, ...]:
    """Return code that trains and tests."""
    pool = "pool=pool, " if own else ""
    return (
        "fitted = cadda.fit(",
        f"    train, valid, {policy}{pool}{_keywords(_fit_arguments(record))}",
        ")",
        "print(cadda.evaluate(fitted, test).balanced_accuracy)",
    )


def _own_operations(record: RunRecord) -> list[str]:
    """Return the operations of the policy that are not of cadda."""
    source = record.policy if record.schedule is None else record.schedule
    return _own_names(
        () if source is None else (n for p in policies_of(source) for n in p.operation_names)
    )


def _own_names(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(map(plain_name, names)) if name not in CATALOGUE]


def _pool_lines(record: RunRecord, names: list[str]) -> list[str]:
    """Return code that makes a pool with a user's own operations, if there are any.

    Where operations are not known, or are in the folder of the run itself, which must not bring
    code along, the user fills them in.
    """
    if not names:
        return []
    known = {item.name: item for item in record.own_operations if _is_safe(item, record.folder)}
    if not set(names) <= known.keys():
        return [
            f"own = ...  # your operations {_literal([*names])}",
            'pool = cadda.operation_pool(windows, operations=["all", *own])',
        ]
    folders = [*dict.fromkeys(f for f in (known[name].folder for name in names) if f is not None)]
    places = _literal(["all", *(known[name].place for name in names)])
    return [
        *(("import sys",) if folders else ()),
        *(f"sys.path.insert(0, {_literal(folder)})  # has your operations" for folder in folders),
        f"pool = cadda.operation_pool(windows, operations={places})",
    ]


def _is_safe(item: OwnOperation, run: str) -> bool:
    """Check that an operation has a place, outside of the folder of the run."""
    if not is_place(item.place):
        return False
    folder = None if item.folder is None else Path(os.path.normpath(item.folder))
    return folder is None or (folder.is_absolute() and not folder.is_relative_to(run))


def _split_call(split: SplitSettings) -> str:
    """Return the code that splits the windows as the run did."""
    if split.split_from is not None or split.fold is not None:
        # The folder of this run has the subjects too, and may be all that is left.
        return "cadda.split_from(windows, run)"
    arguments = {name: getattr(split, name) for name in ("valid", "test", "seed")}
    return f"windows.split({_keywords({k: v for k, v in arguments.items() if v is not None})})"


def policy_file(record: RunRecord) -> str:
    """Return the name of the file with the policy or schedule that the model was trained with."""
    is_schedule = record.search is not None and record.schedule is not None
    return "schedule.json" if is_schedule else "policy.json"


def _fit_arguments(record: RunRecord) -> dict[str, JsonValue]:
    """Return the arguments of `cadda.fit` that differ from its defaults, and the seed."""
    settings, defaults = asdict(record.training), asdict(TrainingSettings())
    changed = {name: value for name, value in settings.items() if value != defaults[name]}
    return {"model": record.model} | changed | {"seed": record.training.seed}


def read_call(reading: Reading | None) -> str:
    """Return the call that makes the windows, if it is one that is known."""
    if reading is None or reading.function not in READERS:
        return "...  # your cadda.Windows"
    known = READERS[reading.function]
    named = {name: value for name, value in reading.arguments.items() if name in known}
    source = [_literal(named.pop("source"))] if "source" in named else []
    return f"{reading.function}({', '.join([*source, _keywords(named)])})"


def _keywords(arguments: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name}={_literal(value)}" for name, value in arguments.items())


def _literal(value: JsonValue) -> str:
    """Return a JSON value as Python code, with double quotes."""
    if isinstance(value, str):
        # Marks of direction would show other code than Python reads.
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        items = (f"{_literal(name)}: {_literal(item)}" for name, item in value.items())
        return f"{{{', '.join(items)}}}"
    return repr(value)


def bibtex() -> str:
    """Return the BibTeX entries of the paper and the software, as in CITATION.cff."""
    return f"""@inproceedings{{rommel2022cadda,
  title = {{{{CADDA}}: Class-wise Automatic Differentiable Data Augmentation for {{EEG}} Signals}},
  author = {{Rommel, Cédric and Moreau, Thomas and Paillard, Joseph and Gramfort, Alexandre}},
  booktitle = {{International Conference on Learning Representations}},
  year = {{2022}}
}}

@software{{cadda,
  title = {{cadda: class-wise automatic differentiable data augmentation for {{EEG}}}},
  author = {{{{The cadda developers}}}},
  version = {{{__version__}}}
}}
"""
