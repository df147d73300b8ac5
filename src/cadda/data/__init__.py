"""Recordings and what is known of their channels; the only package that imports MNE."""
