"""
A class-wise policy at work
===========================

One window of each sleep stage, before and after a policy that treats every stage in its own way.
"""

# %%
# The policy
# ----------
#
# One line is one subpolicy, ``p`` a probability, ``m`` a magnitude; see ``docs/policies.md``. The
# classes come in the order of the labels. Here all probabilities are 1, so that there is something
# to see in every window.

import torch

import cadda
from cadda.reporting.figures.signals import plot_sleep

spec = cadda.PolicySpec.from_text("""
    [W]
    gaussian_noise p=1 m=1
    [N1]
    sign_flip p=1
    [N2]
    frequency_shift p=1 m=0.4
    [N3]
    time_mask p=1 m=1
    [R]
    time_reverse p=1
""")

# %%
# The heat map of a policy has a row for each class. In this one each column has a single dark
# cell: whoever knows the operation knows the class. That is fine for a demonstration and bad for a
# training, see ``docs/class-wise.md``.

figure = spec.plot()

# %%
# One window of each class
# ------------------------
#
# ``policy(x, y)`` sends each window through the operations of its label.

windows = cadda.simulate_sleep(n_subjects=1, n_windows=60, seed=0)
first = [int(torch.nonzero(windows.y == label)[0]) for label in range(windows.n_classes)]
chosen = windows[first]
x, y = chosen.x[:, :, :1000], chosen.y  # ten seconds of each

policy = cadda.Policy(spec, cadda.operation_pool(windows))
augmented, _ = policy(x, y, generator=torch.Generator().manual_seed(1))

before, after = (
    cadda.Windows(
        signals,
        y,
        subject=chosen.subject,
        sfreq=chosen.sfreq,
        ch_names=chosen.ch_names,
        class_names=chosen.class_names,
    )
    for signals in (x, augmented)
)

# %%
# From top to bottom: noise has raised the high frequencies, the sign is turned, the spectrum has
# moved, a second is missing, and time runs backwards.

figure = plot_sleep(before, after, names=("before", "after"))
