"""Tables of searches on images."""

from benchmarks.images import FASTER, accuracies, paired_difference, shrunk
from benchmarks.records import Records
from table_cells import markdown_table

from cadda._internal.statistics import Estimate

TITLES = {
    "none": "none",
    "uniform": "all ten operations, equally often",
    "keeps digits": "the five that keep digits, equally often",
    "dada": "`dada`",
    FASTER: "`faster_autoaugment`",
}


def image_gains() -> str:
    """Return accuracies on test images, and paired gains over two policies without a search."""
    every = accuracies(Records("images").all())
    rows = []
    for condition, title in TITLES.items():
        values = every[condition]
        gains = [
            "" if name == condition else describe(paired_difference(values, every[name]))
            for name in ("none", "uniform")
        ]
        n_better = int((values > every["uniform"]).sum())
        better = "" if condition == "uniform" else f"{n_better} of {len(values)}"
        rows.append((title, f"{values.mean():.3f}", *gains, better))
    columns = ("policy", "accuracy", "gain over none", "gain over all ten", "better than all ten")
    return markdown_table(columns, rows)


def describe(gain: Estimate) -> str:
    """Return such as ``"+0.021 (+0.004 to +0.037)"``."""
    return f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})".replace("-", "−")


def critic_distances() -> str:
    """Return how far a critic told augmented from real images at the end of each search."""
    made = sorted(Records("images").all(), key=lambda record: record["seed"])
    pairs = shrunk(made)
    seeds = [str(record["seed"]) for record in made if record["condition"] == FASTER]
    fixed, learned = ([f"{values[i]:.4f}".replace("-", "−") for values in pairs] for i in range(2))
    rows = [("as it starts", *fixed), ("that learns", *learned)]
    return markdown_table(("policy", *(f"seed {seed}" for seed in seeds)), rows)
