"""Scores of training runs, saved one by one so that an interrupted race loses none of them."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from pydantic import TypeAdapter

from cadda._internal.jsonlines import JsonLines
from cadda._internal.text import short_reason
from cadda.exceptions import RunError
from cadda.searchers.race.blocks import Block, RunScore
from cadda.searchers.race.candidates import Candidate

__all__ = ["RunLog", "parse_score"]

_SCORE: TypeAdapter[RunScore] = TypeAdapter(RunScore)

parse_score = _SCORE.validate_python
"""Make a score of what `asdict` returns of one."""


class RunLog:
    """Scores of training runs by candidate and block, in a file or, without a path, nowhere."""

    def __init__(self, path: Path | None) -> None:
        self._lines = None if path is None else JsonLines(path, allow_nan=True)

    def find(self, candidate: Candidate, block: Block) -> RunScore | None:
        """Return the score that an earlier process has saved; None without one."""
        return self._saved.get((candidate.name, block.number))

    def append(self, candidate: Candidate, block: Block, score: RunScore) -> None:
        """Save a score."""
        if self._lines is not None:
            self._lines.append(
                {"candidate": candidate.name, "block": block.number, **asdict(score)}
            )

    @cached_property
    def _saved(self) -> dict[tuple[str, int], RunScore]:
        if self._lines is None:
            return {}
        scores = {}
        for number, line in enumerate(self._lines, start=1):
            try:
                name, block = line.pop("candidate"), line.pop("block")
                scores[str(name), int(str(block))] = parse_score(line)
            except (KeyError, ValueError) as error:
                raise RunError(
                    f"{self._lines.path}, line {number}, is not a training run of a race "
                    f"({short_reason(error)}); remove the line, or choose another folder."
                ) from error
        return scores
