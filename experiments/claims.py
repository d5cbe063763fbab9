"""The ledger: every figure that README, docs and lessons take from a record, computed anew.

Not in the paper. An entry of docs/claims.toml has the page and the words of a claim, and where its
figures come from. `python -m experiments claims` prints each with what stands behind it, and ends
with 1 where a figure or a verdict has turned.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from lessonkit.analysis.significance import (
    difference_interval,
    difference_p,
    holm,
    margin_of_error,
    mean_interval,
    one_sided_p,
)
from lessonkit.records import READINGS, load_result, load_runs, precision, scores_by_variant

LEVEL = 0.05
# Where every figure has a record or another source; of docs/decisions, those with records.
PAGES = ("README.md", "docs/results.md", "docs/records.md", "docs/benchmarks.md")
NUMBER = re.compile(r"[−-]?\b\d[\d,]*(?:\.\d+)?")
DECIMAL = re.compile(r"(?<![\w.,§/-])\d[\d,]*\.\d+(?![\w.]*\d)")
TABLE = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL)  # made by a command, and tested


class Found(NamedTuple):
    """What the records say to a claim today."""

    figures: list[float]  # in the order of the numbers in the claim's words
    shown: dict[str, list[str]]  # by reading: of a family, what is shown after Holm's rule
    n: int  # runs behind each figure
    family: int  # comparisons judged together
    precisions: set[str]
    commits: set[str]  # several: runs of different code; "with changes": not committed


def settle(claim: Mapping[str, Any]) -> Found:
    """Compute a claim from its records, by the kind of its figure."""
    return KINDS[claim["figure"]](claim)


def _value(claim: Mapping[str, Any]) -> Found:
    """Give what stands in records: at a path of keys in `record`, or in another as NAME:PATH.

    "PATH per PATH" is a quotient.
    """
    figures, records = [], []
    for place in claim["at"]:
        name, _, paths = f"{claim.get('record', '')}:{place}".rpartition(":")
        records.append(record := load_result(name.rpartition(":")[2]))
        figure, *rest = (_at(record, path) for path in paths.split(" per "))
        figures.append(figure / (rest[0] if rest else claim.get("unit", 1)))
    return _found(figures, records)


def _mean(claim: Mapping[str, Any]) -> Found:
    """Give the mean over a recipe's seeds in one precision, then its interval."""
    runs, points = _points(claim)
    return _found([mean(points), *mean_interval(points)], runs, len(points))


def _above(claim: Mapping[str, Any]) -> Found:
    """Say whether a recipe's mean is above a published figure."""
    runs, points = _points(claim)
    names = [claim["recipe"]] if one_sided_p(points, claim["goal"]) < LEVEL else []
    return _found([], runs, len(points), {"beam": names})


def _difference(claim: Mapping[str, Any]) -> Found:
    """Give the interval of a difference between two groups of runs, and whether it is one."""
    groups = [_points(claim | group) for group in claim["groups"]]
    (base, first), (other, second) = groups
    low, high = difference_interval(first, second)
    shown = {"beam": ["difference"] if low > 0 or high < 0 else []}
    return _found([low, high], [*base, *other], min(len(first), len(second)), shown)


def _family(claim: Mapping[str, Any]) -> Found:
    """Say which variants of an experiment differ from its base, by Holm's rule, in each reading."""
    record = load_result(claim["record"])
    shown = {}
    for reading in READINGS.values():
        points = scores_by_variant(record, reading)
        base = points.pop(claim["base"])
        chances = {name: difference_p(base, runs) for name, runs in points.items()}
        shown[reading] = shown_of(chances)
    fewest = min(len(runs) for runs in points.values())
    return _found([], record["runs"], fewest, shown, len(chances))


def _costs(claim: Mapping[str, Any]) -> Found:
    """Give by how much the means of some variants of an experiment are lower than its base's."""
    record = load_result(claim["record"])
    points = scores_by_variant(record)
    costs = [mean(points[claim["base"]]) - mean(points[name]) for name in claim["at"]]
    n = min(len(points[name]) for name in claim["at"])
    return _found(costs, record["runs"], n, family=len(points) - 1)


def _single_runs(claim: Mapping[str, Any]) -> Found:
    """Say which variants, of one run each, are beyond the margin of another recipe's seeds."""
    record = load_result(claim["record"])
    several = {
        kind: [run["figures"]["bleu"]["score"] for run in runs]
        for kind, runs in load_runs(claim["recipe"]).items()
    }
    limit = margin_of_error(several, runs=1)
    shown = {}
    for reading in READINGS.values():
        points = scores_by_variant(record, reading)
        [base] = points.pop(claim["base"])
        shown[reading] = [name for name, [one] in points.items() if abs(one - base) > limit]
    return _found([limit], record["runs"], 1, shown, len(points))


def _heads(claim: Mapping[str, Any]) -> Found:
    """Give the largest cost of a head of one stack, by zero or by its mean, as `at` names them."""
    record = load_result(claim["record"])
    figures = record["figures"]
    whole = figures["whole"]["beam"]
    costs = {
        f"{how} {name}": whole - head["beam"]
        for how in ("zero", "mean")
        for name, head in figures[how]["heads"].items()
    }
    worst = [max(c for name, c in costs.items() if re.search(each, name)) for each in claim["at"]]
    return _found(worst, [record], family=len(costs))


KINDS: dict[str, Callable[[Mapping[str, Any]], Found]] = {
    "value": _value,
    "mean": _mean,
    "above": _above,
    "difference": _difference,
    "family": _family,
    "costs": _costs,
    "single runs": _single_runs,
    "heads": _heads,
}


def shown_of(chances: Mapping[str, float]) -> list[str]:
    """Give what a family of comparisons shows by Holm's rule, the smallest p-value first."""
    adjusted = dict(zip(chances, holm(list(chances.values())), strict=True))
    return sorted((name for name in chances if adjusted[name] <= LEVEL), key=lambda n: chances[n])


def turned(root: Path, claim: Mapping[str, Any], found: Found) -> Iterator[str]:
    """Say in what a claim's words, figures or verdict differ from its page and its records."""
    for page in claim["on"]:
        if claim["says"] not in (text := prose(root / page)):
            yield f"{page} does not say: {claim['says']}"
        elif "named" in claim and claim["named"] not in text:
            yield f"{page} does not name the reading: {claim['named']}"
    said = [] if "shown" in claim else NUMBER.findall(claim["says"])[claim.get("skip", 0) :]
    figures = found.figures if said else []
    for number, figure in zip(said, figures, strict=False):
        text = number.replace(",", "").replace("−", "-")
        decimals = len(text.partition(".")[2])
        if abs(float(text) - figure) > 0.5 * 10**-decimals + 1e-9:
            yield f"it says {number}, the record {figure:.{decimals + 2}f}"
    if len(said) > len(found.figures):
        yield f"{len(said)} numbers, and {len(found.figures)} figures from the record"
    for name, number in (("n", found.n), ("family", found.family)):
        if number != claim.get(name, 1):
            yield f"{name} is {number}"
    expected = claim.get("shown", {})
    for reading, names in found.shown.items():
        if expected and sorted(expected[reading]) != sorted(names):
            yield f"{reading}: shown are {names or 'none'}"
    if len({str(sorted(names)) for names in found.shown.values()}) > 1 and "named" not in claim:
        yield "its readings differ, and it does not say which is meant"


def check(root: Path) -> tuple[list[str], list[str]]:
    """Settle the whole ledger: a line for each claim, and what has turned."""
    lines, wrong = [], []
    for claim in ledger(root)["claim"]:
        found = settle(claim)
        faults = list(turned(root, claim, found))
        code = f"{len(found.commits)} versions" if len(found.commits) > 1 else ""
        about = [
            "TURNED" if faults else "kept",
            claim["figure"],
            f"n {found.n}",
            f"family {found.family}",
            *sorted(found.precisions),
            code,
            "uncommitted code" if any("changes" in each for each in found.commits) else "",
            claim["says"],
        ]
        lines.append(" · ".join(filter(None, about)))
        wrong += [f"{claim['on'][0]}: {fault}" for fault in faults]
    return lines, wrong


def report(root: Path) -> int:
    """Print the ledger as it stands; 1 where a claim has turned."""
    lines, wrong = check(root)
    print(*lines, *wrong, f"{len(lines)} claims, {len(wrong)} turned", sep="\n")
    return 1 if wrong else 0


def ledger(root: Path) -> dict[str, Any]:
    """Read docs/claims.toml: its claims, and the figures that no record of ours is behind."""
    return tomllib.loads((root / "docs" / "claims.toml").read_text(encoding="utf-8"))


@cache  # a page has many claims
def prose(page: Path) -> str:
    """Give a page's own words, lines joined, without made tables and the paper's passages."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        blocks = text.split("\n\n")
        text = "\n\n".join(each for each in blocks if not each.startswith("> **Paper"))
    text = re.sub(r"\]\([^)]*\)|arXiv\s[\d.]+", "]", TABLE.sub("", text))  # no addresses
    return " ".join(re.sub(r"\n> ", "\n", text).split())


def outputs(page: Path) -> str:
    """Give what a lesson's cells print and compute: code and stored text, which CI compares."""
    if page.suffix != ".ipynb":
        return ""
    cells = [c for c in json.loads(page.read_text(encoding="utf-8"))["cells"] if "outputs" in c]
    return "".join("".join(c["source"]) + json.dumps(c["outputs"]) for c in cells)


def without_source(root: Path) -> list[str]:
    """Give each figure (a number with a decimal point) of `PAGES` and lessons without a source.

    A source is a claim, a lesson's own output, or what the ledger names as others' and constants.
    """
    book, missing = ledger(root), []
    lessons = sorted(path.relative_to(root).as_posix() for path in root.glob("notebooks/*.ipynb"))
    for name in (*PAGES, *lessons):
        text, printed = prose(root / name), outputs(root / name)
        for claim in book["claim"]:
            if name in claim["on"]:
                text = text.replace(claim["says"], "")
        others = [other["figures"] for other in book["other"] if name in other["on"]]
        known = {figure for figures in others for figure in figures}
        known |= set(re.findall(r"\d[\d,.]*\d", printed))  # 0.5 does not stand in 0.52
        missing += [f"{name}: {each}" for each in DECIMAL.findall(text) if each not in known]
    return missing


def _points(claim: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[float]]:
    runs = load_runs(claim["recipe"])[claim["precision"]]
    if "seeds" in claim:
        runs = [run for run in runs if run["training"]["seed"] in claim["seeds"]]
    figure = claim.get("key", "bleu/score")
    return runs, [_at(run["figures"], figure) for run in runs]


def _at(record: Any, path: str) -> Any:
    steps = (int(step) if step.isdigit() else step for step in path.strip().split("/"))
    return reduce(lambda value, step: value[step], steps, record)


def _found(
    figures: list[float],
    records: Sequence[Mapping[str, Any]],
    n: int = 1,
    shown: dict[str, list[str]] | None = None,
    family: int = 1,
) -> Found:
    origins = [record.get("training", record) for record in records]
    kinds = {
        precision(record)
        for record in records
        if "precision" in record.get("training", {}) or "training" in record.get("recipe", {})
    }
    commits = {each["commit"] for each in origins}
    return Found(figures, shown or {}, n, family, kinds, commits)
