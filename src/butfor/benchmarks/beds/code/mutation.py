"""Mutation operators on the syntax tree: they break reference programs, and they propose repairs."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_BINARY: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mult),
    ast.Mult: (ast.Add, ast.FloorDiv, ast.Div, ast.Pow, ast.Sub),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv, ast.Mult),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "append": "extend", "floor": "ceil", "ceil": "floor"}
_CALLS |= {"upper": "lower", "lower": "upper", "startswith": "endswith", "endswith": "startswith"}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One mutated program.

    Attributes:
        source: The whole program, as `ast.unparse` writes it.
        operator: Which operator made it.
        line: Of the change.
    """

    source: str
    operator: str
    line: int


def normal(source: str) -> str:
    """Write a program as its syntax tree says, so that layout and comments never count as a change.

    Raises:
        SyntaxError: It is no program.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a careless "\W" in a program of the data is that program's own affair
        return ast.unparse(ast.parse(source))


def mutants(source: str, *, breaking: bool = False) -> list[Mutant]:
    """Return every program that differs by one mutation, each once, in the order of the text.

    Args:
        source: A program as `normal` writes it.
        breaking: Also delete statements, which no operator puts back.
    """
    tree = ast.parse(source)
    seen, found = {source}, []
    sites = [(node, *each) for node in ast.walk(tree) for each in _changes(node, tree, breaking=breaking)]
    for node, operator, change in sites:
        text = change.written(node, tree)
        if text not in seen:
            seen.add(text)
            found.append(Mutant(source=text, operator=operator, line=getattr(node, "lineno", 0)))
    return found


@dataclass(frozen=True, kw_only=True)
class _Set:
    """Set a field of a node, or one element of a field."""

    name: str
    value: object
    at: int | None = None

    def written(self, node: ast.AST, tree: ast.Module) -> str:
        """Write the tree with the field set, and set it back; a copy of the tree a mutant took 20 times as long."""
        holder = getattr(node, self.name)
        before = holder if self.at is None else holder[self.at]
        self._put(node, self.value)
        try:
            return ast.unparse(ast.fix_missing_locations(tree))
        finally:
            self._put(node, before)

    def _put(self, node: ast.AST, value: object) -> None:
        if self.at is None:
            setattr(node, self.name, value)
        else:
            getattr(node, self.name)[self.at] = value


def _changes(node: ast.AST, tree: ast.Module, *, breaking: bool) -> Iterator[tuple[str, _Set]]:
    match node:
        case ast.Compare(ops=ops):
            for at, each in enumerate(ops):
                yield from (
                    ("comparison", _Set(name="ops", at=at, value=new())) for new in _COMPARE.get(type(each), ())
                )
        case ast.BinOp(op=each) | ast.AugAssign(op=each):
            yield from (("arithmetic", _Set(name="op", value=new())) for new in _BINARY.get(type(each), ()))
        case ast.BoolOp(op=each):
            yield "logic", _Set(name="op", value=ast.Or() if isinstance(each, ast.And) else ast.And())
        case ast.Constant(value=bool() as value):
            yield "constant", _Set(name="value", value=not value)
        case ast.Constant(value=int() as value):
            yield from (("constant", _Set(name="value", value=value + step)) for step in (1, -1))
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition", _Set(name="test", value=_negated(test))
        case ast.Call(func=ast.Name(id="range"), args=[*args]) if args:
            at = 0 if len(args) == 1 else 1
            yield from (("off by one", _Set(name="args", at=at, value=_plus(args[at], step))) for step in (1, -1))
        case ast.Return(value=ast.BinOp() | ast.Name() | ast.Call() as value):
            yield from (("off by one", _Set(name="value", value=_plus(value, step))) for step in (1, -1))
        case ast.Name(id=name, ctx=ast.Load()) if name in _CALLS:
            yield "call", _Set(name="id", value=_CALLS[name])
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (("variable", _Set(name="id", value=other)) for other in _variables(tree) if other != name)
        case ast.Attribute(attr=name) if name in _CALLS:
            yield "call", _Set(name="attr", value=_CALLS[name])
    if breaking:
        yield from _deletions(node)


def _deletions(node: ast.AST) -> Iterator[tuple[str, _Set]]:
    if isinstance(node, ast.Module):
        return
    for name in ("body", "orelse"):
        block = getattr(node, name, None)
        for at, each in enumerate(block if isinstance(block, list) else []):
            if not isinstance(each, ast.FunctionDef | ast.Return | ast.Import | ast.ImportFrom):
                yield "deleted statement", _Set(name=name, at=at, value=ast.Pass())


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(op=ast.Not(), operand=test)


def _plus(value: ast.expr, step: int) -> ast.expr:
    """Add one to an expression, or take it away; an addition of one that is there goes first."""
    match value:
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)) if step < 0:
            return left
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)) if step > 0:
            return left
    return ast.BinOp(left=value, op=ast.Add() if step > 0 else ast.Sub(), right=ast.Constant(value=1))


def _variables(tree: ast.Module) -> tuple[str, ...]:
    """Return the names that a program binds itself, functions aside."""
    found = [each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)]
    found += [each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    return tuple(dict.fromkeys(found))
