"""What turns a sound model into a mutant that the laws are tried on: operators on its code.

Not in the paper. The names of `OPERATORS` stand in the record.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from experiments.mutation import other_constants, other_operators

# A call whose name begins so is of a function, not of a tensor's method.
FUNCTIONS = ("torch.", "nn.", "math.", "self.")
SIMPLE = ast.Name | ast.Attribute | ast.Constant | ast.Subscript
COUNTERPARTS = {"sin": "cos", "cos": "sin", "tril": "triu", "log_softmax": "softmax"}


def other_sums(node: Any) -> Iterator[ast.AST]:
    """Put a difference in the place of a sum, or `==` in the place of `!=`; negate conditions."""
    match node:
        case ast.BinOp(left, ast.Add(), right):
            yield ast.BinOp(left, ast.Sub(), right)
        case ast.Compare(left, [ast.NotEq()], right):
            yield ast.Compare(left, [ast.Eq()], right)
        case ast.Compare() | ast.BoolOp():
            yield ast.UnaryOp(ast.Not(), node)
        case ast.UnaryOp(ast.Invert(), operand):
            yield operand
        case ast.UnaryOp(ast.USub(), ast.Attribute() as operand):
            yield operand


def other_scales(node: Any) -> Iterator[ast.AST]:
    """Divide in the place of multiplying, the other way round, or scale a number by 2."""
    yield from _other_product(node)
    yield from _doubled(node)


_other_product = other_operators({ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,)})
_doubled = other_constants(lambda value: [value * 2] if isinstance(value, float) else [])
_one_more = other_constants(lambda value: [value + 1] if type(value) is int else [])


def without_part(node: Any) -> Iterator[ast.AST]:
    """Leave out a term, a factor, a call, a slice or a statement."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Mult(), right):
            yield from (left, right)
        case ast.BinOp(left, ast.Sub() | ast.Div(), _):
            yield left
        case ast.BinOp(_, ast.MatMult(), right):
            yield right
        case ast.Subscript(value, ast.Slice()):
            yield value
        case ast.Expr(ast.Call()) if "super" not in ast.unparse(node):
            yield ast.Pass()
        case ast.Call(func, args, keywords) if not _builds_module(node):
            name = ast.unparse(func)
            is_function = name.startswith(FUNCTIONS) or "." not in name
            if isinstance(func, ast.Attribute) and not is_function:
                yield func.value
            elif len(args) == 1 or (args and keywords):
                yield args[0]


def _builds_module(node: ast.Call) -> bool:
    """Return whether a call is of a class, or of one that a class inherits from."""
    name = ast.unparse(node.func)
    return name.startswith("super") or name[0].isupper()


def swapped(node: Any) -> Iterator[ast.AST]:
    """Exchange the sides of a difference or a matrix product, or two arguments or values."""
    match node:
        case ast.BinOp(left, ast.Sub() | ast.MatMult() as op, right):
            yield ast.BinOp(right, op, left)
        case ast.Tuple([one, other], ast.Load() as context):
            yield ast.Tuple([other, one], context)
        case ast.Call(func, args, keywords) if not _builds_module(node):
            for i, (one, other) in enumerate(pairwise(args)):
                if isinstance(one, SIMPLE) and isinstance(other, SIMPLE):
                    yield ast.Call(func, [*args[:i], other, one, *args[i + 2 :]], keywords)


def transposed(node: Any) -> Iterator[ast.AST]:
    """Put the last axis but one in the place of the last, or a function's counterpart."""
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            yield ast.UnaryOp(ast.USub(), ast.Constant(2))
        case ast.Call(ast.Attribute(value, name), args, keywords) if name in COUNTERPARTS:
            yield ast.Call(ast.Attribute(value, COUNTERPARTS[name]), args, keywords)


def detached(node: Any) -> Iterator[ast.AST]:
    """Cut the gradient of what is returned, kept as `hidden`, or handed over."""
    match node:
        case ast.Return(ast.BinOp() | ast.Call() as value):
            yield ast.Return(_detach(value))
        case ast.Assign([ast.Name("hidden")] as targets, value):
            yield ast.Assign(targets, _detach(value))
        case ast.Call(func, args, keywords) if not _builds_module(node):
            for i, argument in enumerate(args):
                if isinstance(argument, ast.Name) and argument.id.islower():
                    cut = [*args[:i], _detach(argument), *args[i + 1 :]]
                    yield ast.Call(func, cut, keywords)


def _detach(value: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, "detach"), [], [])


def shared(node: Any) -> Iterator[ast.AST]:
    """Put one layer in the place of all, or a module in the place of the one made after it."""
    match node:
        case ast.Call(func, [ast.GeneratorExp(layer)]) if ast.unparse(func) == "nn.ModuleList":
            layers = ast.BinOp(ast.List([layer]), ast.Mult(), ast.Name("LAYERS"))
            yield ast.Call(func, [layers], [])
        case ast.FunctionDef():
            yield from _sharing_neighbours(node)


def _sharing_neighbours(function: ast.FunctionDef) -> Iterator[ast.AST]:
    for i, (before, after) in enumerate(pairwise(function.body)):
        match before, after:
            case ast.Assign([one], ast.Call(first)), ast.Assign([other], ast.Call(second)):
                if ast.dump(first) == ast.dump(second) and _is_of_self(one) and _is_of_self(other):
                    alias = ast.Assign([other], one)
                    body = [*function.body[: i + 1], alias, *function.body[i + 2 :]]
                    yield ast.FunctionDef(**{**dict(ast.iter_fields(function)), "body": body})


def _is_of_self(node: ast.AST) -> bool:
    return ast.unparse(node).startswith("self.")


OPERATORS = {
    "detach": detached,
    "drop": without_part,
    "negate": other_sums,
    "scale": other_scales,
    "share": shared,
    "shift": _one_more,
    "swap": swapped,
    "transpose": transposed,
}


def nodes_of_classes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a file's classes; constants of the module are left alone."""
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            yield from ast.walk(statement)
