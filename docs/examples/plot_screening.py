"""
Screening on simulated sleep
============================

What one training can say about operations, and what it cannot.
"""

# %%
# Six subjects for training, four for validation
# ----------------------------------------------
#
# Splits are by subject, always.

import cadda
from cadda.reporting.figures.screening import plot_screening

windows = cadda.simulate_sleep(n_subjects=12, n_windows=25, seed=0)
train, valid, _ = windows.split(valid=0.33, test=0.17, seed=0)
print(train)
print(valid)

# %%
# A model is trained until it begins to overfit, then operations are tried on its training windows.
# These settings are small, to be quick; leave them out for your own recordings.

found = cadda.screen(
    train,
    valid,
    model="shallow",
    operations=["sign_flip", "frequency_shift", "gaussian_noise"],
    n_rounds=12,
    windows_per_round=30,
    draws=3,
    max_warmup=20,
    lr=3e-3,
    seed=0,
)

# %%
# The table
# ---------
#
# The colour is the mean reward in standard errors. Below the line are two controls that destroy
# the signal; whatever is no better than they are cannot be said to help.

figure = plot_screening(found.table)

# %%
# How many verdicts are there, and of which kind? With few people nearly all stay undecided, which
# is not to say that there is no effect: :doc:`/screening` has the measurements.

verdicts = [row.verdict for row in found.table if row.magnitude is None]
for verdict in ("helps", "hurts", "undecided"):
    print(verdict, verdicts.count(verdict))
