"""
A race of policies
==================

``method="auto"`` compares policies by full training runs, and says what the best one gains.
"""

# %%
# Windows with a known truth
# --------------------------
#
# In the planted windows, ``sign_flip`` and ``time_reverse`` each help one class and destroy
# another; noise and masks neither help nor harm much. No policy for all classes wins by much.

import cadda
from cadda.testing.planted import planted_network, planted_windows

train = planted_windows(96, varied=False, seed=0)
valid = planted_windows(96, varied=True, seed=1)

# %%
# The race
# --------
#
# A probe comes first: what does each operation do to each class? Then policies made of what it
# lets pass are trained in blocks. In each block, all of them have the same training and validation
# subjects, initial weights and batches; in the next block the subjects change places.

found = cadda.search(
    train,
    valid,
    model=planted_network,
    operations=["sign_flip", "time_reverse", "gaussian_noise", "time_mask"],
    probe=cadda.probe(valid, model=planted_network, n_folds=2, n_epochs=8),
    budget=60,
    search_epochs=0,
    training=cadda.TrainingSettings(max_epochs=10, lr=3e-3),
    engine="serial",
    retrain=False,
    baseline=False,
)
print(found.verdict)

# %%
# Left: the gain of each candidate over no augmentation, block by block. Right: the gain in
# balanced accuracy of the best, with intervals over subjects; where there is a winner, its gain is
# measured again in blocks that had no part in the choice.

figure = found.plot()

# %%
# The policy is that of the winner, or no augmentation if the gain is not distinguishable from 0.

print(found.policy.to_text())
