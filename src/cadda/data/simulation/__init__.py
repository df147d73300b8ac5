"""Simulated sleep recordings."""
