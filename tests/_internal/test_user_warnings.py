"""The same warning at the same line is shown once, as by Python itself, unless filters differ."""

from __future__ import annotations

import warnings
from typing import Literal

import pytest

from cadda._internal.user_warnings import warn_user
from cadda.exceptions import DataWarning


def count_warnings(
    action: Literal["default", "always", "ignore"], texts: list[str], category: type[Warning]
) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warnings.simplefilter(action, category)
        for text in texts:
            warn_user(text, category)
            # A change of filters: Python forgets what it has shown.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
    return len(caught)


def test_once_by_default() -> None:
    assert count_warnings("default", ["a", "b", "a"], DataWarning) == 2
    assert count_warnings("default", ["a", "b", "c"], DataWarning) == 1


def test_filters_of_users() -> None:
    assert count_warnings("ignore", ["d", "d"], UserWarning) == 0
    assert count_warnings("default", ["d", "d"], UserWarning) == 1
    assert count_warnings("always", ["d", "d"], UserWarning) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="d"):
                warn_user("d")


def test_each_line_has_its_own() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        warn_user("e")
        warn_user("e")
    assert len(caught) == 2
    assert {record.filename for record in caught} == {__file__}
    assert caught[0].lineno + 1 == caught[1].lineno
