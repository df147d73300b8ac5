"""Search for data augmentation policies for EEG.

Operations transform windows of EEG, policies say which operation is applied to which class, how
often and how strongly, and search finds the policy that makes a model generalise.

A first look, on windows of two channels at 100 Hz::

    import torch
    import cadda

    pool = cadda.operation_pool(sfreq=100, ch_names=["C3", "C4"])
    print(pool.names)                      # what can be applied on this montage
    print(pool.left_out)                   # not applicable, and why

    x = torch.randn(16, 2, 3000)           # windows: (n_windows, n_channels, n_times)
    shift = pool["frequency_shift"]
    shifted = shift(x, magnitude=0.4)      # shifts of up to 2 Hz, another one for each window

    spec = cadda.PolicySpec.from_text("frequency_shift p=0.5 m=0.4 > channel_symmetry p=0.3")
    spec.save("policy.json")               # plain JSON, to share and to cite

    policy = cadda.Policy(spec, pool)      # a torch module: policy(x, y) -> (x, y)
    augmented, _ = policy(x)

On the command line, ``cadda --help`` shows the commands, and ``cadda operations`` the operations.
"""

import lazy_loader

# The stub lists the public names. Each is loaded on first use: torch takes seconds to import.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
