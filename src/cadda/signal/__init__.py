"""Pure functions of tensors: no randomness, no parameters, no channel names."""
