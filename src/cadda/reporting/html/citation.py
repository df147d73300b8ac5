"""How to cite the paper and the software, as BibTeX."""

from __future__ import annotations

from cadda._version import __version__

__all__ = ["bibtex"]


def bibtex() -> str:
    """Give the entries; they say the same as CITATION.cff.

    Returns
    -------
    str
        The paper and the software.
    """
    return f"""@inproceedings{{rommel2022cadda,
  title = {{{{CADDA}}: Class-wise Automatic Differentiable Data Augmentation for {{EEG}} Signals}},
  author = {{Rommel, Cédric and Moreau, Thomas and Paillard, Joseph and Gramfort, Alexandre}},
  booktitle = {{International Conference on Learning Representations}},
  year = {{2022}}
}}

@software{{cadda,
  title = {{cadda: class-wise automatic differentiable data augmentation for {{EEG}}}},
  author = {{{{The cadda developers}}}},
  version = {{{__version__}}}
}}
"""
