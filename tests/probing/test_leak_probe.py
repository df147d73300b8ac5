"""Models that read an operation in place of a class, and models that do not."""

from __future__ import annotations

import pytest
import torch
from problems import tensor_problem
from torch import Tensor, nn

import cadda
from cadda import Policy, PolicySpec, Windows
from cadda.probing.leak_probe import N_WINDOWS, with_leak_probe
from cadda.training import Fitted, Samples

CLASSES = ("a", "b", "c")
FLIP = "[a]\nsign_flip p=0.8\n[b]\nsign_flip p=0.1\n[c]\nsign_flip p=0.1"


class Constant(nn.Module):
    """Gives the first class the logit 3 where the signal is negative, if it reads the sign."""

    def __init__(self, *, reads_sign: bool) -> None:
        super().__init__()
        self.reads_sign = reads_sign

    def forward(self, x: Tensor) -> Tensor:
        is_read = (x.mean((1, 2)) < 0) & self.reads_sign
        return torch.stack([3.0 * is_read, torch.zeros(len(x)), torch.zeros(len(x))], 1)


def probed(text: str, *, reads_sign: bool, n_windows: int = 90) -> Fitted:
    """Probe a model on windows that are positive throughout."""
    x, y = torch.rand(n_windows, 2, 20) + 0.1, torch.arange(n_windows) % 3
    model = Constant(reads_sign=reads_sign)
    problem = tensor_problem((x, y), (x, y), CLASSES, lambda _: model)
    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"], class_names=CLASSES)
    fitted = Fitted(model, [], 0, False, problem.description)  # noqa: FBT003
    return with_leak_probe(fitted, Samples(x, y), Policy(PolicySpec.from_text(text), pool))


def test_a_model_that_reads_the_operation() -> None:
    (reading,) = probed(FLIP, reads_sign=True).leaks
    assert (reading.operation, reading.class_name) == ("sign_flip", "a")
    assert (reading.applied, reading.others) == pytest.approx((0.8, 0.1))
    after = torch.tensor([3.0, 0.0, 0.0]).softmax(0)[0].item()
    assert reading.change == pytest.approx(after - 1 / 3, abs=1e-6)
    assert reading.n_windows == 60
    assert reading.is_read
    assert "so the model reads the operation" in str(reading)


def test_a_model_that_does_not() -> None:
    (reading,) = probed(FLIP, reads_sign=False).leaks
    assert reading.change == 0
    assert not reading.is_read
    assert "reads the operation" not in str(reading)


def test_nothing_to_read() -> None:
    alike = "\n".join(f"[{name}]\nsign_flip p=0.8" for name in CLASSES)
    assert probed(alike, reads_sign=True).leaks == ()
    assert probed("sign_flip p=0.8", reads_sign=True).leaks == ()
    exchanged = "sign_flip p=0.8 -> {a: b, b: c, c: a}"
    assert probed(exchanged, reads_sign=True).leaks == ()


def test_a_map_that_leaves_a_class_alone() -> None:
    readings = probed("sign_flip p=0.8 -> {a: b, b: a}", reads_sign=True).leaks
    assert [reading.class_name for reading in readings] == ["a", "b"]
    assert [reading.is_read for reading in readings] == [True, False]


def test_few_windows_are_enough() -> None:
    (reading,) = probed(FLIP, reads_sign=True, n_windows=3000).leaks
    assert reading.n_windows == N_WINDOWS


@pytest.mark.parametrize(("other", "is_read"), [(0.0, True), (0.9, False)])
def test_training_on_noise(other: float, *, is_read: bool) -> None:
    """With nothing else to learn, a model learns the operation that only one class gets."""

    def noise(seed: int) -> Windows:
        return Windows(
            torch.randn(64, 1, 100, generator=torch.Generator().manual_seed(seed)),
            torch.arange(64) % 2,
            subject=[f"{seed}"] * 64,
            sfreq=100,
            ch_names=["Cz"],
            class_names=["a", "b"],
        )

    fitted = cadda.fit(
        noise(0),
        noise(1),
        model=lambda n_channels, n_times, n_classes: Power(n_classes),
        policy=PolicySpec.from_text(f"[a]\ntime_mask p=1 m=0.5\n[b]\ntime_mask p={other} m=0.5"),
        copies=0,
        max_epochs=1,
        batch_size=2,
        lr=0.05,
    )
    (reading,) = fitted.leaks
    assert (reading.class_name, reading.is_read) == ("a", is_read), str(reading)


class Power(nn.Module):
    """Classifies by the power."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.out = nn.Linear(1, n_classes)
        nn.init.zeros_(self.out.weight)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.out(x.square().mean((1, 2))[:, None] - 1)
        return logits
