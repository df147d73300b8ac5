"""Models by name, from modules and from functions."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

import cadda
from cadda.exceptions import ModelError
from cadda.models.networks import LeNet1, Shallow
from cadda.models.registry import RENAMED, choose_model, describe_choice, make_model

SIZES = {"n_channels": 2, "n_times": 3000, "n_classes": 5, "sfreq": 100.0}


@pytest.mark.parametrize("name", ["chambon2018", "shallow", "braindecode:SleepStagerChambon2018"])
@pytest.mark.filterwarnings("ignore")
def test_by_name(name: str) -> None:
    model = make_model(name, seed=0, **SIZES)
    assert model(torch.zeros(3, 2, 3000)).shape == (3, 5)


@pytest.mark.filterwarnings("ignore")
def test_models_of_braindecode_give_logits() -> None:
    model = make_model("braindecode:EEGNetv4", seed=0, **SIZES).eval()
    x = torch.randn(3, 2, 3000, generator=torch.Generator().manual_seed(0))
    # Logarithms of probabilities would have a sum of exponentials of 1.
    assert (model(x).exp().sum(1) - 1).abs().min() > 0.01


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["ShallowFBCSPNet", "Deep4Net"])
@pytest.mark.parametrize("n_times", [600, 3000])
def test_models_of_braindecode_give_one_answer_per_window(name: str, n_times: int) -> None:
    model = make_model(f"braindecode:{name}", seed=0, **(SIZES | {"n_times": n_times}))
    assert model(torch.zeros(3, 2, n_times)).shape == (3, 5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", RENAMED)
def test_models_that_braindecode_has_renamed(names: tuple[str, str]) -> None:
    old, new = (make_model(f"braindecode:{name}", seed=0, **SIZES) for name in names)
    assert type(old) is type(new)
    assert type(old).__name__ in names
    with pytest.raises(ValueError, match="one of braindecode's models, got 'EEGNetv5'"):
        make_model("braindecode:EEGNetv5", seed=0, **SIZES)


def test_a_model_with_nothing_to_train_is_refused() -> None:
    frozen = nn.Sequential(nn.Flatten(), nn.Linear(6000, 5)).requires_grad_(requires_grad=False)
    for model in (nn.Flatten(), frozen):
        with pytest.raises(ModelError, match="the model has no parameters"):
            make_model(model, seed=0, **SIZES)


def test_weights_depend_on_the_seed_and_nothing_else() -> None:
    before = torch.random.get_rng_state()
    a, b, c = (make_model("chambon2018", seed=seed, **SIZES) for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(next(a.parameters()), next(c.parameters()))


def test_a_module_is_copied() -> None:
    own = nn.Sequential(nn.Flatten(), nn.Linear(6000, 5))
    made = make_model(own, seed=0, **SIZES)
    assert made is not own
    assert torch.equal(made[1].weight, own[1].weight)
    assert made[1].weight is not own[1].weight


def test_a_function_that_returns_the_same_module_again() -> None:
    """Training changes a copy, so that nothing is learned from one fold to the next."""
    shared = nn.Sequential(nn.Flatten(), nn.Linear(2 * 100, 3))
    sizes = {"n_channels": 2, "n_times": 100, "n_classes": 3, "sfreq": 100.0}
    first = make_model(lambda *_: shared, **sizes, seed=0)
    nn.init.zeros_(first[1].weight)
    again = make_model(lambda *_: shared, **sizes, seed=0)
    assert torch.equal(again[1].weight, shared[1].weight)
    assert shared[1].weight.abs().min() > 0


def test_a_function_gets_the_sizes() -> None:
    def build(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        assert (n_channels, n_times, n_classes) == (2, 3000, 5)
        return nn.Linear(n_times, n_classes)

    assert isinstance(make_model(build, seed=0, **SIZES), nn.Linear)


@pytest.mark.parametrize(
    ("source", "error", "match"),
    [
        ("chambon2019", ValueError, r"got 'chambon2019' \(did you mean `chambon2018`\?\)"),
        (lambda *_: 3, TypeError, "must make a torch module, got int"),
        ("braindecode:EEGNetv5", ValueError, "one of braindecode's models, got 'EEGNetv5'"),
        ("braindecode:Deep4", ValueError, r"got 'Deep4' \(did you mean `Deep4Net`\?\)"),
        ("eegnet", ValueError, r"got 'eegnet' \(did you mean `braindecode:EEGNet\w*`\?\)"),
        ("ShalowFBCSPNet", ValueError, r"\(did you mean `braindecode:ShallowFBCSPNet`\?\)"),
        (lambda: 3, TypeError, r"function of \(n_channels, n_times, n_classes\), got one with"),
        ("perceptron", ValueError, r"got 'perceptron'\.$"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_model(source: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make_model(source, seed=0, **SIZES)


def test_no_unlike_model_is_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where braindecode cannot be imported."""
    monkeypatch.setitem(sys.modules, "braindecode", None)
    with pytest.raises(ValueError, match=r"got 'EEGNet'\.$"):
        make_model("EEGNet", seed=0, **SIZES)
    with pytest.raises(ValueError, match=r"\(did you mean `lenet1`\?\)"):
        make_model("lenet", seed=0, **SIZES)


def lazy(n_channels: int, n_times: int, n_classes: int) -> nn.Module:
    del n_channels, n_times
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(5))


def test_lazy_modules_get_weights_that_depend_on_the_seed() -> None:
    first, second, other = (make_model(lazy, seed=seed, **SIZES) for seed in (0, 0, 1))
    assert first[1].weight.shape == (4, 6000)
    assert torch.equal(first[1].weight, second[1].weight)
    assert not torch.equal(first[1].weight, other[1].weight)
    assert first.training
    # The window that gave the sizes has left no trace in the statistics.
    assert torch.equal(first[2].running_mean, torch.zeros(4))
    made = make_model(lazy(2, 3000, 5), seed=0, **SIZES)
    assert made(torch.zeros(3, 2, 3000)).shape == (3, 5)


def test_lenet1_has_the_published_size() -> None:
    model = LeNet1(28, 28, 10)
    # 4 maps of 5 × 5, 12 maps of 4 × 5 × 5, and 10 outputs from 12 × 4 × 4.
    assert sum(p.numel() for p in model.parameters()) == 4 * 26 + 12 * 101 + 10 * 193
    assert model(torch.zeros(2, 28, 28)).shape == (2, 10)
    with pytest.raises(ValueError, match="at least 16 pixels for lenet1, got 8 and 8"):
        LeNet1(8, 8, 10)


def test_shallow_convolves_as_two_layers_would() -> None:
    network, x = Shallow(8, 400, 2).eval(), torch.randn(3, 8, 400)
    apart = network.spatial(network.temporal(x.unsqueeze(1))).squeeze(2)
    power = torch.nn.functional.avg_pool1d(network.norm(apart).square(), 75, 15)
    expected = network.dense(power.clamp_min(1e-6).log().flatten(1))
    torch.testing.assert_close(network(x), expected)


def test_shallow_takes_short_windows() -> None:
    assert Shallow(8, 39, 2)(torch.randn(3, 8, 39)).shape == (3, 2)
    with pytest.raises(ValueError, match="`n_times` must be at least 39 samples for shallow, got"):
        Shallow(8, 38, 2)


@pytest.mark.parametrize(
    ("name", "n_times", "sfreq", "message"),
    [
        (
            *("chambon2018", 200, 100.0),
            r"`model` chambon2018 needs windows of at least 256 samples \(2.56 s at 100 Hz\), got "
            r"200 samples \(2 s at 100 Hz\); use longer windows, or shallow as `model`\.",
        ),
        ("chambon2018", 30, None, "at least 256 samples, got 30 samples; .* or another `model`"),
        ("shallow", 30, 100.0, "`model` shallow needs .* got 30 samples .* or another `model`"),
    ],
)
def test_windows_too_short_for_a_model(
    name: str, n_times: int, sfreq: float | None, message: str
) -> None:
    sizes = {"n_channels": 2, "n_times": n_times, "n_classes": 2}
    with pytest.raises(ValueError, match=message):
        make_model(name, **sizes, sfreq=sfreq, seed=0)


def test_the_choice_of_a_model_without_a_rate_is_said() -> None:
    assert describe_choice("auto", 200, 100.0) is None
    assert describe_choice("lenet1", 200, None) is None
    short, long = (describe_choice("auto", n_times, None) for n_times in (255, 256))
    assert "`model` auto is shallow, as windows of 255 samples are too short" in str(short)
    assert "`model` auto is chambon2018, as windows of 256 samples are long enough" in str(long)


@pytest.mark.parametrize(
    ("n_times", "sfreq", "name"),
    [
        (400, 100.0, "shallow"),
        (1499, 100.0, "shallow"),
        (1500, 100.0, "chambon2018"),
        (3000, 100.0, "chambon2018"),
        (784, None, "chambon2018"),
        (256, None, "chambon2018"),
        (255, None, "shallow"),
    ],
)
def test_the_length_of_windows_chooses_a_model(
    n_times: int, sfreq: float | None, name: str
) -> None:
    assert choose_model("auto", n_times, sfreq) == name
    assert choose_model("lenet1", n_times, sfreq) == "lenet1"


def test_a_chosen_model_is_recorded_by_its_name() -> None:
    windows = cadda.simulate_motor_imagery(n_subjects=4, n_windows=4, seed=0)
    train, valid, _ = windows.split(valid=0.25, test=0.25, seed=0)
    fitted = cadda.fit(train, valid, max_epochs=1, progress=False)
    assert fitted.description.model == "shallow"


def test_a_model_of_braindecode_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    braindecode = pytest.importorskip("braindecode.models")
    monkeypatch.setattr(braindecode, "Broken", Broken, raising=False)
    with pytest.raises(ValueError, match=r"`model` 'braindecode:Broken' cannot be made") as raised:
        make_model("braindecode:Broken", seed=0, **SIZES)
    said = str(raised.value)
    assert f"with n_chans={SIZES['n_channels']}, n_outputs={SIZES['n_classes']}: no depth." in said
    assert said.endswith("such as depth.")
    assert "stacktrace" not in said


class Broken(nn.Module):
    """A network that needs a further argument."""

    def __init__(self, n_chans: int, n_outputs: int, depth: int | None = None) -> None:
        super().__init__()
        if depth is None:
            raise RuntimeError("no depth (see above in the stacktrace).")
