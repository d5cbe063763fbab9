"""The lint finds what it is for, and nbval notices an output that has changed."""

import copy
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbclient
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from lessonkit.charts import renderer
from tests.helpers import ROOT, python
from tests.notebook_lint import lint

DATA = {"image/png": "aGVsbG8=", "text/plain": "Picture: a line."}
ALT = {"image/png": {"alt": "Picture: a line."}}
KERNEL = {"name": "python3", "display_name": "Python"}
PICTURE = {"output_type": "display_data", "metadata": ALT, "data": DATA}


def code(text: str, count: int, *outputs: dict) -> dict:
    return new_code_cell(text, execution_count=count, outputs=list(outputs))


def printed(text: str, name: str = "stdout") -> dict:
    return new_output("stream", name=name, text=text)


def good_notebook() -> dict:
    header = (
        "# A lesson\n\nPaper §1 · modules: `transformer.data` (`batches`, `tokenizers`), "
        "`transformer.masks` · tests: `tests/test_masks.py` · 3 minutes CPU, 1 GPU"
    )
    passage = "> **Paper §3.2.1.** Ours ([§3.2.1](https://arxiv.org/abs/1706.03762))."
    cells = [
        new_markdown_cell(header),
        code("print(2 + 3)", 1, printed("5\n")),
        new_markdown_cell(passage),
        code("draw()", 2, copy.deepcopy(PICTURE)),
        new_markdown_cell("*What to look for.* A line that rises."),
        new_markdown_cell("## Recap\n\n## Exercises"),
    ]
    return new_notebook(metadata={"kernelspec": KERNEL}, cells=cells)


def change(cell: int, **values: object) -> Callable[[dict], None]:
    return lambda notebook: notebook["cells"][cell].update(values)


def add_output(text: str, name: str = "stdout") -> Callable[[dict], None]:
    return lambda notebook: notebook["cells"][1]["outputs"].append(printed(text, name))


UNCOMPARED = {"tags": ["nbval-ignore-output"]}
FOLDED = {"jupyter": {"outputs_hidden": True}}
BAD: dict[str, tuple[Callable[[dict], None], str]] = {
    "stripped": (change(1, execution_count=None, outputs=[]), "cell 1: execution count None"),
    "stderr": (add_output("Warning", "stderr"), "cell 1: wrote to stderr"),
    "path": (add_output("saved in /home/me/runs"), "cell 1: names a path of a machine, '/home/m'"),
    "large": (add_output("x" * 600_000), "bytes, over 600,000"),
    "long cell": (change(3, source="a = 1\n" * 21), "cell 3: 21 lines of code, over 20"),
    "imports": (
        change(1, source="from os import (\n    path,\n    sep,\n)\n" + "import re\n" * 3),
        "cell 1: 7 lines of imports, over 6",
    ),
    "header": (change(0, source="# A\n\nPaper, module, test, minutes, CPU"), "header without GPU"),
    "recap": (change(5, source="## Exercises"), "no heading 'Recap'"),
    "unexplained": (change(4, source="Next."), "cell 3: a picture without explanation"),
    "incomparable": (change(1, metadata=UNCOMPARED), "cell 1: no text to compare"),
    "folded figure": (change(1, metadata=FOLDED), "cell 1: a folded output shows '5'"),
    "folded word": (
        change(1, metadata=FOLDED, source="print(lost)", outputs=[printed("encoder\n")]),
        "cell 1: a folded output shows 'encoder'",
    ),
    "link": (
        change(2, source="> **Paper §3.** Ours."),
        "cell 2: callout 'Paper §3' has no link",
    ),
    "stray": (
        change(2, source="> **Predict.** BLEU falls to\n> 1. The judge gives 93."),
        "cell 2: prose goes on with '1. The judge gives 9'",
    ),
    "member": (
        change(5, source="`transformer.data` (`no`, `batches`)"),
        "cell 5: names 'transformer.data.no'",
    ),
}


def test_lint_finds_what_breaks_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "bad.ipynb"
    for spoil, expected in BAD.values():
        notebook = good_notebook()
        spoil(notebook)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        assert any(expected in line for line in lint(path)), lint(path)


def test_lint_passes_a_good_notebook(tmp_path: Path) -> None:
    for long_cell in ("a = 1\n" * 20, "import os\nclass A:\n" + "    a = 1\n" * 28):
        notebook = good_notebook()
        notebook["cells"] += [code("a = 1", 3), code("b = 1", 4), code(long_cell, 5)]
        path = tmp_path / "good.ipynb"
        path.write_text(json.dumps(notebook), encoding="utf-8")
        assert lint(path) == []
    folded = good_notebook()
    heading = {"source": 'print("A sum:")\nprint(2 + 3)', "outputs": [printed("A sum:\n5\n")]}
    folded["cells"][1].update(heading, metadata=FOLDED)
    path.write_text(json.dumps(folded), encoding="utf-8")
    assert lint(path) == []
    appendix = good_notebook()
    appendix["cells"][0]["source"] = "# A1" + appendix["cells"][0]["source"][1:]
    path.write_text(json.dumps(appendix | {"cells": appendix["cells"][:-1]}), encoding="utf-8")
    assert lint(path) == [], "an appendix has neither recap nor exercises"


@pytest.mark.slow
def test_nbval_notices_a_changed_chart(tmp_path: Path) -> None:
    """A value of an interactive chart, and the title of a figure."""
    sources = [
        "from lessonkit.charts import renderer\nrenderer.enable()",
        "from lessonkit.charts import schedule_explorer\nschedule_explorer()",
        "from matplotlib import pyplot as plt\n_ = plt.figure().add_subplot(title='A')",
    ]
    sources += sources[1:]  # whose outputs stay as they are
    notebook = nbclient.execute(new_notebook(cells=list(map(new_code_cell, sources))))
    chart, figure = (cell.outputs[-1].data for cell in notebook.cells[1:3])
    chart[renderer.VEGALITE_MIME_TYPE]["params"][0].update(value=65)
    figure.update({"text/plain": figure["text/plain"].replace("A", "B")})
    nbformat.write(notebook, tmp_path / "lesson.ipynb")
    verdicts = nbval_verdicts(tmp_path, status=1)
    assert verdicts == ["PASSED", "FAILED", "FAILED", "PASSED", "PASSED"]


@pytest.mark.weekly
def test_outputs_that_come_late_are_waited_for(tmp_path: Path) -> None:
    """On a busy machine a kernel's last message comes seconds after its reply."""
    late = "import time\nget_ipython().kernel.post_handler_hook = lambda: time.sleep(6)"
    notebook = new_notebook(cells=[code(late, 1), code("print(2 + 3)", 2, printed("5\n"))])
    nbformat.write(notebook, tmp_path / "lesson.ipynb")
    shutil.copy(ROOT / "notebooks" / "conftest.py", tmp_path)
    assert nbval_verdicts(tmp_path, status=0) == ["PASSED", "PASSED"]


def nbval_verdicts(folder: Path, status: int) -> list[str]:
    """Run nbval on a folder's lesson.ipynb, and return the verdict on each code cell."""
    command = ["-m", "pytest", "--nbval", "--nbval-current-env", "-rA", "--tb=no", "-q"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    where = ("-c", os.devnull, "--rootdir", folder, folder)
    said = python(*command, *where, env=env, status=status).stdout
    found = re.findall(r"^(PASSED|FAILED) .*?lesson\.ipynb::Cell (\d+)", said, re.M)
    verdicts = {int(cell): verdict for verdict, cell in found}
    return [verdicts[cell] for cell in sorted(verdicts)]
