"""Tables of the panel, for README.md and docs/results.md."""

from collections.abc import Callable, Sequence
from statistics import fmean

from benchmarks import carry_over
from benchmarks.equivariance import Gain
from benchmarks.panel_jobs import AUTO, NONE
from benchmarks.panel_plan import CONDITIONS, Kept
from benchmarks.panel_sets import FILTERED, SETS
from benchmarks.panel_table import TITLES, Row, answers, compare, panel_rows, promises
from benchmarks.permuted import claims, permuted_cells
from benchmarks.records import Records
from benchmarks.standardisation import differences
from table_cells import describe_mean, describe_paired, markdown_table, rate

from cadda._internal.statistics import holm

OTHERS = tuple(condition for condition in CONDITIONS if condition != NONE)
HEADLINES = ("duplicates", "uniform", "randaugment", "adda", "cadda", "guided", AUTO)
"""Conditions of the short table."""
NO_RESULTS = "`python -m benchmarks panel` has not been run yet."

Describe = Callable[[Gain, float], str]


def panel_overview() -> str:
    """Return the figure, and gains over no augmentation in one line for each set of data."""
    rows = read_rows()
    if not rows:
        return NO_RESULTS
    shown = with_results(rows, HEADLINES)
    lines = []
    for name in dict.fromkeys(row.set for row in rows):
        sizes = [row for row in rows if row.set == name]
        subjects = join_sizes([str(row.n_usable) for row in sizes])
        plain = join_sizes([mean_score(row) for row in sizes])
        gains = zip(*(gain_cells(row, shown, describe_mean) for row in sizes), strict=True)
        lines.append([SETS[name].title, subjects, plain, *map(join_sizes, gains)])
    picture = "![Gains in balanced accuracy on unseen subjects](docs/images/panel.png)"
    columns = ("data", "subjects", "none", *(TITLES[condition] for condition in shown))
    return f"{picture}\n\n{markdown_table(columns, lines)}\n\n{kept_promises()}"


def kept_promises() -> str:
    """Return what `auto` claims, and how much of it is true, in a sentence."""
    made = [promise for promise in promises(Kept(Records("panel").all())) if promise.is_held_out]
    claimed = [promise for promise in made if promise.low > 0]
    permuted = claims(Kept(Records("permuted").all()), permuted_cells())
    return (
        f"`auto` claims a gain in {rate(promise.low > 0 for promise in made)} searches, true on "
        f"the test subjects in {rate(promise.gain > 0 for promise in claimed)}, and answers "
        "`none` in the others. Its 90 % intervals hold the gain in "
        f"{rate(promise.is_kept for promise in made)}. On permuted labels it claims a gain in "
        f"{rate(permuted)}."
    )


def gains_over_none() -> str:
    """Return mean scores without augmentation, and the gains of all conditions."""
    return gain_table(read_rows()) or NO_RESULTS


def highpassed_gains() -> str:
    """Return the same of fists without slow activity."""
    rows = panel_rows(Kept(Records("highpassed").all()), FILTERED)
    return gain_table(rows) or "`python -m benchmarks highpassed` has not been run yet."


def units_compared() -> str:
    """Return scores of windows that are standardised one by one and per recording."""
    lines = [
        [
            f"{row.title}, {row.n_usable} subjects",
            f"{row.window:.3f}",
            f"{row.recording:.3f}",
            cell(row.gain, describe_paired),
        ]
        for row in differences()
    ]
    columns = ("data", "per window", "per recording", "difference")
    return markdown_table(columns, lines) if lines else "Not measured yet."


def gain_table(rows: Sequence[Row]) -> str:
    """Return a table of gains over no augmentation; no text if there are no rows."""
    if not rows:
        return ""
    shown = with_results(rows, OTHERS)
    lines = (
        [row.title, mean_score(row), *gain_cells(row, shown, describe_paired)] for row in rows
    )
    return markdown_table(("data", NONE, *(TITLES[condition] for condition in shown)), lines)


def auto_gains() -> str:
    """Return by how much `auto` is better than each condition."""
    rows = [row for row in read_rows() if row.scores[AUTO]]
    if not rows:
        return NO_RESULTS
    kept = Kept(Records("panel").all())
    shown = with_results(rows, [name for name in CONDITIONS if name != AUTO])
    lines = (
        [row.title, rate(not found for found in answers(kept, row.set, row.n_usable))]
        + [cell(compare(row.scores[AUTO], row.scores[name]), describe_paired) for name in shown]
        for row in rows
    )
    titles = (f"over {TITLES[condition]}" for condition in shown)
    return markdown_table(("data", "answers `none`", *titles), lines)


def coverage() -> str:
    """Return how many promises of `auto` hold."""
    made = promises(Kept(Records("panel").all()))
    held_out = [promise for promise in made if promise.is_held_out]
    claimed = claims(Kept(Records("permuted").all()), permuted_cells())
    lines = (
        (
            "90 % intervals that hold the gain on test subjects, from blocks that had no part in "
            "the choice",
            rate(promise.is_kept for promise in held_out),
            "`python -m benchmarks panel --folder FOLDER`",
        ),
        (
            "the same, if the error of the gain on test subjects is added",
            rate(promise.is_plausible for promise in held_out),
            "`python -m benchmarks panel --folder FOLDER`",
        ),
        (
            "all 90 % intervals that hold it, with those of draws where no candidate was chosen",
            rate(promise.is_kept for promise in made),
            "`python -m benchmarks panel --folder FOLDER`",
        ),
        (
            "claimed gains where labels were permuted within subjects",
            rate(claimed),
            "`python -m benchmarks permuted --folder FOLDER`",
        ),
    )
    known = [line for line in lines if line[1] != rate([])]
    return markdown_table(("what", "result", "command"), known) if known else NO_RESULTS


def carried_over() -> str:
    """Return the gains of policies of the zoo, and of those that `auto` found, on all sets."""
    kept, panel = (Kept(Records(name).all()) for name in ("carry_over", "panel"))
    made = carry_over.gains(kept, panel)
    if not made:
        return "`python -m benchmarks carry_over` has not been run yet."
    lines = (
        [carry_over.title(source), *(cell(row.get(name), describe_mean) for name in SETS)]
        for source, row in made.items()
    )
    return markdown_table(("policy of", *(data.title for data in SETS.values())), lines)


def read_rows() -> list[Row]:
    """Return the rows that have results."""
    return panel_rows(Kept(Records("panel").all()))


def mean_score(row: Row) -> str:
    """Return the mean balanced accuracy without augmentation."""
    return f"{fmean(row.scores[NONE].values()):.3f}"


def join_sizes(cells: Sequence[str]) -> str:
    """Return the cells of all numbers of subjects in one."""
    return " / ".join(cell or "–" for cell in cells) if any(cells) else ""


def with_results(rows: Sequence[Row], conditions: Sequence[str]) -> list[str]:
    """Return the conditions that any row has two draws of, for a comparison."""
    return [
        name
        for name in conditions
        if any(compare(row.scores[name], row.scores[NONE]) for row in rows)
    ]


def gain_cells(row: Row, conditions: Sequence[str], describe: Describe) -> list[str]:
    """Return gains over no augmentation, bold if significant after Holm's correction."""
    gains = [compare(row.scores[name], row.scores[NONE]) for name in conditions]
    known = [gain for gain in gains if gain is not None]
    adjusted = iter(holm([gain.test.p_value for gain in known]).tolist())
    return ["" if gain is None else describe(gain, next(adjusted)) for gain in gains]


def cell(gain: Gain | None, describe: Describe) -> str:
    """Return a gain, bold if significant."""
    return "" if gain is None else describe(gain, gain.test.p_value)
