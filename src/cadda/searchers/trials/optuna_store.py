"""An Optuna study as the memory of a search, and its samplers as the source of proposals."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from cadda._internal.limits import read_bytes
from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError, RunError
from cadda.searchers.trials.encoding import Choice, Value, Values
from cadda.searchers.trials.protocol import Outcome

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial

__all__ = ["Sampling", "StudyMemory", "check_storage", "quiet_optuna"]

LARGEST_SEED = 2**32
MAX_LOG = 1 << 30
"""Bytes of a file of trials."""

LONGEST_LOCK = 2.0
"""Seconds that a process holds the lock of an Optuna study at most."""


class _OtherThreads(logging.Filter):
    """Drops what this thread logs, errors excepted."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR or record.thread != self._thread


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Silence Optuna in this thread, errors excepted; no log level is changed.

    Studies that the user runs in other threads meanwhile are logged as before.
    """
    from optuna.exceptions import ExperimentalWarning

    silence = _OtherThreads()
    handlers = [*logging.getLogger("optuna").handlers, *logging.getLogger().handlers]
    for handler in handlers:
        handler.addFilter(silence)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(silence)


class StudyMemory:
    """An Optuna study that keeps the trials, so that another process can resume."""

    def __init__(
        self,
        storage: Path | str | None,
        name: str,
        choices: Mapping[str, Choice],
        *,
        resume: bool,
        identity: Mapping[str, str] | None = None,
    ) -> None:
        from optuna.distributions import CategoricalDistribution
        from optuna.samplers import RandomSampler
        from optuna.study import create_study

        self.distributions: dict[str, BaseDistribution] = {
            key: _distribution(choice) or CategoricalDistribution(choice)
            for key, choice in choices.items()
        }
        self._place = storage
        with quiet_optuna(), self._writing(), self.reading():
            self._storage = _open_storage(storage, name, resume=resume)
            self.study: Study = create_study(
                storage=self._storage,
                # Proposals are made elsewhere.
                sampler=RandomSampler(),
                study_name=name,
                load_if_exists=True,
            )
            self._study_id = self._storage.get_study_id_from_name(name)
            if identity is not None:
                self._check_identity(identity)
            # Trials of an earlier process, finished or not.
            self.trials: list[FrozenTrial] = self.study.trials
            self._check_trials()
            self.outcomes = self._finished()

    def begin(self, values: Mapping[str, Value]) -> None:
        """Store a running trial, in one step so that it is never incomplete."""
        from optuna.trial import TrialState, create_trial

        with quiet_optuna(), self._writing():
            trial = create_trial(
                state=TrialState.RUNNING, params=dict(values), distributions=self.distributions
            )
            self.study.add_trial(trial)

    def finish(self, number: int, outcome: Outcome) -> None:
        """Store the outcome of a trial."""
        trial_id = self._storage.get_trial_id_from_study_id_trial_number(self._study_id, number)
        with quiet_optuna(), self._writing():
            self._storage.set_trial_user_attr(trial_id, "seconds", outcome.seconds)
            if outcome.value is None:
                self._storage.set_trial_user_attr(trial_id, "failure", outcome.failure)
            _tell(self.study, number, outcome)
        self.outcomes.append(outcome)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Name the place where the trials are kept if it cannot be written."""
        from optuna.exceptions import StorageInternalError

        try:
            yield
        except (OSError, StorageInternalError, RuntimeError) as error:
            cause = _cause_of(error)
            if isinstance(cause, RuntimeError):
                raise
            raise RunError(f"cannot write {self._place}: {short_reason(cause)}.") from cause

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Name the place where the trials are kept if they cannot be read."""
        try:
            yield
        except (CaddaError, OSError):
            raise
        # Optuna raises whatever the first surprise in its file leads to.
        except Exception as error:
            if isinstance(_cause_of(error), OSError):
                raise
            raise RunError(
                f"{self._place} is damaged, or has trials of other settings "
                f"({short_reason(error)}); choose another folder or `study_name`."
            ) from error

    def _check_identity(self, identity: Mapping[str, str]) -> None:
        """Raise `RunError` if the trials are those of another search; remember whose they are."""
        if not self.study.trials:
            self.study.set_user_attr("cadda", dict(identity))
            return
        known = self.study.user_attrs.get("cadda", {})
        other = [name for name, value in identity.items() if known.get(name) != value]
        if other:
            raise RunError(
                f"{self._place} has trials of another `{other[0]}` under the name "
                f"{self.study.study_name!r}; choose another `study_name`."
            )

    def _check_trials(self) -> None:
        """Raise `ValueError` if a trial has other values than there are to choose from."""
        for trial in self.trials:
            if not all(isinstance(value, int | float) for value in trial.values or ()):
                raise ValueError(f"trial {trial.number} has a result that is not a number")
            if trial.params.keys() != self.distributions.keys():
                raise ValueError(f"trial {trial.number} has other parameters")
            for key, distribution in self.distributions.items():
                if not distribution._contains(distribution.to_internal_repr(trial.params[key])):
                    raise ValueError(f"trial {trial.number} has another {key}")

    def _finished(self) -> list[Outcome]:
        outcomes = []
        for trial in self.trials:
            if not trial.state.is_finished():
                break
            kept = trial.user_attrs
            values = trial.value, kept.get("failure"), kept.get("seconds", 0.0)
            outcomes.append(TypeAdapter(Outcome).validate_python(Outcome(*values)))
        return outcomes


class Sampling:
    """Proposes by one of Optuna's samplers, as a function of seeds and of what is told."""

    def __init__(
        self, memory: StudyMemory, kind: str, *, multivariate: bool, trials_at_once: int
    ) -> None:
        from optuna.study import create_study

        self._memory, self._kind, self._multivariate = memory, kind, multivariate
        self._constant_liar = trials_at_once > 1
        # A separate Optuna study in memory: a killed process must not keep half a proposal.
        with quiet_optuna(), memory.reading():
            self._study = create_study()
            self._study.add_trials(memory.trials)

    def propose(self, seed: int) -> Values:
        """Choose the values of the next trial."""
        with quiet_optuna():
            self._study.sampler = self._sampler(seed % LARGEST_SEED)
            return self._study.ask(self._memory.distributions).params

    def tell(self, number: int, outcome: Outcome) -> None:
        """Learn from the outcome of a trial."""
        with quiet_optuna():
            _tell(self._study, number, outcome)

    def _sampler(self, seed: int) -> BaseSampler:
        from optuna.samplers import RandomSampler, TPESampler

        if self._kind == "random":
            return RandomSampler(seed=seed)
        return TPESampler(
            seed=seed, multivariate=self._multivariate, constant_liar=self._constant_liar
        )


def _cause_of(error: Exception) -> Exception:
    """Return the error of the disk for which Optuna says that it does not possess its lock."""
    hidden = error.__context__
    return hidden if isinstance(error, RuntimeError) and isinstance(hidden, OSError) else error


def _tell(study: Study, number: int, outcome: Outcome) -> None:
    from optuna.trial import TrialState

    if outcome.value is None:
        study.tell(number, state=TrialState.FAIL)
    else:
        study.tell(number, outcome.value)


def _distribution(choice: Choice) -> BaseDistribution | None:
    """Return the distribution of numbers in equal steps; None for other values."""
    from optuna.distributions import FloatDistribution, IntDistribution

    if all(isinstance(value, int) for value in choice):
        return IntDistribution(choice[0], choice[-1])
    if all(isinstance(value, float) for value in choice):
        return FloatDistribution(choice[0], choice[-1], step=round(choice[1] - choice[0], 6))
    return None


def _open_storage(storage: Path | str | None, name: str, *, resume: bool) -> BaseStorage:
    """Open the storage of an Optuna study; raise if it exists and `resume` is False."""
    opened = _open(storage)
    if not resume and name in [study.study_name for study in opened.get_all_studies()]:
        raise RunError(
            f"{storage} already contains the Optuna study {name!r}; pass `resume=True` to "
            "continue it, or choose another `study_name`."
        )
    return opened


def check_storage(storage: str, name: str, *, resume: bool) -> None:
    """Raise `RunError` if a database cannot be opened, or has the study without `resume`."""
    with quiet_optuna():
        _open_storage(storage, name, resume=resume)


def _open(storage: Path | str | None) -> BaseStorage:
    from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if storage is None:
        return InMemoryStorage()
    if isinstance(storage, str):
        try:
            return RDBStorage(storage)
        # SQLAlchemy and the drivers of databases have errors of their own.
        except Exception as error:
            raise RunError(
                f"`storage` {storage!r} cannot be opened ({short_reason(error)}); it must be an "
                "address such as sqlite:///trials.db."
            ) from error
    # Optuna cannot tell the age of a lock beside a relative path, and would wait for ever.
    path = storage.resolve()
    _remove_stale_lock(Path(f"{path}.lock"))
    _cut_half_line(path)
    return JournalStorage(JournalFileBackend(str(path)))


def _remove_stale_lock(path: Path) -> None:
    """Remove the lock of a process that was killed while it wrote; a living one is quick."""
    # Optuna renames a lock before it removes it.
    for released in path.parent.glob(f"{path.name}*.rename"):
        released.unlink(missing_ok=True)
    end = monotonic() + LONGEST_LOCK
    while path.is_symlink():
        if monotonic() > end:
            path.unlink(missing_ok=True)
        sleep(0.01)


def _cut_half_line(path: Path) -> None:
    """Remove what a killed process had not finished writing."""
    if not path.exists():
        return
    content = read_bytes(path, MAX_LOG)
    n_whole = content.rfind(b"\n") + 1
    if n_whole < len(content):
        # In one step: a file that is written again is empty for a moment.
        os.truncate(path, n_whole)
