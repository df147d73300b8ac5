"""
A policy in a plain PyTorch loop
================================

One line in a training step, and nothing else of cadda.
"""

# %%
# Data and policy
# ---------------

import torch
from matplotlib.figure import Figure
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import cadda

windows = cadda.simulate_sleep(n_subjects=4, n_windows=40, seed=0)
train, valid, _ = windows.split(valid=0.25, test=0.25, seed=0)

spec = cadda.PolicySpec.from_text("""
    sign_flip p=0.5 > time_mask p=0.5 m=0.5
    ft_surrogate p=0.5 m=0.8
""")
policy = cadda.Policy(spec, cadda.operation_pool(windows))

# %%
# The loop
# --------
#
# A policy is a module without parameters, which follows the device of the windows. With a
# generator of its own the run can be repeated, and no other random number depends on it.


def train_model(*, augment: bool) -> list[float]:
    """Train a small network and give its validation loss after each epoch."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv1d(2, 16, kernel_size=64, stride=8),
        nn.ReLU(),
        nn.AdaptiveAvgPool1d(8),
        nn.Flatten(),
        nn.Linear(128, windows.n_classes),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(20):
        for x, y in DataLoader(TensorDataset(train.x, train.y), batch_size=16, shuffle=True):
            if augment:
                x, y = policy(x, y, generator=generator)
            loss = nn.functional.cross_entropy(model(x), y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            losses.append(float(nn.functional.cross_entropy(model(valid.x), valid.y)))
    return losses


curves = {"without": train_model(augment=False), "with the policy": train_model(augment=True)}

# %%
# Two curves of one split say nothing about which is better; ``docs/studies/compare.md`` does that.

figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.add_subplot()
for name, losses in curves.items():
    axes.plot(range(1, 21), losses, label=name)
axes.set(xlabel="epoch", ylabel="validation loss")
axes.legend(frameon=False)
print({name: round(min(losses), 2) for name, losses in curves.items()})

# %%
# With braindecode
# ----------------
#
# The same policy is also a ``transforms=`` of braindecode's loader: ``docs/from-braindecode.md``.
