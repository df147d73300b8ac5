"""The sources of simulated sleep: what, where, how strong and how often in which state."""

from __future__ import annotations

from cadda.data.simulation import sources
from cadda.data.simulation.activity import CORTEX, MUSCLES, SENSORS, Event, Rhythm
from cadda.data.simulation.head import EYES

__all__ = ["EVENTS", "RHYTHMS"]

# States: wake with eyes open, wake with eyes closed, N1, N2, N3, R
RHYTHMS = (
    Rhythm("background", CORTEX, (6.0, 5.5, 5.5, 6.5, 7.0, 5.5)),
    Rhythm(
        "alpha",
        ("O1", "O2", "POz", "FCz"),
        (2.0, 8.0, 3.0, 1.5, 1.2, 1.6),
        frequency=9.8,
        width=0.5,
        shift=0.9,
    ),
    Rhythm(
        "theta",
        ("Fz", "Cz", "C5", "C6", "Pz"),
        (1.5, 1.5, 4.0, 3.2, 3.0, 3.2),
        depth=0.7,
        frequency=5.8,
        width=1.7,
        shift=0.7,
    ),
    Rhythm(
        "delta",
        ("AFz", "Fz", "Cz", "Pz"),
        (2.0, 2.0, 3.0, 6.0, 13.0, 3.0),
        depth=0.8,
        frequency=1.3,
        width=0.9,
        shift=0.2,
    ),
    Rhythm("sigma", ("Fz", "Cz", "Pz"), (0.8, 0.8, 0.8, 1.5, 1.2, 0.8), frequency=13.0, shift=0.6),
    Rhythm(
        "beta",
        ("F5", "F6", "Cz", "Pz"),
        (2.2, 1.8, 1.5, 1.0, 0.7, 1.5),
        depth=0.5,
        frequency=19.0,
        width=4.0,
        shift=2.0,
    ),
    Rhythm(
        "muscle", MUSCLES, (2.2, 1.8, 1.4, 1.0, 0.8, 0.5), depth=0.4, frequency=50.0, width=12.0
    ),
)

EVENTS = (
    Event(
        "slow spindle",
        sources.spindle,
        1.8,
        ("AFz", "Fz", "F3", "F4"),
        16.0,
        (0.0, 0.0, 0.2, 3.0, 1.0, 0.05),
        frequency=12.0,
        shift=0.6,
    ),
    Event(
        "fast spindle",
        sources.spindle,
        1.8,
        ("Cz", "C3", "C4", "CPz"),
        20.0,
        (0.0, 0.0, 0.2, 5.0, 1.0, 0.05),
        frequency=13.6,
        shift=0.6,
    ),
    Event(
        "K-complex",
        sources.k_complex,
        1.7,
        ("AFz", "AF3", "AF4", "Fz"),
        95.0,
        (0.0, 0.0, 0.1, 2.5, 1.0, 0.0),
        depth=0.75,
    ),
    Event(
        "vertex wave",
        sources.vertex_wave,
        0.8,
        ("Cz", "FCz"),
        60.0,
        (0.0, 0.0, 5.0, 1.0, 0.0, 0.0),
    ),
    Event(
        "slow wave",
        sources.slow_wave,
        2.0,
        ("AFz", "AF3", "AF4", "Fz", "Pz"),
        85.0,
        (0.0, 0.0, 0.1, 2.0, 26.0, 0.1),
        depth=0.75,
    ),
    Event("sawtooth", sources.sawtooth, 5.0, ("FCz", "Cz"), 25.0, (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)),
    Event("blink", sources.blink, 1.0, ("eyes up",), 90.0, (12.0, 1.0, 0.3, 0.0, 0.0, 0.0)),
    Event(
        "slow eye movement",
        sources.slow_eye_movement,
        6.0,
        EYES,
        60.0,
        (0.0, 1.0, 6.0, 0.2, 0.0, 0.2),
    ),
    Event("saccade", sources.saccade, 3.0, EYES, 75.0, (6.0, 1.0, 0.3, 0.0, 0.0, 14.0)),
    Event(
        "muscle burst",
        sources.muscle_burst,
        4.0,
        MUSCLES,
        20.0,
        (2.5, 1.5, 0.6, 0.2, 0.1, 0.3),
        depth=0.4,
    ),
    Event("movement", sources.movement, 4.0, SENSORS, 60.0, (1.5, 0.8, 0.3, 0.1, 0.05, 0.1)),
)
