"""Saving the state of a training run or a search, so that it can be killed at any moment."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from cadda._internal.differences import excerpts, is_digest
from cadda._internal.files import write_bytes_atomically
from cadda._internal.limits import check_memory, check_regular, open_regular
from cadda._internal.signals import signals_deferred
from cadda._internal.text import short_reason
from cadda.exceptions import CaddaError, TrainingError
from cadda.policies.policy import Policy
from cadda.policies.schedule import ScheduledPolicy
from cadda.policies.spec.provenance import Provenance
from cadda.training.augmenter import Augmentation

__all__ = [
    "Fingerprint",
    "State",
    "Stateful",
    "load_checkpoint",
    "model_digest",
    "policy_digest",
    "restoring",
    "save_checkpoint",
]

HEAD = b"cadda checkpoint 2\n"
"""The beginning of a checkpoint; the SHA-256 of the rest follows, then what torch writes."""

# State dicts of torch's modules and optimizers nest tensors and plain values of any type.
State: TypeAlias = dict[str, Any]
"""Tensors and plain values that `torch.save` writes and ``weights_only`` loading reads."""


class Stateful(Protocol):
    """A module, an optimizer, or whatever else has a state."""

    def state_dict(self) -> State:
        """Return the state."""

    def load_state_dict(self, state: State, /) -> object:
        """Restore a state."""


Fingerprint: TypeAlias = Mapping[str, object]
"""What a checkpoint belongs to, by name: plain values, or digests of more."""


def save_checkpoint(path: Path, state: State, fingerprint: Fingerprint) -> None:
    """Write a checkpoint in one step."""
    # In memory first: torch reports a full disk as an internal error.
    content = io.BytesIO()
    with signals_deferred():
        torch.save({"state": state, "fingerprint": dict(fingerprint)}, content)
        write_bytes_atomically(path, HEAD + _digest(content.getbuffer()) + content.getbuffer())


def load_checkpoint(path: Path, fingerprint: Fingerprint) -> State:
    """Read a checkpoint of the same fingerprint; nothing in the file is executed."""
    try:
        content = torch.load(_read_checked(path), weights_only=True, map_location="cpu")
        state, saved = content["state"], dict(content["fingerprint"])
    except OSError as error:
        raise TrainingError(f"cannot read {path}: {short_reason(error)}.") from error
    # torch raises anything from KeyError to UnpicklingError for a file that is not its own.
    except Exception as error:
        raise TrainingError(
            f"{path} cannot be resumed from: it is damaged, or not a checkpoint of this version "
            "of cadda; delete it to start from the beginning."
        ) from error
    for key, value in fingerprint.items():
        if saved.get(key) != value:
            raise TrainingError(
                f"{path} belongs to another training run: {_change(key, saved.get(key), value)}; "
                "use another folder, or the same data and settings."
            )
    checked: State = state
    return checked


def _change(key: str, old: object, new: object) -> str:
    if is_digest(old) or is_digest(new):
        noun = {"data": "windows are", "pool": "operations are", "operations": "operations are"}
        return f"the {noun.get(key, f'{key} is')} not the same"
    first, second = excerpts(old, new)
    return f"`{key}` was {first}, and is {second} now"


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Name the checkpoint if what it holds is not what was saved."""
    try:
        yield
    except CaddaError:
        raise
    # Whatever the parts of a state do with values of another type or shape.
    except Exception as error:
        raise TrainingError(
            f"{path} cannot be resumed from: it is damaged ({type(error).__name__}); delete it to "
            "start from the beginning."
        ) from error


def _read_checked(path: Path) -> io.BytesIO:
    """Return what torch wrote; raise if any bit of the file has changed."""
    with open_regular(path) as file:
        if file.read(len(HEAD)) != HEAD:
            raise ValueError("not a checkpoint")
    size = check_regular(path)
    check_memory(path, size, size)
    content = path.read_bytes()
    start = len(HEAD) + hashlib.sha256().digest_size
    saved = memoryview(content)[start:]
    if content[:start] != HEAD + _digest(saved):
        raise ValueError("wrong digest")
    return io.BytesIO(saved)


def _digest(content: memoryview) -> bytes:
    return hashlib.sha256(content).digest()


def model_digest(model: nn.Module) -> str:
    """Return a digest of structure (as ``str`` shows it), attributes and weights of a model."""
    digest = hashlib.sha256(str(model).encode())
    for place, module in model.named_modules():
        for name, value in sorted(vars(module).items()):
            if isinstance(value, str | int | float) and name != "training":
                digest.update(f"{place}.{name}={value!r}".encode())
    for name, value in model.state_dict().items():
        digest.update(name.encode())
        if isinstance(value, Tensor):
            digest.update(value.detach().cpu().flatten().view(torch.uint8).numpy().data)
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()[:16]


def policy_digest(policy: Augmentation | None) -> str | None:
    """Return a digest of what a policy applies; for any other callable, its qualified name."""
    if policy is None:
        return None
    if isinstance(policy, Policy):
        spec = policy.spec.model_copy(update={"provenance": Provenance()})
        content = policy.granularity + spec.to_json() + policy.pool.digest
    elif isinstance(policy, ScheduledPolicy):
        content = policy.schedule.to_json() + policy.pool.digest
    else:
        named = policy if hasattr(policy, "__qualname__") else type(policy)
        return f"{named.__module__}.{named.__qualname__}"
    return hashlib.sha256(content.encode()).hexdigest()[:16]
