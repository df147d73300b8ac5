"""cadda finds the right data augmentation for a data set by itself.

Operations transform windows of EEG, policies say which operation is applied to which class, how
often and how strongly, and search finds the policy that makes a model generalise.

A first look, on windows of two channels at 100 Hz::

    import torch
    import cadda

    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"])
    print(pool.names)                      # what can be applied on this montage
    print(pool.left_out)                   # not applicable, and why

    x = torch.randn(16, 2, 3000)           # windows: (n_windows, n_channels, n_times)
    shift = pool["frequency_shift"]
    shifted = shift(x, magnitude=0.4)      # shifts of up to 2 Hz, another one for each window

    spec = cadda.PolicySpec.from_text("frequency_shift p=0.5 m=0.4 > channel_symmetry p=0.3")
    spec.save("policy.json")               # plain JSON, to share and to cite

    policy = cadda.Policy(spec, pool)      # a torch module: policy(x, y) -> (x, y)
    augmented, _ = policy(x)

On the command line, ``cadda --help`` shows the commands, and ``cadda operations`` the operations.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cadda._version import __version__

if TYPE_CHECKING:
    from cadda.api.fit import evaluate, fit
    from cadda.api.pool import operation_pool
    from cadda.api.screen import screen
    from cadda.api.search import SearchResult, search
    from cadda.data.io.read import read_windows
    from cadda.data.simulation.nights import simulate_sleep
    from cadda.data.windows import Windows
    from cadda.estimators import AugmentedClassifier
    from cadda.exceptions import CaddaError
    from cadda.models.serialization import load_model
    from cadda.operations import Operation, OperationPool, image_pool
    from cadda.policies import (
        EnumeratedPolicy,
        MixturePolicy,
        Policy,
        PolicySpec,
        RelaxedPolicy,
        StagedPolicy,
    )
    from cadda.screening.result import Screening
    from cadda.training import Fitted

__all__ = [
    "AugmentedClassifier",
    "CaddaError",
    "EnumeratedPolicy",
    "Fitted",
    "MixturePolicy",
    "Operation",
    "OperationPool",
    "Policy",
    "PolicySpec",
    "RelaxedPolicy",
    "Screening",
    "SearchResult",
    "StagedPolicy",
    "Windows",
    "__version__",
    "evaluate",
    "fit",
    "image_pool",
    "load_model",
    "operation_pool",
    "read_windows",
    "screen",
    "search",
    "simulate_sleep",
]

# torch takes seconds to import, so each name is loaded when it is first asked for.
_HOMES = {
    "AugmentedClassifier": "cadda.estimators",
    "CaddaError": "cadda.exceptions",
    "EnumeratedPolicy": "cadda.policies",
    "MixturePolicy": "cadda.policies",
    "Operation": "cadda.operations",
    "OperationPool": "cadda.operations",
    "Policy": "cadda.policies",
    "PolicySpec": "cadda.policies",
    "RelaxedPolicy": "cadda.policies",
    "Screening": "cadda.screening.result",
    "SearchResult": "cadda.api.search",
    "StagedPolicy": "cadda.policies",
    "Fitted": "cadda.training",
    "Windows": "cadda.data.windows",
    "evaluate": "cadda.api.fit",
    "fit": "cadda.api.fit",
    "image_pool": "cadda.operations",
    "load_model": "cadda.models.serialization",
    "operation_pool": "cadda.api.pool",
    "read_windows": "cadda.data.io.read",
    "screen": "cadda.api.screen",
    "search": "cadda.api.search",
    "simulate_sleep": "cadda.data.simulation.nights",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cadda' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
