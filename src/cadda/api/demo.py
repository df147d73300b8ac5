"""What `cadda demo` computes: a search where few simulated subjects can be learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from cadda.api.run import SearchRun, run_search
from cadda.data.simulation.motor_imagery import simulate_motor_imagery
from cadda.data.simulation.nights import simulate_sleep
from cadda.data.windows import Windows
from cadda.reporting.records import Reading
from cadda.runs.events import RunEvent
from cadda.training import TrainingSettings

__all__ = ["DEMOS", "N_TEST", "Demo"]

N_VALID = 4
"""Those of them that validate the final models; in the race, all take turns."""

N_TEST = 20
"""Subjects to test on."""


@dataclass(frozen=True)
class Demo:
    """A search on simulated windows, with settings for three minutes on two cores."""

    simulate: Callable[..., Windows]
    n_usable: int  # subjects to learn from
    n_windows: int  # of each subject
    model: str
    training: TrainingSettings
    budget: int

    @property
    def data(self) -> str:
        """What is simulated, such as ``"simulated sleep"``."""
        return self.simulate.__name__.replace("simulate", "simulated").replace("_", " ")

    def windows(self, seed: int) -> Windows:
        """Simulate the windows of all subjects."""
        return self.simulate(**self._arguments(seed))

    def run(
        self,
        windows: Windows,
        folder: Path,
        *,
        seed: int,
        on_event: Callable[[RunEvent], None] | None = None,
    ) -> SearchRun:
        """Search, train with and without the policy, and test both on other subjects."""
        n_subjects = self.n_usable + N_TEST
        return run_search(
            windows,
            folder,
            valid=N_VALID / n_subjects,
            test=N_TEST / n_subjects,
            seed=seed,
            model=self.model,
            budget=self.budget,
            training=replace(self.training, seed=seed),
            # Searches by gradients would take longer than what they propose is worth here.
            search_epochs=0,
            data=self.data,
            reading=Reading(f"cadda.{self.simulate.__name__}", {**self._arguments(seed)}),
            on_event=on_event,
        )

    def _arguments(self, seed: int) -> dict[str, int]:
        return {"n_subjects": self.n_usable + N_TEST, "n_windows": self.n_windows, "seed": seed}


DEMOS = {
    "motor-imagery": Demo(
        simulate_motor_imagery,
        12,
        20,
        "shallow",
        TrainingSettings(batch_size=64, lr=2e-3, patience=60, max_epochs=100),
        60,
    ),
    "sleep": Demo(
        simulate_sleep,
        12,
        12,
        "chambon2018",
        TrainingSettings(batch_size=16, patience=20, max_epochs=80),
        60,
    ),
}
