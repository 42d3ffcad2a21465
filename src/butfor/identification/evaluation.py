"""An estimand's value on a distribution that is given as an array.

The array may be of any library whose arrays have NumPy's `sum`, product and quotient; none is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from butfor.errors import InputError
from butfor.identification.nodes import Node, P, Product, Ratio, Sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.identification.expression import Estimand


class Array(Protocol):
    """What `evaluate` needs of an array: NumPy's ndarray has it."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        ...

    # The argument and result types are each library's own; a Protocol cannot name them.
    def sum(self, *, axis: Any, keepdims: Any) -> Any:
        """Sum over axes."""
        ...

    def __mul__(self, other: Any, /) -> Any: ...

    def __truediv__(self, other: Any, /) -> Any: ...


def evaluate(estimand: Estimand, joint: Array, variables: Sequence[str]) -> Array:
    """Compute the formula on a joint distribution.

    Args:
        estimand: The formula; not an instrument's, which is a ratio of covariances.
        joint: Probabilities, shape (..., k_1, …, k_n): leading axes are separate distributions, the last n are the
            variables.
        variables: The n names, in the order of the axes.

    Returns:
        P(outcomes | do(treatments), given), with the axes of `joint`; an axis that the value does not depend on has
        length 1. Where a stratum that the formula needs has probability 0 it is what the library makes of 0 / 0: NaN,
        with a warning, and never a made-up number.

    Raises:
        InputError: An instrument's estimand, a repeated name, or a variable without an axis.
    """
    names = list(variables)
    if len(set(names)) < len(names) or len(names) > joint.ndim:
        raise InputError("the names do not fit the axes of the array", fix="give one distinct name a trailing axis")
    place = {name: i - len(names) for i, name in enumerate(names)}
    values: list[Array] = []
    for node in estimand.nodes:
        values.append(_value(node, values, joint, place))
    return values[-1]


def _value(node: Node, values: list[Array], joint: Array, place: dict[str, int]) -> Array:
    if isinstance(node, P):
        return _conditional(node, joint, place)
    if isinstance(node, Sum):
        return _summed(values[node.of], node.over, place)
    if isinstance(node, Product):
        product = values[node.of[0]]
        for i in node.of[1:]:
            product = product * values[i]
        return product
    if isinstance(node, Ratio):
        return _quotient(values[node.top], values[node.bottom])
    raise InputError("an instrument's ratio has no exact value without its assumption", fix="estimate it instead")


def _conditional(node: P, joint: Array, place: dict[str, int]) -> Array:
    together = _summed(joint, [name for name in place if name not in node.of and name not in node.given], place)
    return _quotient(together, _summed(together, node.of, place)) if node.given else together


def _summed(array: Array, names: Sequence[str], place: dict[str, int]) -> Array:
    for name in names:
        if name not in place:
            raise InputError(f"the array has no axis for {name!r}", fix="name every variable of the formula")
    total: Array = array.sum(axis=tuple(place[name] for name in names), keepdims=True)
    return total


def _quotient(top: Array, bottom: Array) -> Array:
    ratio: Array = top / bottom
    return ratio
