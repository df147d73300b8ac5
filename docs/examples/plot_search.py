"""
A small search
==============

CADDA looks for augmentation where the right answer is known.
"""

# %%
# Windows with a known truth
# --------------------------
#
# ``cadda.testing.planted`` makes four classes of short signals. In training, decays only go up and
# sweeps only get faster; in validation they come both ways. So ``sign_flip`` helps the decays and
# ``time_reverse`` the sweeps. For the other two classes both are poison: a growth with a turned
# sign is a dip.

import cadda
from cadda.testing.planted import DESTROYS, HELPS, planted_network, planted_windows

train = planted_windows(200, varied=False, seed=0)
valid = planted_windows(200, varied=True, seed=1000)
print("helps:", HELPS)
print("destroys:", DESTROYS)

# %%
# Search
# ------
#
# Forty epochs, of which five are for warming up. On recordings the call is the same, see
# ``docs/searching.md``.

found = cadda.search(
    train,
    valid,
    method="cadda",
    model=planted_network,
    operations=["sign_flip", "time_reverse", "gaussian_noise", "time_mask"],
    budget=40,
    seed=0,
    retrain=False,
    baseline=False,
)

# %%
# What was found
# --------------
#
# Each number is the probability that an operation changes a window of that class. The truth is in
# the first two columns; what the others end with is a matter of chance, for they neither help nor
# harm much. One search may miss: ``docs/searching.md`` counts how often.

figure = found.policy.plot()

# %%
# How it came about: the same probability over the epochs, and p and µ of each operation.

figure = found.plot()

# %%
# A policy is plain data: save it with ``found.policy.save("policy.json")``, or read it in short.

for class_name, used in zip(
    found.policy.rows, found.policy.operation_probabilities(), strict=True
):
    most = found.policy.operation_names[used.argmax()]
    print(f"{class_name}: mostly {most}, {used.max():.0%} of the windows")
