"""How methods search that try one policy after the other."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cadda._internal.validation import Count, validated_dataclass

__all__ = ["PopulationSettings", "TrialSettings"]


@validated_dataclass
class TrialSettings:
    """How to search by trials that an Optuna study keeps.

    Parameters
    ----------
    sampler : 'tpe' | 'random' | 'grid'
        Source of policies: a tree-structured Parzen estimator that learns from earlier trials,
        random draws, or RandAugment's grid.
    evaluator : 'training' | 'held-out'
        How a policy is evaluated: by training a model from scratch with it, or by the loss of
        models trained once without augmentation on augmented windows that they have not seen.
    n_folds : int
        Number of these models; each is trained without one fold of the training subjects.
    multivariate : bool
        Whether the estimator looks at all values of a policy together; the paper's does not.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages of a subpolicy; in the grid, the largest number of operations in a row.
    trials_at_once : int
        How many trials are under way when the next policy is proposed. It belongs to the search
        and not to the engine, so that the result does not depend on the number of workers; more
        workers than this are idle.
    stack : int
        How many models are trained together as one stack of weights: quicker for small networks
        such as ``lenet1``, which have neither dropout nor batch normalisation. Their policies are
        proposed together.
    storage : str | None
        Address of the database of the study; None keeps it in the run folder, or in memory.
    study_name : str
        Name of the study.
    seed : int
        Decides everything that is random.
    """

    sampler: Literal["tpe", "random", "grid"] = "tpe"
    evaluator: Literal["training", "held-out"] = "training"
    n_folds: Annotated[int, Field(ge=2)] = 5
    multivariate: bool = False
    n_subpolicies: Count = 5
    n_stages: Count = 2
    trials_at_once: Count = 4
    stack: Count = 1
    storage: str | None = None
    study_name: str = "cadda"
    seed: int = 0


@validated_dataclass
class PopulationSettings:
    """How to search by a population of models.

    Parameters
    ----------
    n_members : int
        Number of models that are trained side by side, each with a policy of its own.
    segment_epochs : int
        Epochs after which the members are compared. A trial is one member for this many epochs.
    n_subpolicies : int
        Number L of subpolicies.
    n_stages : int
        Number K of stages of a subpolicy.
    seed : int
        Decides everything that is random.
    """

    n_members: Annotated[int, Field(ge=2)] = 8
    segment_epochs: Count = 5
    n_subpolicies: Count = 5
    n_stages: Count = 2
    seed: int = 0
