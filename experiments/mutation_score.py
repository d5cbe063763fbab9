"""Mutation score of the paper's files: `python -m experiments mutants`.

Not in the paper. How much can be changed before a test fails? Each mutant is the tree with one
small edit: another operator, a constant off by one, a branch always taken, a call left out. The
tests near the edited file run on it in a process of their own; a mutant that they pass survived.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.mutation import (
    Mutant,
    either_branch,
    mutants,
    other_constants,
    other_operators,
    without_a_keyword,
)

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "transformer",
    "attention_course",
    "engines",
    "tests",
    "pyproject.toml",
    "lessonkit",
    "attention_laws",
    "experiments",
    "data",
)
NEAR = {  # a file of the paper, and the tests that should notice
    "attention": ("attention", "layers", "model", "values"),
    "embeddings": ("embeddings", "model", "values"),
    "positions": ("positions", "embeddings", "model", "values"),
    "feed_forward": ("layers", "model", "values"),
    "layers": ("layers", "model", "values"),
    "masks": ("masks", "model", "values"),
    "model": ("model", "values"),
    "decoding": ("decoding", "fast_search", "values"),
}
SECONDS = 300  # after which an endless mutant counts as caught
KINDS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    **{ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,)},
    **{ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)},
    **{ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,)},
    **{ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,)},
    **{ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,), ast.Pow: (ast.Mult,)},
    **{ast.MatMult: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,)},
}


def nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: no types, no errors' messages, no docstrings."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from nodes_that_run(inner)


def other_numbers(value: Any) -> Iterator[Any]:
    """Yield the other truth, or a number one higher."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1


def without_negation(node: Any) -> Iterator[ast.AST]:
    """Leave out a `not`, `-` or `~`."""
    match node:
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand


def without_statement(node: Any) -> Iterator[ast.AST]:
    """Leave out a statement that is a call of a method, a sum into a name, or a jump."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(called))) if "super" not in ast.unparse(called):
            yield ast.Pass()
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()


def may_be_left_out(node: Any) -> bool:
    """Return whether a program without this call might still run."""
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    is_class = name.split(".")[-1][0].isupper()
    return not name.startswith(("super", "torch")) and not is_class


def without_call(node: Any) -> Iterator[ast.AST]:
    """Leave a call out, so that its first argument, or what its method is of, comes out."""
    if may_be_left_out(node):
        if node.args and isinstance(node.args[0], ast.Name | ast.Call | ast.IfExp):
            yield node.args[0]
        elif isinstance(node.func, ast.Attribute) and not _is_of_self(node.func):
            yield node.func.value


def _is_of_self(node: ast.AST) -> bool:
    return ast.unparse(node).startswith("self.")


def without_argument(node: Any) -> Iterator[ast.AST]:
    """Leave out each keyword argument of a call; tests on a CPU cannot miss its device."""
    if may_be_left_out(node):
        yield from without_a_keyword(node, but="device")


OPERATORS = {
    "operator": other_operators(KINDS),
    "constant": other_constants(other_numbers),
    "negation": without_negation,
    "branch": either_branch,
    "statement": without_statement,
    "call": without_call,
    "argument": without_argument,
}


def survives(mutant: Mutant, file: Path, tree: Path) -> bool:
    """Run the tests near a mutant's file in a copy of the tree that has its edit."""
    edited = tree / file.relative_to(ROOT)
    edited.write_text(mutant.text, encoding="utf-8")
    tests = [f"tests/test_{name}.py" for name in NEAR[file.stem]]
    command = [sys.executable, "-m", "pytest", "-qx", "-m", "not slow", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=tree, env=environment, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy2(file, edited)
    return done.returncode == 0


def draw_sample(per_file: int, seed: int) -> list[tuple[Path, Mutant]]:
    """Draw so many mutants of each file, in the order of their lines."""
    sample = []
    for name in NEAR:
        file = ROOT / "transformer" / f"{name}.py"
        possible = list(mutants(file.read_text(encoding="utf-8"), OPERATORS, nodes_that_run))
        drawn = random.Random(seed).sample(possible, min(per_file, len(possible)))
        sample += [(file, mutant) for mutant in sorted(drawn, key=lambda mutant: mutant.line)]
    return sample


def try_mutants(each: int, seed: int) -> None:
    """Try a sample of the mutants, so many of each file, and print what became of each."""
    sample = draw_sample(per_file=each, seed=seed)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, tree / name)
        for file, mutant in sample:
            survived = survives(mutant, file, tree)
            survivors += survived
            edit = " ".join(f"{mutant.old} -> {mutant.new}".split())
            print("survived" if survived else "caught  ", end=" ")
            print(f"{file.relative_to(ROOT)}:{mutant.line}  {edit[:150]}", flush=True)
    print(f"{len(sample) - survivors} of {len(sample)} caught")
