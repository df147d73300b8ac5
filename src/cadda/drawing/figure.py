"""Figures that a notebook shows by itself."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure as MatplotlibFigure

__all__ = ["Figure"]


class Figure(MatplotlibFigure):
    """A figure that a notebook shows, also where pyplot was not imported.

    It opens no window and is not kept by pyplot.
    """

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=self.dpi)
        return picture.getvalue()
