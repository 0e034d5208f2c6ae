"""A small calculator."""

from __future__ import annotations


def add(left: float, right: float) -> float:
    return left + right


def subtract(left: float, right: float) -> float:
    return left - right


def multiply(left: float, right: float) -> float:
    return left * right


def divide(left: float, right: float) -> float:
    if right == 0:
        raise ZeroDivisionError("nothing can be divided by zero")
    return left // right


def mean(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total = add(total, value)
    return divide(total, len(values))
