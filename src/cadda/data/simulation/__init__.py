"""Simulated recordings of sleep and motor imagery."""
