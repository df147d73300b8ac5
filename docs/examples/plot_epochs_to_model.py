"""
From MNE epochs to a trained model
==================================

Epochs with a column of subjects are all that is needed.
"""

# %%
# Epochs
# ------
#
# Yours come from a file or from your own preprocessing. These are made here: two classes of two
# seconds at three electrodes, where the left or the right hand dims the rhythm of the other side.

import mne
import numpy as np
import pandas as pd

import cadda
from cadda.reporting.figures import plot_operation

SFREQ = 100.0
rng = np.random.default_rng(0)
n_subjects, n_trials, n_times = 8, 30, 200
labels = np.tile([0, 1], n_subjects * n_trials // 2)
people = np.repeat(np.arange(n_subjects), n_trials)

time = np.arange(n_times) / SFREQ
rhythm = np.sin(2 * np.pi * (10 * time + rng.random((len(labels), 3, 1))))
strength = np.where(labels[:, None] == 0, [0.4, 0.3, 0.2], [0.2, 0.3, 0.4])[..., None]
volts = 1e-5 * (strength * rhythm + rng.standard_normal((len(labels), 3, n_times)))

epochs = mne.EpochsArray(
    volts,
    mne.create_info(["C3", "Cz", "C4"], SFREQ, "eeg"),
    events=np.column_stack([np.arange(len(labels)), np.zeros(len(labels), int), labels]),
    event_id={"left": 0, "right": 1},
    metadata=pd.DataFrame({"subject": [f"sub-{person:02}" for person in people]}),
    verbose="error",
)
print(len(epochs), "epochs of", len(epochs.ch_names), "channels")

# %%
# Windows
# -------
#
# Events name the classes, the column names the people. Each window is standardised unless you say
# otherwise. Here electrodes keep their power relative to each other only if a recording is scaled
# as a whole.

windows = cadda.read_windows(epochs, subject="subject", standardise="recording")
train, valid, test = windows.split(valid=0.25, test=0.25, seed=0)
print(windows)
print(len(train.subjects), len(valid.subjects), len(test.subjects), "people")

# %%
# An operation to leave out
# -------------------------
#
# ``channel_symmetry`` swaps the sides of the head. Here that would make a left hand out of a right
# one, so it has no place in a policy.

pool = cadda.operation_pool(windows)
figure = plot_operation(
    pool["channel_symmetry"], train.x[0], sfreq=windows.sfreq, ch_names=windows.ch_names
)

# %%
# Train
# -----
#
# A policy that keeps sides apart, for all classes.

spec = cadda.PolicySpec.from_text("""
    sign_flip p=0.5 > time_mask p=0.5 m=0.3
    gaussian_noise p=0.5 m=0.5
""")
figure = spec.plot()

# %%
# The best epoch on the validation people is kept, and the test people are looked at once.

fitted = cadda.fit(train, valid, model="shallow", policy=spec, max_epochs=15, seed=0)
scores = cadda.evaluate(fitted, test)
print(f"balanced accuracy on people never seen: {scores.balanced_accuracy:.2f}")
print(scores.confusion)
