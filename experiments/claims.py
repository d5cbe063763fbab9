"""Every claim that README, docs and lessons take from a record, held against its record.

Not in the paper. docs/claims.toml has the page and the words of each claim, and where its figures
come from. `python -m experiments claims` prints each with the evidence behind it, and ends with 1
if a figure or a verdict no longer holds.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from experiments.claim_evidence import ClaimTable, Evidence, compute_evidence

# In these pages, and in the lessons, every figure has a record or another source.
CHECKED_PAGES = ("README.md", "docs/results.md", "docs/records.md", "docs/benchmarks.md")
NUMBER_PATTERN = re.compile(r"[−-]?\b\d[\d,]*(?:\.\d+)?")
DECIMAL_PATTERN = re.compile(r"(?<![\w.,§/-])\d[\d,]*\.\d+(?![\w.]*\d)")
GENERATED_TABLE_PATTERN = re.compile(
    r"<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL
)  # made by a command, and tested


def read_claims_toml(root: Path) -> dict[str, Any]:
    """Read docs/claims.toml: its claims, and the figures that no record of ours is behind."""
    return tomllib.loads((root / "docs" / "claims.toml").read_text(encoding="utf-8"))


def print_claims_report(root: Path) -> int:
    """Print every claim with its evidence; return 1 if one no longer holds."""
    lines, problems = check_claims(root)
    print(*lines, *problems, f"{len(lines)} claims, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


def check_claims(root: Path) -> tuple[list[str], list[str]]:
    """Compute all claims anew: a line for each, and a line for each problem."""
    lines, problems = [], []
    for claim in read_claims_toml(root)["claim"]:
        evidence = compute_evidence(claim)
        own_problems = [
            *_missing_text_problems(root, claim),
            *_figure_problems(claim, evidence),
            *_verdict_problems(claim, evidence),
        ]
        lines.append(_describe_claim(claim, evidence, holds=not own_problems))
        problems += [f"{claim['on'][0]}: {problem}" for problem in own_problems]
    return lines, problems


def _missing_text_problems(root: Path, claim: ClaimTable) -> Iterator[str]:
    """Yield the pages that do not have a claim's words."""
    for page in claim["on"]:
        text = read_prose(root / page)
        if claim["says"] not in text:
            yield f"{page} does not say: {claim['says']}"
        elif "named" in claim and claim["named"] not in text:
            yield f"{page} does not name the reading: {claim['named']}"


def _figure_problems(claim: ClaimTable, evidence: Evidence) -> Iterator[str]:
    """Yield the numbers in a claim's words that are not its records'."""
    if "shown" not in claim:
        numbers = NUMBER_PATTERN.findall(claim["says"])[claim.get("skip", 0) :]
        for number, figure in zip(numbers, evidence.figures, strict=False):
            text = number.replace(",", "").replace("−", "-")
            decimals = len(text.partition(".")[2])
            if abs(float(text) - figure) > 0.5 * 10**-decimals + 1e-9:
                yield f"it says {number}, the record {figure:.{decimals + 2}f}"
        if len(numbers) > len(evidence.figures):
            yield f"{len(numbers)} numbers, and {len(evidence.figures)} figures from the record"
    for name, number in (("n", evidence.n), ("family", evidence.family)):
        if number != claim.get(name, 1):
            yield f"{name} is {number}"


def _verdict_problems(claim: ClaimTable, evidence: Evidence) -> Iterator[str]:
    """Yield the readings in which something else is significant than the claim says."""
    expected = claim.get("shown", {})
    for reading, names in evidence.significant.items():
        if expected and sorted(expected[reading]) != sorted(names):
            yield f"{reading}: significant are {names or 'none'}"
    verdicts = {tuple(sorted(names)) for names in evidence.significant.values()}
    if len(verdicts) > 1 and "named" not in claim:
        yield "its readings differ, and it does not say which is meant"


def _describe_claim(claim: ClaimTable, evidence: Evidence, holds: bool) -> str:
    """Describe a claim and the evidence behind it in a line."""
    parts = [
        "holds" if holds else "NO LONGER HOLDS",
        claim["figure"],
        f"n {evidence.n}",
        f"family {evidence.family}",
        *sorted(evidence.precisions),
    ]
    if len(evidence.commits) > 1:
        parts.append(f"{len(evidence.commits)} versions")
    if any("changes" in commit for commit in evidence.commits):
        parts.append("uncommitted code")
    return " · ".join([*parts, claim["says"]])


def figures_without_source(root: Path) -> list[str]:
    """Return each figure of `CHECKED_PAGES` and lessons without a source.

    A figure is a number with a decimal point.
    A source is a claim, a lesson's own output, or what claims.toml names as others' and constants.
    """
    book, missing = read_claims_toml(root), []
    lessons = sorted(path.relative_to(root).as_posix() for path in root.glob("notebooks/*.ipynb"))
    for name in (*CHECKED_PAGES, *lessons):
        text = read_prose(root / name)
        for claim in book["claim"]:
            if name in claim["on"]:
                text = text.replace(claim["says"], "")
        # Whole numbers, so that 0.5 is not found in 0.52.
        known = set(re.findall(r"\d[\d,.]*\d", read_code_and_outputs(root / name)))
        for other in book["other"]:
            if name in other["on"]:
                known.update(other["figures"])
        missing += [
            f"{name}: {figure}" for figure in DECIMAL_PATTERN.findall(text) if figure not in known
        ]
    return missing


@cache  # a page has many claims
def read_prose(page: Path) -> str:
    """Return a page's own words, lines joined, without made tables and the paper's passages."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        blocks = "\n\n".join("".join(cell["source"]) for cell in cells).split("\n\n")
        text = "\n\n".join(block for block in blocks if not block.startswith("> **Paper"))
    text = re.sub(
        r"\]\([^)]*\)|arXiv\s[\d.]+", "]", GENERATED_TABLE_PATTERN.sub("", text)
    )  # no addresses
    return " ".join(re.sub(r"\n> ", "\n", text).split())


def read_code_and_outputs(page: Path) -> str:
    """Return a lesson's code and stored outputs, which its test compares; "" for other pages."""
    if page.suffix != ".ipynb":
        return ""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if "outputs" in cell]
    return "".join("".join(cell["source"]) + json.dumps(cell["outputs"]) for cell in code)
