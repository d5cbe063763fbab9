"""Every claim that README, docs and lessons take from a record, held against its record.

Not in the paper. docs/claims.toml has the page and the words of each claim, and where its figures
come from. `python -m experiments claims` prints each with the evidence behind it, and ends with 1
if a figure or a verdict no longer holds.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from experiments.claim_evidence import ClaimTomlTable, Evidence, compute_evidence

NotebookCell = dict[str, Any]

# In these pages, and in the lessons, every figure has a record or another source.
PAGES_WITH_SOURCED_FIGURES = (
    "README.md",
    "docs/results.md",
    "docs/records.md",
    "docs/benchmarks.md",
)
# A lesson's figure is printed this many cells before or after its own, at most.
MAX_NOTEBOOK_CELL_DISTANCE = 2
NUMBER_PATTERN = re.compile(r"[−-]?\b\d[\d,]*(?:\.\d+)?")
DECIMAL_PATTERN = re.compile(r"(?<![\w.,§/-])\d[\d,]*\.\d+(?![\w.]*\d)")
# A table that a command makes, and a test compares.
GENERATED_TABLE_PATTERN = re.compile(r"<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL)


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


def _missing_text_problems(root: Path, claim: ClaimTomlTable) -> Iterator[str]:
    """Yield the pages that do not have a claim's words."""
    for page in claim["on"]:
        text = read_prose(root / page)
        if claim["says"] not in text:
            yield f"{page} does not say: {claim['says']}"
        elif "named" in claim and claim["named"] not in text:
            yield f"{page} does not name the reading: {claim['named']}"
        elif claim.get("pooled", "") not in text:
            yield f"{page} does not say what is pooled: {claim['pooled']}"


def _figure_problems(claim: ClaimTomlTable, evidence: Evidence) -> Iterator[str]:
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
    if len(evidence.commits) > 1 and "pooled" not in claim:
        yield f"it pools runs of {len(evidence.commits)} versions, and its page does not say so"


def _verdict_problems(claim: ClaimTomlTable, evidence: Evidence) -> Iterator[str]:
    """Yield the readings in which something else is significant than the claim says."""
    expected = claim.get("shown", {})
    for reading, names in evidence.significant.items():
        if expected and sorted(expected[reading]) != sorted(names):
            yield f"{reading}: significant are {names or 'none'}"
    verdicts = {tuple(sorted(names)) for names in evidence.significant.values()}
    if len(verdicts) > 1 and "named" not in claim:
        yield "its readings differ, and it does not say which is meant"


def _describe_claim(claim: ClaimTomlTable, evidence: Evidence, holds: bool) -> str:
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
    """Return each figure of `PAGES_WITH_SOURCED_FIGURES` and lessons without a source.

    A figure is a number with a decimal point. Its source is a claim, or what claims.toml names as
    others' figures and constants; in a lesson also the code, and the text that it prints, of the
    cells that stand at most `MAX_NOTEBOOK_CELL_DISTANCE` before or after the figure's own. Where
    claims.toml names a lesson's words under `elsewhere`, their figures may stand beside any cell.
    """
    book = read_claims_toml(root)
    lessons = sorted(path.relative_to(root).as_posix() for path in root.glob("notebooks/*.ipynb"))
    missing = []
    for page in (*PAGES_WITH_SOURCED_FIGURES, *lessons):
        passages = list(_passages(root / page))
        others = _toml_phrases_for_page(book["other"], page)
        printed_elsewhere = _toml_phrases_for_page(book["elsewhere"], page)
        sourced = [*_toml_phrases_for_page(book["claim"], page), *others, *printed_elsewhere]
        constants = {
            figure
            for other in book["other"]
            if page in other["on"]
            for figure in other.get("figures", [])
        }
        for text, printed in passages:
            for phrase in sourced:
                text = text.replace(phrase, "")
            missing += [
                f"{page}: {figure}" for figure in _decimal_figures(text) - printed - constants
            ]
        printed_anywhere = _printed_numbers(_notebook_cells(root / page))
        for phrase in printed_elsewhere:
            missing += [
                f"{page}: {figure}" for figure in _decimal_figures(phrase) - printed_anywhere
            ]
    return missing


def _toml_phrases_for_page(entries: list[dict[str, Any]], page: str) -> list[str]:
    """Return the words that entries of claims.toml say on a page."""
    phrases: list[str] = []
    for entry in entries:
        if page in entry["on"]:
            says = entry.get("says", [])
            phrases += [says] if isinstance(says, str) else says
    return phrases


def _decimal_figures(text: str) -> set[str]:
    """Return the numbers with a decimal point in a text."""
    return set(DECIMAL_PATTERN.findall(text))


def phrases_that_left_their_pages(root: Path) -> list[str]:
    """Return the words and constants of claims.toml, claims aside, that none of their pages has."""
    book, gone = read_claims_toml(root), []
    for entry in (*book["other"], *book["elsewhere"]):
        pages = [read_prose(root / page) for page in entry["on"]]
        for words in (*entry.get("says", []), *entry.get("figures", [])):
            if not any(words in page for page in pages):
                gone.append(f"{entry['why']}: {words}")
    return gone


def _passages(page: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield each cell of prose with the numbers printed beside it; a page that is no lesson whole.

    A page that is no lesson prints nothing.
    """
    cells = _notebook_cells(page)
    if not cells:
        yield read_prose(page), set()
    for place, cell in enumerate(cells):
        if cell["cell_type"] == "markdown":
            beside = cells[
                max(0, place - MAX_NOTEBOOK_CELL_DISTANCE) : place + MAX_NOTEBOOK_CELL_DISTANCE + 1
            ]
            yield _cell_prose(cell), _printed_numbers(beside)


def _notebook_cells(page: Path) -> list[NotebookCell]:
    """Return a lesson's cells; of another page none."""
    if page.suffix != ".ipynb":
        return []
    cells: list[NotebookCell] = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return cells


@cache  # a page has many claims
def read_prose(page: Path) -> str:
    """Return a page's own words, lines joined, without made tables and the paper's passages."""
    if page.suffix != ".ipynb":
        return _strip_tables_and_addresses(page.read_text(encoding="utf-8"))
    prose = [cell for cell in _notebook_cells(page) if cell["cell_type"] == "markdown"]
    return " ".join(_cell_prose(cell) for cell in prose)


def _cell_prose(cell: NotebookCell) -> str:
    """Return the own words of a lesson's cell of prose, without the paper's passages."""
    blocks = "".join(cell["source"]).split("\n\n")
    return _strip_tables_and_addresses(
        "\n\n".join(block for block in blocks if not block.startswith("> **Paper"))
    )


def _strip_tables_and_addresses(text: str) -> str:
    """Return prose on one line, without made tables and addresses."""
    text = GENERATED_TABLE_PATTERN.sub("", text)
    text = re.sub(r"\]\([^)]*\)|arXiv\s[\d.]+", "]", text)
    return " ".join(re.sub(r"\n> ", "\n", text).split())


def _printed_numbers(cells: Iterable[NotebookCell]) -> set[str]:
    """Return the numbers in the code of cells and in what they print, without data of charts.

    Numbers are whole, so that 0.5 is not found in 0.52.
    """
    texts = []
    for cell in cells:
        if cell["cell_type"] == "code":
            texts.append(cell["source"])
            for output in cell["outputs"]:
                texts.append(output.get("text", ""))
                shown = output.get("data", {}).items()
                texts += [text for kind, text in shown if kind.startswith("text/")]
    return set(re.findall(r"\d[\d,.]*\d", "\n".join("".join(text) for text in texts)))
