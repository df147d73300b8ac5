"""Windows in, augmentation policy out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from cadda._files import replace_atomically
from cadda._validation import check_positive
from cadda._version import __version__
from cadda.data.windows import Windows
from cadda.exceptions import RunError
from cadda.fitting import Device, Fitted, check_pair, description_of, model_for, pick_device
from cadda.models.critic import make_critic
from cadda.models.registry import ModelSource
from cadda.operations.catalogue import CATALOGUE
from cadda.operations.pool import OperationPool
from cadda.policies.spec import PolicySpec, Provenance
from cadda.pools import operation_pool
from cadda.reporting.policy import plot_evolution, plot_operation_use
from cadda.run_folder import RunFolder, digest_of
from cadda.searchers.base import Searcher
from cadda.searchers.checks import check_task
from cadda.searchers.driver import Plan, SearchDriver, Trained
from cadda.searchers.events import Retrained, SearchEpoch, SearchEvent, SearchStart
from cadda.searchers.hints import rare_classes
from cadda.searchers.methods import find_method
from cadda.searchers.space import PolicySpace
from cadda.searchers.task import SearchTask
from cadda.tracking.jsonl import JsonlSink, both
from cadda.training import TrainingEvent, TrainingSettings

__all__ = ["SearchResult", "make_task", "search"]

N_EPOCHS = 50
NOT_IN_PAPER = "bandstop"
"""The paper has no differentiable form of it."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A policy and how it was found.

    Parameters
    ----------
    policy : PolicySpec
        The policy found: that of the best retraining if there were any, else the last one.
    history : list of SearchEpoch and Retrained
        What happened, in order.
    seconds : float
        Time spent on searching, without retrainings.
    fitted : Fitted | None
        The model trained from scratch with the policy, if there were retrainings.
    baseline : Fitted | None
        The model trained without augmentation, if that was asked for.
    """

    policy: PolicySpec
    history: list[SearchEpoch | Retrained]
    seconds: float
    fitted: Fitted | None
    baseline: Fitted | None


def search(
    train: Windows,
    valid: Windows,
    *,
    method: str = "adda",
    classwise: bool = False,
    model: ModelSource = "chambon2018",
    operations: Sequence[str] | OperationPool | None = None,
    budget: int = N_EPOCHS,
    max_seconds: float | None = None,
    retrain_every: int | None = None,
    baseline: bool = False,
    training: TrainingSettings | None = None,
    preset: Literal["paper"] | None = None,
    seed: int = 0,
    device: Device = "auto",
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    data: str | None = None,
    on_event: Callable[[SearchEvent | TrainingEvent], None] | None = None,
    **settings: Any,
) -> SearchResult:
    """Find the augmentation with which a model generalises best to other subjects.

    Parameters
    ----------
    train : Windows
        What models learn from, and what is augmented.
    valid : Windows
        What augmentation is judged by: other subjects.
    method : str
        ``"adda"``, ``"cadda"``, ``"dada"`` or ``"faster_autoaugment"``.
    classwise : bool
        Whether each class gets a policy of its own; ``"cadda"`` is ``"adda"`` with this.
    model : str | nn.Module | callable
        The model that augmentation shall help; see `cadda.fit`.
    operations : sequence of str | OperationPool | None
        What to choose from: names, ``["paper"]`` for the twelve of the paper, or a pool; None
        takes all that mean something on the montage.
    budget : int
        Number of passes through the training windows.
    max_seconds : float | None
        Time after which the search stops earlier; retrainings do not count.
    retrain_every : int | None
        Epochs between retrainings from scratch with the policy found so far; the best of them by
        validation loss is the result, and its model is given too. None retrains never, and takes
        the last policy.
    baseline : bool
        Whether to train once without augmentation, for comparison.
    training : TrainingSettings | None
        How to retrain; None takes the defaults of `cadda.fit`.
    preset : 'paper' | None
        ``"paper"`` takes the settings of the paper; None takes ours.
    seed : int
        Decides everything that is random: same seed, same bytes.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.
    run_dir : path-like | None
        Folder for configuration, policy, events, checkpoints and figures.
    resume : bool
        Whether to go on with an interrupted search in ``run_dir``.
    data : str | None
        Where the windows come from, for the record.
    on_event : callable | None
        Called with every event of the search and of the retrainings.
    **settings : object
        Settings of the method, such as ``estimator="straight-through"`` or ``n_stages=1``: see
        `BilevelSettings` and `FasterSettings`.

    Returns
    -------
    SearchResult
        The policy and how it was found.
    """
    report = on_event or (lambda event: None)
    chosen = find_method(method)
    classwise = classwise or chosen.classwise
    complete = chosen.complete(settings, preset=preset, seed=seed)
    task = make_task(train, valid, model=model, operations=operations, device=device)
    check_task(task, complete["batch_size"])
    plan = Plan(
        n_epochs=int(check_positive("budget", budget)),
        max_seconds=None if max_seconds is None else check_positive("max_seconds", max_seconds),
        retrain_at=_retrain_at(budget, retrain_every, baseline=baseline),
        training=training or TrainingSettings(seed=seed),
    )
    folder = None if run_dir is None else RunFolder(Path(run_dir), "search")
    if folder is not None:
        config = {
            "method": method,
            "classwise": classwise,
            "model": model if isinstance(model, str) else "custom",
            "operations": task.pool.names,
            "settings": complete,
            "plan": asdict(plan),
            "data": {"name": data, "train": digest_of(train), "valid": digest_of(valid)},
            "split": {"train": train.subjects, "valid": valid.subjects},
        }
        _begin(folder, config, resume=resume)
    searcher = chosen.searcher(task, complete, classwise=classwise)
    sink = None if folder is None else JsonlSink(folder.events)
    driver = SearchDriver(
        task,
        searcher,
        plan,
        folder=None if folder is None else folder.folder,
        on_event=report if sink is None else both(sink, report),
        on_training=report,
    )
    if sink is not None:
        sink.rewrite(driver.history)
    report(_start(method, task, complete, driver, classwise=classwise))
    driver.run()
    provenance = Provenance(method=method, seed=seed, data=data, package_version=__version__)
    result = _result(driver, searcher, train, model, provenance)
    if folder is not None:
        _write(folder, result)
    return result


def make_task(
    train: Windows,
    valid: Windows,
    *,
    model: ModelSource,
    operations: Sequence[str] | OperationPool | None,
    device: Device,
) -> SearchTask:
    """Turn windows of two groups of subjects into what a search works on.

    Parameters
    ----------
    train : Windows
        What models learn from.
    valid : Windows
        What augmentation is judged by.
    model : str | nn.Module | callable
        See `cadda.fit`.
    operations : sequence of str | OperationPool | None
        See `search`.
    device : 'auto' | 'cpu' | 'cuda' | 'mps'
        Where to compute.

    Returns
    -------
    SearchTask
        Tensors, names and ways to make models.
    """
    check_pair(train, valid)
    pool = _pool(train, operations)
    domains = {CATALOGUE[name].domain for name in pool.names if name in CATALOGUE}
    images = domains == {"image"}
    return SearchTask(
        x_train=train.x,
        y_train=train.y,
        x_valid=valid.x,
        y_valid=valid.y,
        class_names=train.class_names,
        pool=pool,
        make_model=lambda seed: model_for(model, train, seed=seed),
        make_critic=lambda seed: make_critic(
            tuple(train.x.shape[1:]), train.n_classes, seed, images=images
        ),
        device=pick_device(device),
    )


def _pool(windows: Windows, operations: Sequence[str] | OperationPool | None) -> OperationPool:
    if isinstance(operations, OperationPool):
        return operations
    if isinstance(operations, str):
        raise TypeError(f"`operations` must be a list of names, got the text {operations!r}.")
    pool = operation_pool(windows)
    if operations is None:
        return pool
    if list(operations) == ["paper"]:
        return pool.select([name for name in pool.names if name != NOT_IN_PAPER])
    try:
        return pool.select(operations)
    except KeyError as error:
        raise ValueError(f"`operations`: {error.args[0]}") from error


def _retrain_at(budget: int, every: int | None, *, baseline: bool) -> tuple[int, ...]:
    first = (0,) if baseline else ()
    if every is None:
        return first
    step = int(check_positive("retrain_every", every))
    return (*first, *range(step, budget, step), budget)


def _begin(folder: RunFolder, config: dict[str, Any], *, resume: bool) -> None:
    if folder.config.exists() and not resume:
        raise RunError(
            f"{folder.folder} holds a search already; go on with it by `resume` (--resume), or "
            "choose another folder."
        )
    folder.begin(config)


def _start(
    method: str,
    task: SearchTask,
    settings: dict[str, Any],
    driver: SearchDriver,
    *,
    classwise: bool,
) -> SearchStart:
    space = PolicySpace(
        len(task.pool),
        settings["n_subpolicies"],
        settings["n_stages"],
        len(task.class_names) if classwise else 1,
    )
    rare = rare_classes(task.y_train, task.class_names, settings["batch_size"])
    return SearchStart(
        method=method,
        classwise=classwise,
        n_epochs=driver.plan.n_epochs,
        epoch=driver.epoch,
        operations=task.pool.names,
        class_names=task.class_names,
        log10_policies=space.log10_size,
        warnings=rare if classwise else (),
    )


def _result(
    driver: SearchDriver,
    searcher: Searcher,
    train: Windows,
    model: ModelSource,
    provenance: Provenance,
) -> SearchResult:
    def fitted(trained: Trained | None) -> Fitted | None:
        if trained is None:
            return None
        network = model_for(model, train, seed=0)
        network.load_state_dict(trained.weights)
        return Fitted(
            network.eval(), trained.history, trained.best_epoch, description_of(model, train)
        )

    best = driver.best()
    policy = searcher.to_spec() if best is None or best.policy is None else best.policy
    return SearchResult(
        policy=policy.model_copy(update={"provenance": provenance}),
        history=driver.history,
        seconds=driver.seconds,
        fitted=fitted(best),
        baseline=fitted(driver.trained.get(0)),
    )


def _write(folder: RunFolder, result: SearchResult) -> None:
    """Write policy, model and pictures of a finished search."""
    result.policy.save(folder.policy)
    if result.fitted is not None:
        result.fitted.save(folder.model)
    folder.figures.mkdir(exist_ok=True)
    for name, figure in (
        ("operations.png", plot_operation_use(result.policy)),
        ("evolution.png", plot_evolution(result.history, result.policy)),
    ):
        with replace_atomically(folder.figures / name) as temporary:
            figure.savefig(temporary, format="png", dpi=150)
