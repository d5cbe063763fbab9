"""The cell that fetches the course: it clones on Colab, and says what is wrong or in its way.

`python -m experiments check colab` runs it in Colab's own Python; here it is this one, where
nothing is missing.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from stamping import lessons, setup_cell
from stamping.address import COLAB_BRANCH

from tests.helpers import HANGS, ROOT, python

CELL = Path(setup_cell.__file__).read_text(encoding="utf-8")
ON_COLAB = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')\n"
WHERE = "\nimport transformer; print(transformer.__file__)"


def run(folder: Path, code: str, refused: str = "") -> list[str]:
    """Run code in a folder, where GitHub is another folder beside it; return what it prints.

    What it ends with is `refused`, the last line; "" where it ends well.
    """
    remotes = (folder.parent / "remotes").as_uri()
    git = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{remotes}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
        "GIT_TERMINAL_PROMPT": "0",
    }
    done = python("-c", code, cwd=folder, env={**os.environ, **git}, status=int(bool(refused)))
    last_line = done.stderr.splitlines()[-1:]
    assert last_line == ([refused] if refused else [])
    return done.stdout.splitlines()


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    folder = tmp_path / "content"
    folder.mkdir()
    return folder


@pytest.fixture
def remote(tmp_path: Path) -> str:
    """This repository, as it is committed, at an address of its own."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone of the repository")
    place = tmp_path / "remotes" / "me" / "it"
    subprocess.run(["git", "clone", "-q", "--bare", ROOT, place], check=True, timeout=HANGS)
    return CELL.replace('REPO = ""', 'REPO = "me/it"')


def test_elsewhere_it_is_silent_and_on_colab_it_says_what_is_wrong(runtime: Path) -> None:
    fetch = "Could not fetch main of https://github.com/no/body: check both."
    unset = "Set REPO above to the course's owner/name, and rerun."
    for code, said in (
        (CELL, ""),
        (ON_COLAB + CELL, unset),
        (ON_COLAB + CELL.replace('REPO = ""', 'REPO = "no/body"'), fetch),
    ):
        assert run(runtime, code, said) == []
        assert not (runtime / "attention-course").exists()


@pytest.mark.parametrize("name", ["transformer.py", "transformer/__init__.py"])
def test_a_learners_file_of_the_packages_name_is_named_and_not_imported(
    name: str, runtime: Path
) -> None:
    file = runtime / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("print('taken')\n", encoding="utf-8")
    notice, used = run(runtime, CELL + WHERE)
    assert notice.startswith(f"{file} has the name of the course's package")
    assert Path(used) == ROOT / "transformer" / "__init__.py"
    assert run(runtime, "from lessonkit import charts" + WHERE) == [notice, used]
    problem = "was imported in place of the course's package transformer, whose name it has"
    refused = f"ImportError: {file} {problem}: rename it, and restart the kernel"
    assert run(runtime, "import transformer\n" + CELL, refused) == ["taken"]


@pytest.mark.slow
def test_it_fetches_the_course_once_though_it_runs_twice(runtime: Path, remote: str) -> None:
    (runtime / "new-course").mkdir()  # of a clone cut short
    (runtime / "new-course" / "half").touch()
    mark = (
        "\nfrom pathlib import Path; Path('attention-course/mark').touch()\n"
        # The second time pip is not asked again, which takes seconds.
        "from lessonkit import colab; colab.install_packages = lambda packages: None\n"
    )
    (used,) = run(runtime, ON_COLAB + remote + mark + remote + WHERE)
    clone = runtime / "attention-course"
    assert Path(used) == clone / "transformer" / "__init__.py"
    assert (clone / "mark").exists()
    assert not (clone / "half").exists()
    assert not (runtime / "new-course").exists()


@pytest.mark.weekly
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_workflow_pushes_lessons_that_find_the_course(
    runtime: Path, remote: str, tmp_path: Path
) -> None:
    bare, clone, job = tmp_path / "remotes" / "me" / "it", tmp_path / "clone", tmp_path / "job"
    subprocess.run(["git", "clone", "-q", bare, clone], check=True, timeout=HANGS)
    git = ["git", "-C", str(bare)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    stamp = "docs/colab/stamp.py"
    python(stamp, "--repo", "me/it", "--revision", head.strip(), cwd=clone)
    shutil.copytree(clone / "notebooks", job / "notebooks")
    workflow = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))
    (push,) = (step for step in workflow["jobs"]["lessons"]["steps"] if "run" in step)
    github = {"GITHUB_REPOSITORY": "me/it", "GITHUB_SHA": head.strip(), "GH_TOKEN": "t"}
    away = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{(tmp_path / 'remotes').as_uri()}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://x-access-token:t@github.com/",
    }
    subprocess.run(
        ["bash", "-e", "-c", push["run"]],
        cwd=job,
        env={**os.environ, **github, **away},
        check=True,
        timeout=HANGS,
    )
    path = f"{COLAB_BRANCH}:notebooks/04_the_layers.ipynb"
    lesson = subprocess.run([*git, "show", path], capture_output=True, check=True).stdout
    cell = next(cell for cell in json.loads(lesson)["cells"] if cell["id"] == lessons.SETUP)
    (used,) = run(runtime, ON_COLAB + lessons.source(cell) + WHERE)
    assert Path(used) == runtime / "attention-course" / "transformer" / "__init__.py"


GH = """#!/bin/sh
echo "$SAID"
exit $STATUS
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("said", "status", "published", "right"),
    [
        ("workflow", 0, True, True),
        ("legacy", 0, False, True),  # a branch is published, in which the site is not
        ('{"message":"Not Found","status":"404"}gh: Not Found (HTTP 404)', 1, False, True),
        ("gh: Bad credentials (HTTP 401)", 1, False, False),
    ],
)
def test_a_fork_without_pages_says_so_and_does_not_fail(
    tmp_path: Path, said: str, status: int, published: bool, right: bool
) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text(encoding="utf-8"))
    (ask,) = (step for step in workflow["jobs"]["publish"]["steps"] if "run" in step)
    (tmp_path / "gh").write_text(GH)
    (tmp_path / "gh").chmod(0o755)
    out = tmp_path / "output"
    out.touch()
    github = {"GITHUB_REPOSITORY": "me/it", "GITHUB_OUTPUT": str(out)}
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    answer = {"SAID": said, "STATUS": str(status)}
    done = subprocess.run(
        ["bash", "-e", "-c", ask["run"]],
        env={**os.environ, **github, **path, **answer},
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert (done.returncode == 0) == right, done.stderr
    assert ("enabled=true" in out.read_text()) == published
    assert done.stdout.startswith("::notice::") == (right and not published)


@pytest.mark.weekly
def test_it_fetches_the_commit_that_it_names(runtime: Path, remote: str) -> None:
    bare = next((runtime.parent / "remotes").glob("*/*"))
    git = ["git", "-C", str(bare), "rev-parse", "HEAD~1"]
    earlier = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    run(runtime, ON_COLAB + remote.replace('"main"', f'"{earlier}"'))
    head = (runtime / "attention-course" / ".git" / "HEAD").read_text().strip()
    assert head == earlier
