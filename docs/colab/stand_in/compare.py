"""Run a lesson to its end in a runtime, and compare its outputs with the stored ones (nbval)."""

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

import nbformat

from stand_in.runtime import KERNEL, Runtimes

TIMEOUT = 1800  # seconds for one cell
# Pictures are not compared, neither those that a chart's HTML holds.
PICTURES = "[pictures]\nregex: data:image/png;base64,[A-Za-z0-9+/=]+\nreplace: PICTURE\n"


class Verdict(NamedTuple):
    """How a lesson went.

    Attributes:
        cells: Code cells that ran.
        errors: Of them that raised, or were cut short.
        differences: Of them whose output is not the stored one.
        seconds: Spent.
        said: What nbval says of those that failed.
    """

    cells: int
    errors: int
    differences: int
    seconds: float
    said: str


def run(runtimes: Runtimes, name: str) -> Verdict:
    """Put a lesson alone into an empty folder, and have nbval run it there.

    Raises:
        ValueError: nbval did not run.
    """
    folder = runtimes.new(Path(name).stem)
    nbformat.write(runtimes.lesson(name), folder / name)
    aside = folder.with_suffix(".nbval")
    aside.mkdir(exist_ok=True)
    (aside / "sanitize.cfg").write_text(PICTURES, encoding="utf-8")
    report = aside / "report.xml"
    start = time.monotonic()
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--color=no", "--tb=short", "-c", "/dev/null"),
        *("--nbval", f"--nbval-kernel-name={KERNEL}", f"--nbval-cell-timeout={TIMEOUT}"),
        *("-p", "no:cacheprovider", f"--nbval-sanitize-with={aside / 'sanitize.cfg'}"),
        *(f"--rootdir={folder}", f"--junitxml={report}", str(folder / name)),
    ]
    environment = runtimes.outside()
    done = subprocess.run(command, cwd=aside, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not report.is_file():
        raise ValueError(f"nbval did not run {name}: {done.stdout}{done.stderr}")
    return _verdict(report, time.monotonic() - start)


def _verdict(report: Path, seconds: float) -> Verdict:
    """Read pytest's report of a lesson."""
    cases = ET.parse(report).findall(".//testcase")
    failures = [(case, part) for case in cases for part in case if part.tag in ("failure", "error")]
    said = [f"{case.get('name')}: {part.text}" for case, part in failures]
    differ = sum("Cell outputs differ" in text for text in said)
    return Verdict(len(cases), len(said) - differ, differ, seconds, "\n".join(said))
