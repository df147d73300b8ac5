"""Parts of figures, from arrays and names only: panels, heat maps, signals, curves."""
