"""Policies whose parameters have gradients."""
