"""Figures of what cadda does; each function returns a matplotlib Figure and opens no window."""

from __future__ import annotations

from cadda.reporting.figures.signals import plot_operation, plot_operations

__all__ = ["plot_operation", "plot_operations"]
