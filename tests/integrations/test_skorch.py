"""A policy, or a search for one, in a net of skorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score
from torch import Tensor, nn

import cadda
from cadda import AugmentationCallback, PolicySchedule, PolicySpec, Segment
from cadda._internal import delayed

skorch = pytest.importorskip("skorch", reason="skorch is not installed: pip install skorch")

CHANNELS = ["C3", "C4"]
FLIP = PolicySpec.from_text("sign_flip p=1")
SWAP = PolicySpec.from_text("channel_symmetry p=1 -> {left: right, right: left}")


class Network(nn.Module):
    """Keeps what it is given: (whether it trains, windows)."""

    def __init__(self, n_outputs: int = 2) -> None:
        super().__init__()
        self.seen: list[tuple[bool, Tensor]] = []
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(2 * 16, n_outputs))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((self.training, x.detach().clone()))
        return self.body(x)


class Loss(nn.CrossEntropyLoss):
    """Keeps the labels."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[list[int]] = []

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        self.labels.append(labels.tolist())
        return super().forward(logits, labels)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((20, 2, 16)).astype(np.float32), np.arange(20) % 2


def make_net(callback: AugmentationCallback, **options: Any) -> Any:
    arguments = {"criterion": Loss, "batch_size": -1, "max_epochs": 1, "verbose": 0} | options
    return skorch.NeuralNetClassifier(Network, callbacks=[callback], **arguments)


def callback(policy: Any = FLIP, **options: Any) -> AugmentationCallback:
    arguments = {"sfreq": 16.0, "ch_names": CHANNELS, "random_state": 0} | options
    return AugmentationCallback(policy, **arguments)


def seen(net: Any, *, training: bool) -> list[Tensor]:
    return [x for was_training, x in net.module_.seen if was_training == training]


def test_only_training_batches_are_augmented(data: Any) -> None:
    X, y = data  # noqa: N806
    net = make_net(callback()).fit(X, y)
    (trained,), (valid,) = seen(net, training=True), seen(net, training=False)
    first, second = net.get_split_datasets(X, y)
    assert torch.equal(trained, -torch.stack([torch.tensor(x) for x, _ in first]))
    assert torch.equal(valid, torch.stack([torch.tensor(x) for x, _ in second]))
    assert (net.predict(X) == net.predict(X)).all()
    assert torch.equal(seen(net, training=False)[-1], torch.from_numpy(X))


@pytest.mark.parametrize(("copies", "n_batches"), [(None, 1), (0, 1), (2, 3)])
def test_copies(data: Any, copies: int | None, n_batches: int) -> None:
    net = make_net(callback(copies=copies), train_split=None).fit(*data)
    ((trained,), x) = seen(net, training=True), torch.from_numpy(data[0])
    assert torch.equal(trained, torch.cat([x] * (n_batches > 1) + [-x] * max(1, n_batches - 1)))
    assert [len(labels) for labels in net.criterion_.labels] == [20 * n_batches]


def test_classwise_policies_keep_windows_as_in_fit(data: Any) -> None:
    spec = PolicySpec.from_text("[left]\nsign_flip p=1\n[right]\nnone")
    net = make_net(callback(spec, class_names=["left", "right"]), train_split=None).fit(*data)
    (trained,) = seen(net, training=True)
    x, is_left = torch.from_numpy(data[0]), torch.from_numpy(data[1] == 0)
    assert torch.equal(trained[:20], x)
    assert torch.equal(trained[20:][is_left], -x[is_left])
    assert torch.equal(trained[20:][~is_left], x[~is_left])


CLASSWISE = "[{}]\nnone\n[{}]\nsign_flip p=1"


@pytest.mark.parametrize(
    ("text", "class_names"),
    [
        (CLASSWISE.format("right", "left"), ["left", "right"]),
        (CLASSWISE.format("1", "0"), None),
    ],
)
def test_classes_are_matched_by_name(data: Any, text: str, class_names: Any) -> None:
    spec, (X, y) = PolicySpec.from_text(text), data  # noqa: N806
    net = make_net(callback(spec, copies=0, class_names=class_names), train_split=None).fit(X, y)
    sign = torch.from_numpy(np.where(y == 0, -1, 1))[:, None, None]
    assert torch.equal(seen(net, training=True)[0], torch.from_numpy(X) * sign)


@pytest.mark.parametrize("as_schedule", [False, True])
def test_named_classes_are_not_matched_by_position(data: Any, as_schedule: bool) -> None:
    policy: Any = PolicySpec.from_text(CLASSWISE.format("right", "left"))
    if as_schedule:
        policy = PolicySchedule(segments=(Segment(n_epochs=1, policy=policy),))
    expected = r"`class_names` must be given for a policy of the classes \['right', 'left'\].*None"
    with pytest.raises(ValueError, match=expected):
        make_net(callback(policy)).fit(*data)


@pytest.mark.parametrize("as_file", [False, True])
def test_the_policy_that_was_used(data: Any, tmp_path: Path, as_file: bool) -> None:
    FLIP.save(tmp_path / "policy.json")
    given = callback(str(tmp_path / "policy.json") if as_file else FLIP)
    make_net(given).fit(*data)
    assert given.policy_ == FLIP


def test_labels_follow_label_maps(data: Any) -> None:
    net = make_net(callback(SWAP, class_names=["left", "right"]), train_split=None).fit(*data)
    (trained,) = seen(net, training=True)
    assert torch.equal(trained, torch.from_numpy(data[0]).flip(1))
    assert net.criterion_.labels == [(1 - data[1]).tolist()]


def test_schedules_change_between_epochs(data: Any) -> None:
    segments = (Segment(n_epochs=1, policy=PolicySpec.none()), Segment(n_epochs=1, policy=FLIP))
    schedule = PolicySchedule(segments=segments)
    net = make_net(callback(schedule), train_split=None, max_epochs=3).fit(*data)
    signs = [float((x / torch.from_numpy(data[0])).mean()) for x in seen(net, training=True)]
    assert signs == pytest.approx([1, -1, -1])


def test_files_pools_and_names_of_channels(data: Any, tmp_path: Path) -> None:
    FLIP.save(tmp_path / "policy.json")
    pool = cadda.operation_pool(sfreq=16, ch_names=CHANNELS)
    for given in (
        callback(str(tmp_path / "policy.json")),
        callback(cadda.Policy(FLIP, pool)),
        callback(ch_names=None),
    ):
        net = make_net(given, train_split=None).fit(*data)
        assert torch.equal(seen(net, training=True)[0], -torch.from_numpy(data[0]))
    with pytest.raises(ValueError, match=r"`channel_symmetry`.*"):
        make_net(callback(SWAP, ch_names=None, class_names=["left", "right"])).fit(*data)


@pytest.mark.parametrize("as_file", [False, True])
def test_the_sampling_rate_is_never_guessed(data: Any, tmp_path: Path, as_file: bool) -> None:
    policy: Any = PolicySpec.from_text("time_mask p=0.5 m=0.3")
    if as_file:
        policy.save(tmp_path / "policy.json")
        policy = str(tmp_path / "policy.json")
    way_out = "it needs the sampling rate, which is not known; pass it in Hz as `sfreq`"
    with pytest.raises(ValueError, match=f"`time_mask` is not applicable: {way_out}"):
        make_net(AugmentationCallback(policy, ch_names=CHANNELS)).fit(*data)
    make_net(AugmentationCallback(policy, ch_names=CHANNELS, sfreq=16)).fit(*data)
    # All else works without.
    net = make_net(AugmentationCallback(FLIP), train_split=None).fit(*data)
    assert torch.equal(seen(net, training=True)[0], -torch.from_numpy(data[0]))


def test_a_search_without_a_sampling_rate_finds_no_such_operation(data: Any) -> None:
    searching = callback(None, sfreq=None, method="random", search_budget=1)
    net = make_net(searching, train_split=None).fit(*data)
    found = net.callbacks[0].policy_
    assert set(found.operations).isdisjoint({"time_mask", "bandstop", "frequency_shift"})


@pytest.mark.parametrize("progress", [True, False])
def test_progress_of_the_search(
    data: Any,
    progress: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(delayed, "DELAY", 0.0)
    wanted = {"progress": True} if progress else {}
    searching = callback(None, method="random", search_budget=1, **wanted)
    make_net(searching, train_split=None).fit(*data)
    assert ("trial 1 of 1" in capfd.readouterr().err) == progress


def weights(net: Any) -> list[float]:
    return next(iter(net.module_.parameters())).flatten().tolist()


def test_random_state_decides_and_nets_can_be_cloned(data: Any) -> None:
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(0)
        noisy = callback(PolicySpec.from_text("gaussian_noise p=0.5 m=1"), random_state=seed)
        found.append(weights(clone(make_net(noisy)).fit(*data)))
    assert found[0] == found[1] != found[2]
    net = make_net(callback()).set_params(callbacks__AugmentationCallback__copies=1)
    assert net.fit(*data).callbacks[0].copies == 1


def test_cross_validation(data: Any) -> None:
    X, y = data  # noqa: N806
    groups = np.arange(20) // 5
    scores = cross_val_score(
        make_net(callback(), train_split=None), X, y, groups=groups, cv=GroupKFold(2)
    )
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("as_dataset", [False, True])
def test_search(data: Any, as_dataset: bool) -> None:
    X, y = data  # noqa: N806
    searching = callback(
        None, method="random", search_budget=2, subjects=np.arange(20) // 2,
        class_names=["left", "right"],
    )  # fmt: skip
    net = make_net(searching, train_split=None)
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    net.fit(*((dataset, None) if as_dataset else (X, y)))
    assert searching.policy_.provenance.method == "random"
    assert searching.policy_.operations_used
    assert [len(x) for x in seen(net, training=True)] == [20]


def test_a_search_needs_logits(data: Any) -> None:
    net = make_net(callback(None), criterion=nn.NLLLoss)
    with pytest.raises(ValueError, match=r"`criterion` of the net must be nn\.CrossEntropyLoss"):
        net.fit(*data)


class Wrapped(dict[str, Tensor]):
    """A batch that is neither a list nor a tuple."""


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("copies", [0, 1])
def test_batches_of_any_loader(data: Any, kind: type, copies: int) -> None:
    X, y = data  # noqa: N806
    x, labels = torch.from_numpy(X.copy()), torch.from_numpy(y)
    whole = torch.utils.data.TensorDataset(x, labels)
    net = make_net(
        callback(copies=copies), train_split=None, iterator_train__shuffle=False,
        iterator_train__collate_fn=lambda items: kind([x[:], labels[:]]),  # views of the data
    )  # fmt: skip
    net.fit(whole, None)
    expected = -x if copies == 0 else torch.cat([x, -x])
    assert torch.equal(seen(net, training=True)[0], expected)
    assert torch.equal(x, torch.from_numpy(X))


def test_batches_that_cannot_be_changed(data: Any) -> None:
    net = make_net(callback(), iterator_train__collate_fn=lambda items: Wrapped())
    with pytest.raises(TypeError, match=r"must be tensors \(x, y\), got Wrapped"):
        net.fit(*data)


def test_a_search_without_subjects_is_told(data: Any) -> None:
    searching = callback(None, method="random", search_budget=1)
    with pytest.warns(cadda.DataWarning, match="`subjects` is missing, so that each window"):
        make_net(searching, train_split=None).fit(*data)


def test_noise_on_windows_in_volts_is_warned_of(data: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = data
    callback = AugmentationCallback(PolicySpec.from_text("gaussian_noise p=1 m=0.5"))
    with pytest.warns(UserWarning, match="adds noise of a standard deviation of up to 0.2"):
        make_net(callback).fit((5e-5 * x).astype(np.float32), y)


def test_label_maps_need_class_names(data: tuple[np.ndarray, np.ndarray]) -> None:
    callback = AugmentationCallback("sign_flip p=0.5 -> {0: 1, 1: 0}")
    with pytest.raises(ValueError, match="`class_names` must be given for a policy with a label"):
        make_net(callback).fit(*data)
