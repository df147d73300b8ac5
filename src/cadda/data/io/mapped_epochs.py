"""Epochs by a mapping file: the class is a column of the metadata."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cadda.data.io.epochs import open_epochs
from cadda.data.io.mapping import mapped_files, read_mapping
from cadda.data.io.options import ReadOptions

__all__ = ["open_mapped_epochs"]


def open_mapped_epochs(
    path: Path, options: ReadOptions
) -> tuple[list[tuple[str, Any]], ReadOptions] | None:
    """Open epochs by a mapping file; return the options with its keys as well.

    None if the mapping file is of recordings.
    """
    mapping, preprocessing = read_mapping(path)
    if mapping.label is None:
        return None
    if options.preprocessing is not None:
        raise ValueError(f"`preprocessing` must be None, as {path} defines it.")
    options = options.for_epochs()
    epochs = [(file.name, open_epochs(file)) for file in mapped_files(path, mapping)]
    return epochs, replace(
        options,
        subject=mapping.subject if options.subject is None else options.subject,
        label=options.label or mapping.label,
        channels=options.channels or mapping.channels,
        preprocessing=preprocessing,
        class_map=options.class_map or mapping.classes,
    )
