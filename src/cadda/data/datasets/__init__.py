"""Data sets that are fetched or shipped with other packages."""
