"""The studies of the paper: plan, run and draw them with `run_study` and its companions."""

import lazy_loader

# The stub lists the names; the registry alone must not wait for torch.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
