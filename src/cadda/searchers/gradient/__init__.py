"""Search methods that follow gradients."""
