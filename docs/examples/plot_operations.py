"""
Operations before and after
===========================

What an operation does to a signal and to its spectrum, on simulated sleep.
"""

# %%
# One window of sleep
# -------------------
#
# ``cadda.simulate_sleep`` gives standardised windows of five stages. Of the first subject's
# windows in stage N2 we take one, and the first ten seconds of it.

import cadda
from cadda.reporting.figures import plot_operation, plot_operations

windows = cadda.simulate_sleep(n_subjects=1, n_windows=40, seed=0)
print(windows)

n2 = windows[windows.y == windows.class_names.index("N2")]
window = n2.x[0, :, :1000]

# %%
# Two channels have no left and right and too few positions for rotations. The pool holds what is
# left, and says why.

pool = cadda.operation_pool(windows)
for name, reason in pool.left_out.items():
    print(f"{name}: {reason}")

# %%
# One operation
# -------------
#
# A shift of all frequencies moves the spectrum. A magnitude of 0.4 means up to 2 Hz; every window
# draws a shift of its own, and of a dozen draws the most visible one is shown.

figure = plot_operation(
    pool["frequency_shift"], window, sfreq=windows.sfreq, ch_names=windows.ch_names, magnitude=0.4
)

# %%
# New Fourier phases leave the spectrum as it was and change everything else.

figure = plot_operation(
    pool["ft_surrogate"], window, sfreq=windows.sfreq, ch_names=windows.ch_names
)

# %%
# All that have a magnitude
# -------------------------
#
# At half of it. ``docs/operations.md`` has a section for each, with formula and references.

graded = pool.select([operation.name for operation in pool if operation.has_magnitude])
figure = plot_operations(graded, window, magnitudes=dict.fromkeys(graded.names, 0.5))
