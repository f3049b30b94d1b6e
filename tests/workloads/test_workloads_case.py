"""The protocol of a case, as a user's own class would meet it."""

import dataclasses

import pytest

from pytest_ansorbench.workloads import OPERATORS, Case, Task


class Network:
    """The least that a case has to be."""

    id = "net"
    flops = 10

    def tasks(self):
        return ()


class Nameless:
    """A case without an id."""

    flops = 10

    def tasks(self):
        return ()


def test_any_class_with_the_members_is_a_case():
    assert isinstance(Network(), Case)
    assert not isinstance(Nameless(), Case)


def test_every_operator_is_a_case():
    assert all(isinstance(operator, Case) for operator in OPERATORS)


def test_a_task_counts_once_and_has_no_check_unless_told():
    task = Task(name="t", mod=None, flops=1)
    assert (task.weight, task.check) == (1, None)


def test_a_task_cannot_be_changed():
    task = Task(name="t", mod=None, flops=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.weight = 2
