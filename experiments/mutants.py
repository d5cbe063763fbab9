"""Mutation score of the paper's six files: `python -m experiments mutants`.

Not in the paper. How much can be changed before a test says so? Each mutant is the tree with one
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
from typing import Any, NamedTuple

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
    "layers": ("layers", "model", "values"),
    "masks": ("masks", "model", "values"),
    "model": ("model", "values"),
    "decoding": ("decoding", "values"),
}
SECONDS = 300  # after which an endless mutant counts as caught
OTHERS: dict[type[Any], type[Any]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


class Mutant(NamedTuple):
    """One edit: in this file, on this line, from old to new; and what the file then says."""

    file: Path
    line: int
    old: str
    new: str
    text: str


def mutants(file: Path) -> Iterator[Mutant]:
    """Give every mutant of a file; docstrings, types and messages stay as they are."""
    text = file.read_text(encoding="utf-8")
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _code(ast.parse(text)):
        for new in _edits(node):
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[node.end_lineno - 1] + node.end_col_offset
            source = text.encode()
            old, put = (
                source[first:last].decode(),
                f"({new})" if isinstance(node, ast.expr) else new,
            )
            edited = (source[:first] + put.encode() + source[last:]).decode()
            yield Mutant(file, node.lineno, " ".join(old.split()), new, edited)


def _code(node: ast.AST) -> Iterator[Any]:
    """Walk what runs: no types, no messages of errors, no words."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, ast.AST):
                yield from _code(inner)


def _edits(node: Any) -> Iterator[str]:
    """Give what may stand in a node's place, as code."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in OTHERS:
            yield ast.unparse(ast.Compare(left, [OTHERS[type(op)]()], [right]))
        case ast.BoolOp(op, values):
            yield ast.unparse(ast.BoolOp(OTHERS[type(op)](), values))
        case ast.BinOp(left, op, right) if type(op) in OTHERS:
            yield ast.unparse(ast.BinOp(left, OTHERS[type(op)](), right))
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield ast.unparse(operand)
        case ast.Constant(bool() as value):
            yield repr(not value)
        case ast.Constant(int() | float() as value):
            yield repr(value + 1)
        case ast.IfExp(_, body, orelse):
            yield from (ast.unparse(body), ast.unparse(orelse))
        case ast.If(_, body, orelse):
            for always in (True, False):
                branch = ast.unparse(ast.If(ast.Constant(always), body, orelse))
                yield branch.replace("\n", "\n" + " " * node.col_offset)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Expr(ast.Call(ast.Attribute(called))) if "super" not in ast.unparse(called):
            yield "pass"
        case ast.AugAssign() | ast.Continue() | ast.Break():
            yield "pass"


def _other_calls(node: ast.Call) -> Iterator[str]:
    """Leave a call out, so that what went in comes out, or leave out one of its keywords."""
    called, args = node.func, node.args
    name = ast.unparse(called)
    if name.startswith(("super", "torch")) or name.split(".")[-1][0].isupper():
        return  # it would only crash
    if args and isinstance(args[0], ast.Name | ast.Call | ast.IfExp):
        yield ast.unparse(args[0])
    elif isinstance(called, ast.Attribute) and not name.startswith("self."):
        yield ast.unparse(called.value)
    for left_out in (each for each in node.keywords if each.arg != "device"):
        kept = [each for each in node.keywords if each is not left_out]
        yield ast.unparse(ast.Call(called, args, kept))


def survives(mutant: Mutant, tree: Path) -> bool:
    """Run the tests near a mutant's file in a copy of the tree that has its edit."""
    place = tree / mutant.file.relative_to(ROOT)
    place.write_text(mutant.text, encoding="utf-8")
    tests = [f"tests/test_{name}.py" for name in NEAR[mutant.file.stem]]
    command = [sys.executable, "-m", "pytest", "-qx", "-m", "not slow", "-p", "no:cacheprovider"]
    where = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=tree, env=where, capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy2(mutant.file, place)
    return done.returncode == 0


def try_mutants(each: int, seed: int) -> None:
    """Try a sample of the mutants, so many of each file, and print what became of each."""
    sample: list[Mutant] = []
    for name in NEAR:
        every = list(mutants(ROOT / "transformer" / f"{name}.py"))
        chosen = random.Random(seed).sample(every, min(each, len(every)))
        sample += sorted(chosen, key=lambda mutant: mutant.line)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            copy(ROOT / name, tree / name)
        for mutant in sample:
            survived = survives(mutant, tree)
            survivors += survived
            edit = f"{mutant.old} -> {' '.join(mutant.new.split())}"
            print("survived" if survived else "caught  ", end=" ")
            print(f"{mutant.file.relative_to(ROOT)}:{mutant.line}  {edit[:150]}", flush=True)
    print(f"{len(sample) - survivors} of {len(sample)} caught")
