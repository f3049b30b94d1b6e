"""Messages arrive whole, with their bytes and descriptors, or not at all."""

from __future__ import annotations

import os
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ansorbench.measure.local.channel import Channel, ChannelClosed


@pytest.fixture
def ends():
    one, other = (Channel(end) for end in socket.socketpair())
    yield one, other
    one.close()
    other.close()


@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(), st.integers() | st.text()), st.binary()), max_size=5
    )
)
def test_messages_keep_their_order_and_content(messages):
    one, other = (Channel(end) for end in socket.socketpair())
    for message, payload in messages:
        one.send(message, payload)
    assert [other.receive() for _ in messages] == messages
    one.close()
    with pytest.raises(ChannelClosed):
        other.receive()
    other.close()


def test_what_no_buffer_holds_arrives_while_it_is_read(ends):
    one, other = ends
    payload = os.urandom(1 << 23)
    sender = threading.Thread(target=one.send, args=({"op": "load"}, payload))
    sender.start()
    assert other.receive() == ({"op": "load"}, payload)
    sender.join()


def test_descriptors_come_along(ends):
    one, other = ends
    read_end, write_end = os.pipe()
    one.send({}, b"x" * 100, descriptors=[write_end])
    os.close(write_end)
    other.receive()
    [received] = other.take_descriptors()
    os.write(received, b"hello")
    os.close(received)
    assert os.read(read_end, 10) == b"hello"
    os.close(read_end)
    assert other.take_descriptors() == []


def test_a_frame_cut_short_is_an_end(ends):
    one, other = ends
    one._socket.sendall(b"\0" * 7)
    one.close()
    with pytest.raises(ChannelClosed):
        other.receive()


def test_sending_to_nobody_is_an_end(ends):
    one, other = ends
    other.close()
    with pytest.raises(ChannelClosed):
        one.send({"op": "x"}, b"y" * 1000)
