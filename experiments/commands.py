"""The commands of `python -m experiments`, which commands.toml lists, and their options.

Not in the paper. What a command needs is imported when it runs, so that help answers at once.
"""

import argparse
import inspect
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from attention_course.options import (
    TRAIN_OPTION_ADDERS,
    OptionAdder,
    add_beam_option,
    add_model_argument,
    add_start_from_option,
    option_adder,
)
from experiments.plans import EXPERIMENTS
from transformer.support.files import check_writable_file
from transformer.support.folders import require_checkout_root

BENCH_SECTION_NAMES = ("training", "modern", "decoding", "gpu", "data", "starts", "shapes")
AXE_NPM_PACKAGE = "axe-core@4.14.1"  # checks pages for accessibility

# A script, the extra of pyproject.toml that it needs, and a package that npm fetches for it.
PAGE_AND_LESSON_CHECKS = {
    "browser": ("tests/browser/check_lessons.py", "browser", ""),  # every lesson in JupyterLab
    "live": ("tests/live/check_page.py", "browser", AXE_NPM_PACKAGE),  # the page that translates
    "site": (
        "tests/browser/check_site.py",
        "browser",
        AXE_NPM_PACKAGE,
    ),  # every page that `make site` built
    "gaps": ("tests/browser/check_gaps.py", "browser", AXE_NPM_PACKAGE),  # what the site judges
    "colab": ("docs/colab/check.py", "", ""),  # every lesson as on Colab (--python=python3.13)
}


class Command(NamedTuple):
    """Something that can be measured, drawn or made again.

    Its function gets the options that its parameters name; also `root`, the checkout, `file`, which
    it writes, and `namespace`, all that was typed. What it returns is printed, or else the file's
    path; an int is the exit status.
    """

    function: str  # with its module, in this package
    about: str  # what is done and where it is written, in a line
    example: str = ""  # what may be typed after the name
    options: Sequence[str] = ()  # names in `ADDERS_BY_OPTION_NAME`
    file: str = ""  # in the checkout; options are filled in where it has {NAME}
    resumes: bool = False  # whether the same command resumes after Ctrl-C

    def run(self, options: argparse.Namespace) -> int:
        """Run it; raise a UserError before any work if its file cannot be written."""
        root = require_checkout_root()
        arguments: dict[str, Any] = {**vars(options), "namespace": options, "root": root}
        if self.file and not arguments.get("file"):
            arguments["file"] = root / self.file.format_map(arguments)
        if "file" in arguments:
            check_writable_file(arguments["file"])
        module, _, name = self.function.rpartition(".")
        function = getattr(import_module(f"experiments.{module}"), name)
        parameters = inspect.signature(function).parameters
        result = function(**{name: arguments[name] for name in parameters if name in arguments})
        if isinstance(result, int):
            return result
        if isinstance(result, dict):
            result = json.dumps(result, indent=2)
        if result is not None or self.file:
            print(result or arguments["file"])
        return 0


INT_LIST_ADD_ARGUMENT_KWARGS: dict[str, Any] = {"type": int, "nargs": "+"}
ADDERS_BY_OPTION_NAME: Mapping[str, OptionAdder] = {
    "model": add_model_argument,
    "beam": add_beam_option,
    "training": lambda parser: [add_option(parser) for add_option in TRAIN_OPTION_ADDERS],
    "name": option_adder("name", "NAME", "name of the record, NAME.json"),
    "record": option_adder(
        "--record", "FILE", "JSON file to write", dest="file", type=Path, required=True
    ),
    "other-record": option_adder(
        "--record", "FILE", "JSON file to write, instead of its own", dest="file", type=Path
    ),
    "out": option_adder("--out", "FOLDER", "folder of the runs (default: runs/NAME)", type=Path),
    "experiment": option_adder("name", "NAME", ", ".join(EXPERIMENTS)),
    "seeds": option_adder(
        "--seeds",
        "N",
        "seeds of the runs (default: 1)",
        default=[1],
        **INT_LIST_ADD_ARGUMENT_KWARGS,
    ),
    "three-seeds": option_adder(
        "--seeds",
        "N",
        "seeds, three at least (default: 1 2 3)",
        default=[1, 2, 3],
        **INT_LIST_ADD_ARGUMENT_KWARGS,
    ),
    "only": option_adder("--only", "VARIANT", "run only these variants", nargs="+", default=[]),
    "section": option_adder(
        "section", "SECTION", ", ".join(BENCH_SECTION_NAMES), choices=BENCH_SECTION_NAMES
    ),
    "each": option_adder("--each", "N", "mutants of each file (default: 10)", type=int, default=10),
    "seed": option_adder("--seed", "N", "seed of the sample (default: 33)", type=int, default=33),
    "change": option_adder("--change", "TEXT", "what is new since the record before"),
    "set": option_adder(
        "--set",
        "KEY=VALUE",
        "change a setting of the recipe; may be repeated",
        dest="settings",
        action="append",
        default=[],
    ),
    "own-corpus": option_adder("corpus", "CORPUS", "a corpus of your own"),
    "direction": option_adder("direction", "DIRECTION", "source and target language, as en-uk"),
    "start-from": add_start_from_option,
    "compare-with": option_adder(
        "--compare-with", "MODEL", "another model of this corpus and direction, to compare with"
    ),
    "processes": option_adder(
        "--processes",
        "N",
        "number of processes that share each step (default: 1)",
        type=int,
        default=1,
    ),
    "worker-processes": option_adder(
        "--processes",
        "N",
        "number of processes that work at the same time, one a core (default: 1)",
        type=int,
        default=1,
    ),
    "check": option_adder(
        "check", "CHECK", ", ".join(PAGE_AND_LESSON_CHECKS), choices=PAGE_AND_LESSON_CHECKS
    ),
    "arguments": option_adder(
        "arguments", "...", "arguments of its script", nargs=argparse.REMAINDER
    ),
    "folder": option_adder("folder", "RUN", "folder of a finished run", type=Path),
    "shipped": option_adder("name", "NAME", "name of the shipped model, for example de-en"),
}
_PARSED_COMMANDS_TOML = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")
)
COMMANDS = {name: Command(**row) for name, row in _PARSED_COMMANDS_TOML.items()}


def run_check_script(root: Path, check: str, arguments: list[str]) -> int:
    """Install what a check needs, run its script, and return its exit status."""
    script, extra, package = PAGE_AND_LESSON_CHECKS[check]
    if extra:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = ["-c", "constraints.txt", "-e", f".[{extra}]"]
        subprocess.run([*pip, *wanted], cwd=root, check=True)
    if package:
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".venv/node"]
        subprocess.run([*npm, package], cwd=root, check=True)
    return subprocess.run([sys.executable, script, *arguments], cwd=root).returncode
