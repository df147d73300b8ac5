"""The settings of a study: from its scale, a TOML file and single values, checked together."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from cadda._internal.text import short_reason
from cadda._internal.validation import NONE_WORD
from cadda.exceptions import CaddaError
from cadda.experiments.study import Study, StudyConfig

__all__ = ["SCALES", "make_config", "read_toml", "to_toml"]

SCALES = ("quick", "cpu", "paper")

Config = TypeVar("Config", bound=StudyConfig)


def make_config(
    study: Study[Config, Any, Any], scale: str, settings: Mapping[str, object]
) -> Config:
    """Combine the settings of a scale with the user's; raise `ValueError` if any is wrong."""
    if scale not in SCALES:
        raise ValueError(f"`scale` must be one of {', '.join(SCALES)}, got {scale!r}.")
    return study.config_type(**{**study.scales[scale], **settings})


def read_toml(path: Path) -> dict[str, object]:
    """Read settings by name from a TOML file, such as ``config.toml`` in a study's folder."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CaddaError(f"{path} cannot be read: {short_reason(error)}.") from error
    except ValueError as error:
        raise CaddaError(f"{path} cannot be read as TOML: {short_reason(error)}.") from error


def to_toml(config: StudyConfig) -> str:
    """Format settings for `read_toml`, with "none" for None."""
    plain = config.model_dump(mode="json")
    return tomli_w.dumps(
        {name: NONE_WORD if value is None else value for name, value in plain.items()}
    )
