"""The protocol of a case, as a user's own class would meet it."""

from pytest_ansorbench.workloads import OPERATORS, Case


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
