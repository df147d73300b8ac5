"""AugmentedClassifier among scikit-learn's tools."""

from __future__ import annotations

import warnings
from typing import Any

import mne
import numpy as np
import pytest
from mirrored import CLASSES, SWAP, mirrored_windows
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from cadda import PolicySpec
from cadda._internal import delayed
from cadda.estimators import AugmentedClassifier
from cadda.exceptions import DataError, DataWarning, PolicyFileError
from cadda.policies.zoo import ZOO
from cadda.testing.planted import planted_network

NO_GROUPS = "ignore:`groups` is missing.*early stopping:cadda.exceptions.DataWarning"
pytestmark = pytest.mark.filterwarnings(NO_GROUPS)


class Linear:
    """Makes linear models; shows itself in the same way in every test process."""

    def __call__(self, n_channels: int, n_times: int, n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(n_channels * n_times, n_classes))

    def __repr__(self) -> str:
        return "linear"


@parametrize_with_checks(
    [
        AugmentedClassifier(
            Linear(), method=None, max_epochs=30, random_state=0, standardise=False, lr=0.02
        )
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_protocol(estimator, check) -> None:
    check(estimator)


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.array(["left", "right"])[np.arange(48) % 2]
    time = np.arange(200) / 100
    frequency = np.where(y == "left", 6, 14)[:, None, None]
    x = np.sin(2 * np.pi * (frequency * time + rng.uniform(size=(48, 2, 1))))
    return 1e-5 * (x + 0.3 * rng.normal(size=x.shape)), y, np.arange(48) // 8


@pytest.fixture
def classifier() -> AugmentedClassifier:
    return AugmentedClassifier(
        "shallow",
        policy=PolicySpec.from_text("sign_flip p=0.5 > time_mask p=0.5 m=0.3"),
        sfreq=100,
        max_epochs=15,
        lr=5e-3,
        random_state=0,
    )


def test_cross_validation_by_subject(classifier, data) -> None:
    x, y, subject = data
    cv = GroupKFold(3)
    assert cross_val_score(classifier, x, y, groups=subject, cv=cv).mean() > 0.9
    routed = {"groups": subject, "params": {"groups": subject}}
    assert cross_val_score(classifier, x, y, cv=cv, **routed).mean() > 0.9


def test_groups_reach_the_split(classifier, data) -> None:
    x, y, subject = data
    assert classifier.fit(x, y, groups=subject).predict(x).dtype == y.dtype
    with pytest.raises(ValueError, match="at least 2 subjects to split them, got 1"):
        classifier.fit(x, y, groups=np.zeros(48))


def test_clone_and_parameters(classifier, data) -> None:
    x, y, _ = data
    twin = clone(classifier)
    assert twin.get_params()["lr"] == 5e-3
    a, b = (model.fit(x, y).predict_proba(x) for model in (classifier, twin))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(a.sum(1), 1)


def test_no_augmentation(classifier, data) -> None:
    x, y, _ = data
    plain = clone(classifier).set_params(method=None, max_epochs=3)
    a, b = (
        clone(plain).set_params(policy=policy).fit(x, y).predict_proba(x)
        for policy in (None, PolicySpec.none())
    )
    np.testing.assert_array_equal(a, b)


def test_grid_search_and_pipeline(classifier, data) -> None:
    x, y, subject = data
    pipeline = make_pipeline(FunctionTransformer(lambda z: z[:, :, ::2]), classifier)
    name = "augmentedclassifier"
    search = GridSearchCV(pipeline, {f"{name}__max_epochs": [1, 3]}, cv=GroupKFold(2))
    search.fit(x, y, groups=subject)
    assert search.best_params_[f"{name}__max_epochs"] in (1, 3)


def test_groups_in_a_pipeline(classifier, data) -> None:
    x, y, subject = data
    pipeline = make_pipeline(FunctionTransformer(lambda z: z[:, :, ::2]), classifier)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipeline.fit(x, y, augmentedclassifier__groups=subject)
    with pytest.raises(ValueError, match="at least 2 subjects to split them, got 1"):
        pipeline.fit(x, y, augmentedclassifier__groups=np.zeros(48))


def test_a_policy_without_groups_warns_of_early_stopping(classifier, data) -> None:
    x, y, subject = data
    classifier.set_params(max_epochs=1)
    with pytest.warns(DataWarning, match="`groups` is missing.*early stopping") as issued:
        classifier.fit(x, y)
    own = [each for each in issued if each.category is DataWarning]
    assert [each.filename for each in own] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        classifier.fit(x, y, groups=subject)


def test_a_policy_in_short_form(classifier, data, tmp_path, monkeypatch) -> None:
    x, y, subject = data
    text = "sign_flip p=0.5"
    classifier.set_params(policy=text, max_epochs=1).fit(x, y, groups=subject)
    assert classifier.policy_ == PolicySpec.from_text(text)
    # A file of that name comes first.
    monkeypatch.chdir(tmp_path)
    PolicySpec.from_text("time_reverse p=1").save(tmp_path / text)
    classifier.fit(x, y, groups=subject)
    assert classifier.policy_.entries == PolicySpec.from_text("time_reverse p=1").entries
    classifier.set_params(policy="my_own p=0.5")
    with pytest.raises(PolicyFileError, match="known operation, got `my_own`"):
        classifier.fit(x, y, groups=subject)


def planted_epochs(n: int, seed: int, ch_names=("C3", "C4"), sfreq=100) -> tuple[Any, Any]:
    """Make epochs with 10 Hz at C3 in one class and at C4 in the other, and their labels."""
    rng, y, time = np.random.default_rng(seed), np.arange(n) % 2, np.arange(2 * sfreq) / sfreq
    wave = 3 * np.sin(2 * np.pi * 10 * time)
    signals = {name: rng.standard_normal((n, 2 * sfreq)) for name in ch_names}
    for label, name in enumerate(("C3", "C4")):
        if name in signals:
            signals[name][y == label] += wave
    types = ["eog" if name.startswith("EOG") else "eeg" for name in ch_names]
    info = mne.create_info(list(ch_names), sfreq, types, verbose="error")
    x = 1e-5 * np.stack([signals[name] for name in ch_names], axis=1)
    return mne.EpochsArray(x, info, verbose="error"), y


def test_channels_of_epochs_are_matched_by_name() -> None:
    def fitted(*parts: tuple[Any, Any]) -> AugmentedClassifier:
        epochs, y = [part[0] for part in parts], np.concatenate([part[1] for part in parts])
        clf = AugmentedClassifier("shallow", method=None, max_epochs=20, lr=0.003, random_state=0)
        return clf.fit(epochs if len(epochs) > 1 else epochs[0], y, groups=np.arange(len(y)) // 20)

    other = planted_epochs(60, 1, ("EOG1", "C4", "Cz", "C3"))
    other[0].info["bads"] = ["Cz"]
    plain = fitted(planted_epochs(120, 0))
    mixed = fitted(planted_epochs(120, 0), planted_epochs(60, 2, ("C4", "C3")))
    picky = fitted(other, planted_epochs(60, 3))
    for clf in (plain, mixed, picky):
        assert clf.n_features_in_ == 2
        assert set(clf.epochs_format_.ch_names) == {"C3", "C4"}
        assert clf.score(*planted_epochs(60, 4)) > 0.9
        assert clf.score(*planted_epochs(60, 5, ("Pz", "C4", "C3"))) > 0.9
    with pytest.raises(DataError, match="sampling rate of 100 Hz, got 200 Hz"):
        plain.predict(planted_epochs(10, 6, sfreq=200)[0])
    with pytest.raises(DataError, match="one of them has no 'C3'"):
        plain.predict(planted_epochs(10, 6, ("O1", "O2"))[0])
    with pytest.raises(DataError, match="sampling rate of 100 Hz, got 200 Hz"):
        fitted(planted_epochs(60, 0), planted_epochs(60, 0, sfreq=200))
    with pytest.raises(ValueError, match="windows of 200 samples, as in `fit`, got 151"):
        plain.predict(planted_epochs(10, 6)[0].crop(0, 1.5))
    with pytest.raises(DataError, match="none of the channels"):
        fitted(planted_epochs(60, 0, ("EOG1", "EOG2")))


def test_projectors_of_epochs_are_applied() -> None:
    epochs, y = planted_epochs(60, 0, ("C3", "C4", "Cz"))
    applied = epochs.copy().set_eeg_reference("average", projection=False, verbose="error")
    epochs.set_eeg_reference("average", projection=True, verbose="error")
    clf = AugmentedClassifier(Linear(), method=None, max_epochs=3, random_state=0)
    made = [clone(clf).fit(each, y).predict_proba(each) for each in (epochs, applied)]
    np.testing.assert_allclose(made[0], made[1], atol=1e-5)
    assert not epochs.proj


def test_mne_epochs(classifier, data) -> None:
    x, y, subject = data
    info = mne.create_info(["C3", "C4"], 100.0, "eeg")
    epochs = mne.EpochsArray(x, info, verbose="error")
    classifier.policy = PolicySpec.from_text("channel_symmetry p=0.5")
    assert (classifier.fit(epochs, y).predict(epochs) == y).mean() > 0.9
    # The same scores as of the array, of which scikit-learn makes parts in another way.
    classifier.policy = PolicySpec.from_text("sign_flip p=0.5")
    scores = [
        cross_val_score(classifier, x_like, y, groups=subject, cv=GroupKFold(2)).tolist()
        for x_like in (epochs, x)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("operation", ["time_mask", "bandstop", "frequency_shift"])
def test_the_sampling_rate_is_never_guessed(classifier, data, operation: str) -> None:
    x, y, _ = data
    policy = PolicySpec.from_text(f"{operation} p=0.5 m=0.3")
    classifier.set_params(policy=policy, max_epochs=1, sfreq=None)
    way_out = "needs the sampling rate, which is not known; pass it in Hz as `sfreq`"
    with pytest.raises(ValueError, match=f"`{operation}` is not applicable: it {way_out}"):
        classifier.fit(x, y)
    classifier.set_params(sfreq=100).fit(x, y)
    info = mne.create_info(["C3", "C4"], 100.0, "eeg")
    classifier.set_params(sfreq=None).fit(mne.EpochsArray(x, info, verbose="error"), y)
    # All else works without.
    classifier.set_params(policy=PolicySpec.from_text("sign_flip p=0.5")).fit(x, y)


def test_a_search_without_a_sampling_rate_finds_none_of_these(data) -> None:
    x, y, subject = data
    clf = AugmentedClassifier(
        "shallow",
        method="adda",
        search_budget=1,
        max_epochs=1,
        random_state=0,
        ch_names=["C3", "C4"],
    ).fit(x, y, groups=subject)
    assert set(clf.policy_.operations).isdisjoint({"time_mask", "bandstop", "frequency_shift"})
    assert {"sign_flip", "channel_symmetry"} <= set(clf.policy_.operations)
    assert clf.policy_.sfreq is None


@pytest.mark.parametrize("progress", [True, False])
def test_progress(
    classifier, data, progress: bool, monkeypatch: pytest.MonkeyPatch, capfd
) -> None:
    monkeypatch.setattr(delayed, "DELAY", 0.0)
    x, y, subject = data
    classifier.set_params(max_epochs=1, method="random", search_budget=1, policy=None)
    if progress:
        classifier.set_params(progress=True)
    classifier.fit(x, y, groups=subject)
    shown = capfd.readouterr().err
    assert ("trial 1 of 1" in shown) == progress
    assert ("epoch 1: loss" in shown) == progress


def test_channels_without_names(classifier, data) -> None:
    x, y, _ = data
    classifier.policy = PolicySpec.from_text("channel_symmetry p=0.5")
    with pytest.raises(ValueError, match="such as '0'; pass names such as C3 as `ch_names`"):
        classifier.fit(x, y)


def test_validation_windows_of_every_class_without_groups() -> None:
    """Of 4 rare windows among 80, one validates."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 1, 40)), np.arange(80) // 76
    seen: list[list[int]] = []

    class Spy(AugmentedClassifier):
        def _search(self, train, valid, seed):
            seen.append([int((part.y == 1).sum()) for part in (train, valid)])
            return

    for seed in range(5):
        Spy(Linear(), max_epochs=1, random_state=seed).fit(x, y)
    assert seen == [[3, 1]] * 5


def test_not_fitted(classifier, data) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        classifier.predict(data[0])


def test_searches_for_a_policy_first() -> None:
    rng = np.random.default_rng(0)
    x, y, subject = rng.normal(size=(40, 2, 300)), np.arange(40) % 2, np.arange(40) // 4
    clf = AugmentedClassifier(
        model="shallow",
        method="cadda",
        search_budget=2,
        ch_names=["C3", "C4"],
        max_epochs=1,
        random_state=0,
    ).fit(x, y, groups=subject)
    assert clf.policy_.is_classwise
    assert clf.policy_.provenance.method == "cadda"
    given = PolicySpec.from_text("sign_flip p=0.5")
    assert clf.set_params(policy=given).fit(x, y, groups=subject).policy_ is given
    named = clf.set_params(policy="zoo:sleep").fit(x, y, groups=subject).policy_
    assert named.policy == ZOO["sleep"].spec().policy


def test_races_policies_by_default() -> None:
    rng = np.random.default_rng(0)
    x, y, subject = rng.normal(size=(40, 2, 300)), np.arange(40) % 2, np.arange(40) // 4
    clf = AugmentedClassifier(Linear(), search_budget=24, max_epochs=1, random_state=0)
    clf.fit(x, y, groups=subject)
    assert clf.policy_.is_none  # there is nothing to learn
    assert clf.search_.verdict.startswith("Train without augmentation")
    assert clf.policy_.provenance.method == "auto"


@pytest.mark.parametrize("method", ["random", "population"])
def test_searches_by_trials_too(method: str) -> None:
    rng = np.random.default_rng(0)
    x, y, subject = rng.normal(size=(40, 2, 300)), np.arange(40) % 2, np.arange(40) // 4
    clf = AugmentedClassifier(
        model="shallow",
        method=method,
        search_budget=8,
        ch_names=["C3", "C4"],
        max_epochs=1,
        random_state=0,
    ).fit(x, y, groups=subject)
    found = clf.policy_.last if method == "population" else clf.policy_
    assert found.provenance.method == method
    assert len(clf.history_) == 1


def test_searches_with_a_probe() -> None:
    windows = mirrored_windows(80, n_subjects=8)
    clf = AugmentedClassifier(
        planted_network,
        method="randaugment",
        search_budget=1,
        probe=True,
        ch_names=["C3", "C4"],
        standardise=False,
        max_epochs=30,
        random_state=0,
    ).fit(windows.x.numpy(), np.array(CLASSES)[windows.y], groups=windows.subject)
    assert list(clf.policy_.label_maps) == [SWAP]


def test_a_search_without_groups_is_told(classifier, data) -> None:
    x, y, _ = data
    classifier.set_params(max_epochs=1, method="random", search_budget=1, policy=None)
    with pytest.warns(DataWarning, match="`groups` is missing, so that each window counts"):
        classifier.fit(x, y)
