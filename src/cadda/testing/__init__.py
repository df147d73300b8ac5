"""Contracts that cadda's own operations and search methods pass, for those of users as well."""

import lazy_loader

# Imported on first use: the contract of operations needs pytest, the rest does not.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
