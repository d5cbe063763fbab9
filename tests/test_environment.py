"""Versions stand in one place: constraints.txt pins all that pyproject and conda name."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.helpers import HANGS, ROOT
from transformer import __version__

PROJECT, LAWS = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for folder in (ROOT, ROOT / "attention_laws")
)
OURS = {PROJECT["name"], LAWS["name"]}


def pins() -> dict[str, Version]:
    """Name to exact version, as constraints.txt has them."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("==") for line in lines if not line.startswith("#")]
    found = {canonicalize_name(name): Version(version) for name, version in rows}
    assert len(found) == len(rows), "pinned twice"
    return found


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    lines = [line for group in (PROJECT["dependencies"], *extras) for line in group]
    named = [Requirement(line) for line in lines]
    return [requirement for requirement in named if requirement.name not in OURS]


def test_every_requirement_is_pinned_within_its_bounds() -> None:
    for requirement in requirements():
        name = canonicalize_name(requirement.name)
        assert name in pins(), f"{name} is not in constraints.txt"
        assert requirement.specifier.contains(pins()[name]), name
    assert not {name: pin for name, pin in pins().items() if pin.local}  # +cpu: on no public index
    # From 4.25 on jsonschema compiles a grammar of web addresses, most of an import of altair.
    assert pins()["jsonschema"] < Version("4.25")
    (torch,) = (r for r in requirements() if r.name == "torch")
    assert {spec.operator for spec in torch.specifier} == {">="}  # Colab's own stays


def test_the_laws_come_from_this_repository_and_no_index_can_offer_them() -> None:
    (laws,) = (line for line in PROJECT["dependencies"] if line.startswith(LAWS["name"]))
    assert laws == f"{LAWS['name']}=={LAWS['version']}"
    assert Version(LAWS["version"]).local


def test_conda_environment_installs_the_package_under_the_same_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert set(environment) == {"name", "channels", "dependencies"}
    conda = [line for line in environment["dependencies"] if isinstance(line, str)]
    (pip,) = (line["pip"] for line in environment["dependencies"] if isinstance(line, dict))
    assert "pip" in conda
    cpu = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert pip == [cpu, "-c constraints.txt", "-e ./attention_laws", "-e .[course]"]
    for line in conda:
        name, _, version = line.partition("=")
        if name == "python":
            assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(version)
        elif version:
            assert Version(version) == pins()[canonicalize_name(name)]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What `make` reads, without an environment."""
    if shutil.which("make") is None:
        pytest.skip("needs make")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command, cwd=checkout, env=environment, timeout=HANGS, **piped)


def test_make_refuses_an_old_python_or_none_in_one_line(checkout: Path) -> None:
    old = checkout / "old"  # answers as Python 3.9 does
    answers = 'case "$2" in *platform*) echo Python 3.9.2;; *) echo False;; esac'
    old.write_text(f"#!/bin/sh\n{answers}\n", encoding="utf-8")
    old.chmod(0o755)
    for command, told in ((old, "is Python 3.9.2"), (checkout / "none", "is not found")):
        result = make(checkout, "lab", f"PYTHON={command}")
        assert result.returncode == 2
        (line,) = result.stderr.splitlines()
        assert "needs Python 3.11 or later" in line
        assert told in line
        assert not (checkout / ".venv").exists()


def test_make_leaves_what_stands_in_the_environments_place(checkout: Path) -> None:
    other, place = checkout / "other", checkout / ".venv"
    other.mkdir()
    place.symlink_to(other)
    for kind in ("link", "file"):
        result = make(checkout, "lab", f"PYTHON={sys.executable}")
        assert result.returncode == 2
        (line,) = result.stderr.splitlines()
        assert f".venv is a {kind}, and" in line
        if kind == "link":
            assert not list(other.iterdir())
            place.unlink()
            place.write_text("mine", encoding="utf-8")
    assert place.read_text(encoding="utf-8") == "mine"


def test_make_sets_up_once_and_again_when_a_pin_changes(checkout: Path) -> None:
    """What make would run, by the state of its stamp."""
    stamp = checkout / ".venv" / ".installed"
    assert "pip install" in make(checkout, "-n", "lab").stdout
    stamp.parent.mkdir()
    assert "pip install" in make(checkout, "-n", "lab").stdout
    stamp.touch()
    done = make(checkout, "-n", "lab", "ARGS=--port=8889").stdout
    assert "pip install" not in done
    assert "--port=8889" in done
    os.utime(stamp, (0, 0))  # older than the pins
    assert "pip install" in make(checkout, "-n", "lab").stdout


def test_waiting_threads_sleep_unless_the_user_says_otherwise(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "")  # so that it is put back afterwards
    monkeypatch.delenv("OMP_WAIT_POLICY")
    for waiting in ("PASSIVE", "ACTIVE"):
        shown = make(checkout, "show", "--eval=show: ; @echo $$OMP_WAIT_POLICY").stdout
        assert shown == f"{waiting}\n"
        runpy.run_path(str(ROOT / "notebooks" / "conftest.py"))  # pytest without make
        assert os.environ["OMP_WAIT_POLICY"] == waiting
        monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")


def test_quick_is_what_test_does_without_lessons_and_slow_tests(checkout: Path) -> None:
    """And hooks before a commit begin with it, in the versions of constraints.txt."""
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".installed").touch()  # so that nothing is set up
    quick, whole = (make(checkout, "-n", what).stdout.splitlines() for what in ("quick", "test"))
    assert [line for line in quick if line not in whole] == [
        '.venv/bin/python -m pytest -n 2 --dist loadfile -m "not slow"',
        quick[-1],  # what it says in the end
    ]
    assert all(word in "".join(quick) for word in ("mypy", "ruff"))
    assert "nbval" not in "".join(quick)
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repository,) = hooks["repos"]
    assert repository["repo"] == "local"
    entries = [hook["entry"] for hook in repository["hooks"]]
    assert entries == quick[: len(entries)]
    kinds = {(hook["language"], hook["pass_filenames"]) for hook in repository["hooks"]}
    assert kinds == {("system", False)}


def test_ci_runs_what_a_reader_runs_on_the_oldest_python() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "make test"
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    jobs = {name: job["steps"] for name, job in workflow["jobs"].items()}
    runs = {name: [step["run"] for step in jobs[name] if "run" in step] for name in jobs}
    assert (runs["checks"], runs["lessons"]) == ([".ci/run"], ["make lessons"])
    assert runs["elsewhere"][-1].endswith('-m "not slow and not weekly"')
    assert runs["weekly"][-1].endswith("-m weekly")
    for workflow in sorted((ROOT / ".github/workflows").glob("*.yml")):
        used = re.findall(r"uses: (\S+)", workflow.read_text(encoding="utf-8"))
        assert used
        assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", each) for each in used), used
        content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
        assert content["permissions"] == {"contents": "read"}
        for job in content["jobs"].values():  # who may write installs nothing
            if "permissions" in job:
                done = [step.get("run", step.get("uses", "")) for step in job["steps"]]
                harmless = r"gh release|git init|if ! said=\$\(gh api|actions/(download|deploy)-"
                assert all(re.match(harmless, step) for step in done)
    settings = [step.get("with", {}) for step in jobs["checks"]]
    (python,) = (each["python-version"] for each in settings if "python-version" in each)
    assert f">={python}" == PROJECT["requires-python"]


def test_the_citation_names_the_course_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__
    assert citation["references"][0]["title"] == "Attention Is All You Need"
