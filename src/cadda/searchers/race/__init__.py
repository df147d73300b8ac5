"""Races: candidate policies compared by full training runs in paired blocks."""
