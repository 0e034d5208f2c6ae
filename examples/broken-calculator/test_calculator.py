"""What the calculator must do."""

import pytest
from calculator import add, divide, mean, multiply, subtract


def test_add() -> None:
    assert add(2, 3) == 5


def test_subtract() -> None:
    assert subtract(2, 3) == -1


def test_multiply() -> None:
    assert multiply(4, 2.5) == 10


def test_divide() -> None:
    assert divide(9, 3) == 3
    assert divide(7, 2) == 3.5
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)


def test_mean() -> None:
    assert mean([1, 2]) == 1.5
