"""
From your recordings to a verdict
=================================

From files on disk to the answer: which augmentation to use, what it gains on unseen subjects, or
to use none. Put the folder of your recordings in place of the simulated one.
"""

# %%
# Recordings
# ----------
#
# One file per subject, with annotations. These are made here, in the FIF format of MNE: eyes open
# or closed for two seconds at a time, and an alpha rhythm with closed eyes, whose frequency is
# that of the subject. Yours may have any format that MNE reads.

import tempfile
from pathlib import Path

import mne
import numpy as np

import cadda

SFREQ, SECONDS, N_TRIALS = 100.0, 2.0, 16
CHANNELS = {"Fz": 0.2, "C3": 0.3, "C4": 0.3, "Pz": 0.6, "O1": 0.9, "O2": 0.9}  # strength of alpha


def record(seed: int) -> mne.io.RawArray:
    """Simulate the recording of a subject."""
    rng = np.random.default_rng(seed)
    closed = rng.permutation(np.arange(N_TRIALS) % 2)
    n_times = int(SECONDS * SFREQ)
    time = np.arange(N_TRIALS * n_times) / SFREQ
    alpha = np.sin(2 * np.pi * rng.uniform(8, 12) * time + rng.uniform(0, 6))
    strength = np.array(list(CHANNELS.values()))[:, None] * np.repeat(closed, n_times)
    noise = np.cumsum(rng.standard_normal((len(CHANNELS), len(time))), axis=1)
    noise -= np.stack([np.convolve(row, np.ones(25) / 25, mode="same") for row in noise])
    info = mne.create_info(list(CHANNELS), SFREQ, "eeg")
    raw = mne.io.RawArray(1e-5 * (0.65 * strength * alpha + noise), info, verbose="error")
    names = np.where(closed, "eyes closed", "eyes open")
    return raw.set_annotations(mne.Annotations(SECONDS * np.arange(N_TRIALS), SECONDS, names))


temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
for subject in range(1, 19):
    record(subject).save(folder / f"sub-{subject:02}_raw.fif", verbose="error")
print(len(list(folder.iterdir())), "recordings")

# %%
# Windows
# -------
#
# Annotations name the classes, and file names the subjects. A high-pass removes slow activity,
# such as that of the eyes, which may tell classes without the brain. The split is by subject:
# no subject is in two groups.

windows = cadda.read_windows(folder, subject="(sub-[0-9]+)", highpass=4.0, cache=False)
train, valid, test = windows.split(valid=0.2, test=0.4, seed=0)
print(windows)
print(len(train.subjects), len(valid.subjects), len(test.subjects), "subjects")
figure = windows.plot(channels=["Fz", "O1"])

# %%
# Search
# ------
#
# A probe finds out what each operation does to each class, and a race of policies measures what
# they gain. The budget is small, so that this page is built in a minute: for your own data, leave
# out the arguments from ``budget`` to ``engine``.

result = cadda.search(
    train,
    valid,
    model="shallow",
    budget=16,
    n_decisive=4,
    search_epochs=0,
    training=cadda.TrainingSettings(max_epochs=25, lr=3e-3),
    engine="serial",
    seed=0,
)

# %%
# The verdict, and the race: gains over no augmentation, and their intervals over subjects.

print(result.verdict)
figure = result.plot()

# %%
# On unseen subjects
# ------------------
#
# The test subjects had no part in the search. They are looked at once, without augmentation and
# with the policy.

for name, model in (("without", result.baseline), ("with the policy", result.fitted)):
    print(f"{name}: balanced accuracy {cadda.evaluate(model, test).balanced_accuracy:.3f}")

# %%
# Use it
# ------
#
# Save the policy, or copy it into a training script as text. It works in any loop of PyTorch,
# and in braindecode.

result.policy.save(folder / "policy.json")
print(result.policy.to_text())

temporary.cleanup()
