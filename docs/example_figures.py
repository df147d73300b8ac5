"""Figures of the examples, for sphinx-gallery."""

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

__all__ = ["scrape"]


def scrape(
    block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]
) -> str:
    """Save the figures that a block of an example has bound to a name.

    cadda's figures belong to no window, so that pyplot does not know them.

    Parameters
    ----------
    block : tuple
        Kind, code and line of the block.
    block_vars : dict
        What sphinx-gallery knows of the example; the names are in ``example_globals``.
    gallery_conf : dict
        Configuration of sphinx-gallery.

    Returns
    -------
    str
        The pictures in reStructuredText.
    """
    names: dict[str, Any] = block_vars["example_globals"]
    paths = []
    for name in [name for name, value in names.items() if isinstance(value, Figure)]:
        path = next(block_vars["image_path_iterator"])
        # Taken away, so that the next block shows its own figures only.
        names.pop(name).savefig(path, dpi=90)
        paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])
