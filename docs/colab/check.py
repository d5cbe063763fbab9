"""Run every lesson as on Colab: `python -m experiments check colab --python=/path/to/python3.13`.

    python docs/colab/check.py [--python PYTHON] [LESSON ...]

Colab itself cannot be had in a test. In its place stands a Python with Colab's frozen packages
(requirements.txt), a stub of `google.colab`, and a repository on this disk in GitHub's place, made
of what is committed. Each lesson is put alone into an empty folder, stamped with that repository's
address, and run to its end; its outputs must equal the stored ones by nbval's rules. A training
then is stopped, killed, and goes on, and `pip install ./attention_laws '.[colab]'` is tried. The
exit status says whether anything was wrong. A GPU, Google's Drive and Colab's page are not part of
this.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

from stand_in import compare, disconnect, wheel  # noqa: E402
from stand_in.environment import Environment  # noqa: E402
from stand_in.runtime import Runtimes  # noqa: E402


def check(python: str, chosen: list[str]) -> Iterator[bool]:
    """Check all, or the lessons chosen; gives for each part whether it was right."""
    environment = Environment(ROOT / "build" / "colab" / "venv")
    print(f"{environment.folder}: Colab's packages", flush=True)
    environment.make(python)
    environment.put_back()
    runtimes = Runtimes(ROOT, ROOT / "build" / "colab" / "stand-in", environment)
    runtimes.prepare()
    names = chosen or runtimes.names
    verdicts = []
    for name in names:
        verdicts.append(compare.run(runtimes, name))
        yield report(name, verdicts[-1])
    errors, differences = (sum(v[i] for v in verdicts) for i in (1, 2))
    print(f"{len(names)} lessons, {errors} errors, {differences} differences", flush=True)
    yield tell("disconnect", lambda: disconnect.run(runtimes))
    clone, empty = runtimes.folder / "runtimes" / "second" / "attention-course", runtimes.new("pip")
    yield tell("install", lambda: wheel.check(environment, clone, empty))


def report(name: str, verdict: compare.Verdict) -> bool:
    """Print how a lesson went."""
    print(
        f"{name}: {verdict.cells} cells, {verdict.errors} errors, "
        f"{verdict.differences} differences, {verdict.seconds:.0f} s"
    )
    print(verdict.said, end="", flush=True)
    return not verdict.said


def tell(part: str, action: Callable[[], list[str]]) -> bool:
    """Print what a part says of itself, or why it failed."""
    try:
        said = action()
    except ValueError as error:
        print(f"{part}: wrong: {error}", flush=True)
        return False
    print(*(f"{part}: {line}" for line in said), sep="\n", flush=True)
    return True


def main() -> int:
    """Check; 1 where something is wrong, 2 where it could not be done."""
    parser = argparse.ArgumentParser(description="Run every lesson as on Colab.")
    parser.add_argument("--python", default="python3", help="Colab's Python; default: python3")
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="a file's name; default: all")
    given = parser.parse_args()
    try:
        right = list(check(given.python, given.lessons))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
