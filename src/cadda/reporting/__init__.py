"""Figures and the HTML report, made from results only."""
