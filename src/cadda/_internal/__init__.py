"""Helpers that every package may use and no user needs."""
