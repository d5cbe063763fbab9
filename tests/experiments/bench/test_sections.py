"""Sections are recorded one by one, and their tables stand in the pages."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import export_speed
from experiments.__main__ import main
from experiments.bench import growth, sections, tables
from tests.helpers import ROOT
from transformer.support.errors import UserError

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


def contender(tokens: int, times: float, parameters: int = 1234) -> dict[str, Any]:
    return {
        "tokens_per_second": tokens,
        "ours_is_times": times,
        "lowest_and_highest": [times - 0.1, times + 0.1],
        "share_of_ceiling": 0.456,
        "parameters": parameters,
        "seconds": [0.5, 0.4, 0.9],
    }


TRAINING = {
    "recipes": {
        "demo": {
            "pipeline_seconds_a_batch": 0.01,
            "precisions": {
                "float32": {
                    "contenders": {
                        "ours": contender(12_345, 1.0),
                        "torch.nn.Transformer": contender(9876, 1.25),
                    },
                    "profile": {"products": 0.6, "rest": 0.4},
                }
            },
        }
    }
}


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A checkout with places for the tables, and no record."""
    for file, names in (("README.md", ["bench"]), (tables.PAGE, ["training", "growth", "startup"])):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        places = "\n".join(f"before\n<!-- {name} -->\nold\n<!-- /{name} -->" for name in names)
        (tmp_path / file).write_text(places, encoding="utf-8")
    (tmp_path / "data" / "results" / "bench").mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr("transformer.support.files.PACKAGE", tmp_path / "transformer")
    return tmp_path


def test_tables_by_hand(checkout: Path) -> None:
    (checkout / "data/results/bench/training.json").write_text(json.dumps(TRAINING))
    assert tables.readme_table().splitlines()[2] == (
        "| `demo` | float32 | 12,345 | 1.25 (1.15 to 1.35) | not installed | 46% |"
    )
    whole = tables.page_tables()["training"].splitlines()
    assert (
        "| demo | float32 | torch.nn.Transformer | 1,234 | 9,876 | 1.25 (1.15 to 1.35) | 46% |"
        in (whole)
    )
    assert whole[-3:] == [
        "| products | 60% |",
        "| rest | 40% |",
        "| making the batch, beside the step | 2.0% |",
    ]
    assert tables.page_tables()["growth"] == "Not measured yet."


def test_tables_are_put_in_their_places(checkout: Path) -> None:
    tables.write_tables(checkout)
    readme = (checkout / "README.md").read_text(encoding="utf-8")
    assert readme == "before\n<!-- bench -->\nNot measured yet.\n<!-- /bench -->"
    page = (checkout / tables.PAGE).read_text(encoding="utf-8")
    assert page.count("Not measured yet.") == page.count("before") == 3
    assert "old" not in page


def test_the_pages_give_the_recorded_figures() -> None:
    shown = {
        **_shown(ROOT / tables.PAGE, list(tables.page_tables())),
        **_shown(ROOT / "README.md", ["bench"]),
    }
    again = "python -m experiments bench puts them in"
    assert shown == {**tables.page_tables(), "bench": tables.readme_table()}, again


def _shown(file: Path, marks: list[str]) -> dict[str, str]:
    text = file.read_text(encoding="utf-8")
    return {
        mark: re.findall(rf"^<!-- {mark} -->\n(.*?)\n<!-- /{mark} -->$", text, re.M | re.S)[0]
        for mark in marks
    }


@pytest.mark.slow
def test_start_up_is_of_the_process_that_was_started() -> None:
    idle = sections.seconds_to_run(("-c", "import time; time.sleep(0.3)"))
    busy = sections.seconds_to_run(("-c", "import time\nwhile time.process_time() < 0.5: pass"))
    # A process that computes for half a second is told from one that sleeps. Clocks of
    # children count in hundredths of a second, so half is not asked to the last digit.
    assert idle < 0.3
    assert busy > 0.4


@pytest.mark.parametrize("name", [name for name in sections.COMMANDS if name.endswith("help")])
def test_help_does_not_import_torch(name: str) -> None:
    _, _, *arguments = sections.COMMANDS[name]
    code = (
        "import sys\nfrom experiments.__main__ import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_sections_are_recorded_one_by_one_and_ctrl_c_keeps_them(
    checkout: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    def interrupted(advance: Callable[[str], object]) -> None:
        raise KeyboardInterrupt

    ended = {"seconds": 0.5, "lowest_and_highest": [0.4, 0.6]}
    monkeypatch.setattr(sections, "start", lambda _: {"rounds": 7, "commands": {"x": ended}})
    monkeypatch.setattr(growth, "measure", interrupted)
    assert main(["bench"]) == 130
    out, err = capsys.readouterr()
    left = "growth training export"
    assert err.splitlines()[-1] == f"stopped; go on with: python -m experiments bench {left}"
    assert "| x | 0.50 | 0.40 to 0.60 |" in out
    kept = [path.name for path in (checkout / "data/results/bench").iterdir()]
    assert kept == ["startup.json"]
    assert "| x | 0.50 |" in (checkout / tables.PAGE).read_text(encoding="utf-8")


def test_a_section_that_is_not_there_is_refused(capsys: Capture) -> None:
    assert main(["bench", "grwoth"]) == 2
    assert "unknown section 'grwoth': did you mean 'growth'?" in capsys.readouterr().err


def test_decoding_without_an_engine_is_said(
    checkout: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    def missing(model: str, file: Path) -> None:
        raise UserError("onnx is not installed: install it")

    monkeypatch.setattr(export_speed, "record_speed", missing)
    assert main(["bench", "export"]) == 0
    assert capsys.readouterr().out == (
        "decoding is not measured: onnx is not installed: install it\n"
    )
