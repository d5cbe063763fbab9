"""What turns a sound model into a mutant that the laws are tried on: operators on its code.

Not in the paper. The names of `MUTATION_OPERATORS` stand in the record.
"""

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from experiments.mutation import (
    drop_each_keyword_argument,
    make_constant_mutation,
    make_operator_mutation,
)

# A call whose name begins so is of a function, not of a tensor's method.
NON_METHOD_CALL_PREFIXES = ("torch.", "nn.", "math.", "self.")
SIMPLE_NODE_TYPES = ast.Name | ast.Attribute | ast.Constant | ast.Subscript
# Keyword arguments whose other value makes a design as sound.
TASTE_KEYWORDS = {"bias", "persistent", "set_to_none"}
COUNTERPART_FUNCTION_NAMES = {"sin": "cos", "cos": "sin", "tril": "triu", "log_softmax": "softmax"}


def mutate_sum_or_condition(node: Any) -> Iterator[ast.AST]:
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


def mutate_product_or_float(node: Any) -> Iterator[ast.AST]:
    """Divide in the place of multiplying, the other way round, or scale a number by 2."""
    yield from _mutate_product(node)
    yield from _double_float(node)


_mutate_product = make_operator_mutation(
    {ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,)}
)
_double_float = make_constant_mutation(
    lambda value: [value * 2] if isinstance(value, float) else []
)
_set_float_to_extreme = make_constant_mutation(
    lambda value: [0.0, value * 1000] if isinstance(value, float) else []
)
_increment_int = make_constant_mutation(lambda value: [value + 1] if type(value) is int else [])


def drop_part(node: Any) -> Iterator[ast.AST]:
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
            is_function = name.startswith(NON_METHOD_CALL_PREFIXES) or "." not in name
            if isinstance(func, ast.Attribute) and not is_function:
                yield func.value
            elif len(args) == 1 or (args and keywords):
                yield args[0]


def _builds_module(node: ast.Call) -> bool:
    """Return whether a call is of a class, or of one that a class inherits from."""
    name = ast.unparse(node.func)
    return name.startswith("super") or name[0].isupper()


def swap_operands_or_arguments(node: Any) -> Iterator[ast.AST]:
    """Exchange the sides of a difference or a matrix product, or two arguments or values."""
    match node:
        case ast.BinOp(left, ast.Sub() | ast.MatMult() as op, right):
            yield ast.BinOp(right, op, left)
        case ast.Tuple([one, other], ast.Load() as context):
            yield ast.Tuple([other, one], context)
        case ast.Call(func, args, keywords) if not _builds_module(node):
            for i, (one, other) in enumerate(pairwise(args)):
                if isinstance(one, SIMPLE_NODE_TYPES) and isinstance(other, SIMPLE_NODE_TYPES):
                    yield ast.Call(func, [*args[:i], other, one, *args[i + 2 :]], keywords)


def mutate_axis_or_function(node: Any) -> Iterator[ast.AST]:
    """Put the last axis but one in the place of the last, or a function's counterpart."""
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            yield ast.UnaryOp(ast.USub(), ast.Constant(2))
        case ast.Call(ast.Attribute(value, name), args, keywords) if (
            name in COUNTERPART_FUNCTION_NAMES
        ):
            yield ast.Call(ast.Attribute(value, COUNTERPART_FUNCTION_NAMES[name]), args, keywords)


def detach_value(node: Any) -> Iterator[ast.AST]:
    """Cut the gradient of what is returned, kept as `hidden`, or handed over."""
    match node:
        case ast.Return(ast.BinOp() | ast.Call() as value):
            yield ast.Return(_make_detach_call(value))
        case ast.Assign([ast.Name("hidden")] as targets, value):
            yield ast.Assign(targets, _make_detach_call(value))
        case ast.Call(func, args, keywords) if not _builds_module(node):
            for i, argument in enumerate(args):
                if isinstance(argument, ast.Name) and argument.id.islower():
                    cut = [*args[:i], _make_detach_call(argument), *args[i + 1 :]]
                    yield ast.Call(func, cut, keywords)


def _make_detach_call(value: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(value, "detach"), [], [])


def flip_truth(node: Any) -> Iterator[ast.AST]:
    """Put True in the place of False in a call, or the other way round.

    A bias more or less, and whether a buffer is saved, are matters of taste and left alone.
    """
    if isinstance(node, ast.Call):
        for i, keyword in enumerate(node.keywords):
            value = keyword.value
            is_truth = isinstance(value, ast.Constant) and isinstance(value.value, bool)
            if is_truth and keyword.arg not in TASTE_KEYWORDS:
                other = ast.keyword(keyword.arg, ast.UnaryOp(ast.Not(), value))
                keywords = [*node.keywords[:i], other, *node.keywords[i + 1 :]]
                yield ast.Call(node.func, node.args, keywords)


def drop_keyword(node: Any) -> Iterator[ast.AST]:
    """Leave a keyword argument of a call out, unless it is a matter of taste."""
    if isinstance(node, ast.Call) and not TASTE_KEYWORDS & {x.arg for x in node.keywords}:
        yield from drop_each_keyword_argument(node)


def exchange_neighbouring_statements(node: Any) -> Iterator[ast.AST]:
    """Exchange two statements of a function, each an assignment or a call.

    In a constructor that would change the order of random draws alone.
    """
    if isinstance(node, ast.FunctionDef) and node.name != "__init__":
        for i, pair in enumerate(pairwise(node.body)):
            is_docstring = [isinstance(getattr(x, "value", None), ast.Constant) for x in pair]
            if all(isinstance(x, ast.Assign | ast.Expr) for x in pair) and not any(is_docstring):
                body = [*node.body[:i], *reversed(pair), *node.body[i + 2 :]]
                yield ast.FunctionDef(**{**dict(ast.iter_fields(node)), "body": body})


def share_modules(node: Any) -> Iterator[ast.AST]:
    """Put one layer in the place of all, or a module in the place of the one made after it."""
    match node:
        case ast.Call(func, [ast.GeneratorExp(layer)]) if ast.unparse(func) == "nn.ModuleList":
            layers = ast.BinOp(ast.List([layer]), ast.Mult(), ast.Name("LAYERS"))
            yield ast.Call(func, [layers], [])
        case ast.FunctionDef():
            yield from _share_neighbouring_modules(node)


def _share_neighbouring_modules(function: ast.FunctionDef) -> Iterator[ast.AST]:
    for i, (before, after) in enumerate(pairwise(function.body)):
        match before, after:
            case ast.Assign([one], ast.Call(first)), ast.Assign([other], ast.Call(second)):
                if (
                    ast.dump(first) == ast.dump(second)
                    and _is_self_attribute(one)
                    and _is_self_attribute(other)
                ):
                    alias = ast.Assign([other], one)
                    body = [*function.body[: i + 1], alias, *function.body[i + 2 :]]
                    yield ast.FunctionDef(**{**dict(ast.iter_fields(function)), "body": body})


def _is_self_attribute(node: ast.AST) -> bool:
    return ast.unparse(node).startswith("self.")


MUTATION_OPERATORS = {
    "detach": detach_value,
    "drop": drop_part,
    "extreme": _set_float_to_extreme,
    "flip": flip_truth,
    "keyword": drop_keyword,
    "negate": mutate_sum_or_condition,
    "reorder": exchange_neighbouring_statements,
    "scale": mutate_product_or_float,
    "share": share_modules,
    "shift": _increment_int,
    "swap": swap_operands_or_arguments,
    "transpose": mutate_axis_or_function,
}


def nodes_inside_classes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a file's classes; constants of the module are left alone."""
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            yield from ast.walk(statement)
