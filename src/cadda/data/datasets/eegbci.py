"""Download of imagined fists of the EEG Motor Movement/Imagery Dataset, on request."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from cadda._internal.files import make_folder, write_text_atomically
from cadda.data.datasets.download import download_each

__all__ = ["fetch_imagined_fists"]

_N_SUBJECTS = 109
_RUNS = (4, 8, 12)
"""Runs in which a subject imagines moving the left fist (T1) or the right fist (T2)."""
_ADDRESS = "https://physionet.org/content/eegmmidb/1.0.0/"

_MAPPING = """\
# Imagined fists: 8 channels, 4 s from the cue on.
# Slow activity, probably of the eyes, tells left from right; to keep it: highpass = false
subject = "S(\\\\d+)R"
seconds = 4.0
channels = ["FC3", "FC4", "C3", "Cz", "C4", "CP3", "CP4", "Pz"]
sfreq = 100.0
highpass = 4.0
lowpass = 40.0
files = {files}

[classes]
T1 = "left_fist"
T2 = "right_fist"
"""


def fetch_imagined_fists(
    subjects: Sequence[int],
    folder: str | os.PathLike[str],
    *,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> Path:
    """Download three runs of each subject, about 8 MB, with MNE's fetcher.

    Return a mapping file with which `cadda.read_windows` reads the recordings. Calling this again
    resumes after a failure.
    """
    from mne.datasets import eegbci

    wrong = [subject for subject in subjects if not 1 <= subject <= _N_SUBJECTS]
    if wrong or not len(subjects):
        raise ValueError(f"`subjects` must be numbers from 1 to 109, got {wrong or 'none'}.")
    root = make_folder(Path(folder))
    parts = {
        f"subject {subject}": partial(
            eegbci.load_data,
            [subject],
            list(_RUNS),
            path=str(root),
            update_path=False,
            verbose="error",
        )
        for subject in sorted(set(subjects))
    }
    found = download_each(parts, unit="subjects", address=_ADDRESS, on_progress=on_progress)
    names = [Path(file).relative_to(root).as_posix() for files in found for file in files]
    mapping = root / "imagined-fists.toml"
    # A list of texts is written in the same way in JSON and in TOML.
    write_text_atomically(mapping, _MAPPING.format(files=json.dumps(names, indent=1)))
    return mapping
