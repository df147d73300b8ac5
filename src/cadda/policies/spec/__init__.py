"""Policies as plain data."""
