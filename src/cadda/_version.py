"""The version, in a place that needs no other module."""

__version__ = "0.1.0"
