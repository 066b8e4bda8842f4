"""The protocol's page, Sequence, window, retry: by a client that was written from it alone, and servers that end."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable

import pytest

from .client import Server
from .page_client import (
    APPEND,
    CREATE,
    DATA,
    ENDED,
    ENDING,
    EXCLUSIVE,
    FOR_WRITE,
    FOUND_AT,
    MKDIR,
    NONBLOCKING,
    OPEN,
    PING,
    PULL,
    RETRY,
    ROOT,
    UNLINK,
    WRITE,
    WRITTEN,
    Body,
    Client,
    Error,
    Frame,
    numbers,
    records,
    text,
)


def again(served: Server, client: Client) -> Client:
    """The same client, on a new connection."""
    return Client(served.addresses[0], like=client)


def test_a_lost_connection_is_taken_up_where_the_data_ended(
    restarts: Callable[..., Server],
) -> None:
    served = restarts()
    client = Client(served.addresses[0])
    handle = client.open("f")
    data = bytes(range(256)) * 16 * 1024
    seq = client.send(APPEND, handle + numbers("Q", len(data)), data)
    first = client.frame()
    assert first.kind == PULL
    client.serve_pull(first)
    client.frame()  # it has asked for more
    client.socket.close()
    other = again(served, client)
    other.sent = client.sent
    other.send(APPEND, handle + numbers("Q", len(data)), data, seq=seq, flags=RETRY)
    assert other.reply(seq)[0].numbers("QB") == (0, WRITTEN)
    assert (served.export / "f").read_bytes() == data
    other.send(APPEND, handle + numbers("Q", len(data)), data, seq=seq, flags=RETRY)
    assert other.reply(seq)[0].number("Q") == 0  # as it was told
    assert (served.export / "f").read_bytes() == data


def test_after_a_restart_nothing_is_done_twice(restarts: Callable[..., Server]) -> None:
    client = Client(restarts().addresses[0])
    handle = client.open("log")
    made = ROOT + numbers("II", CREATE | EXCLUSIVE | FOR_WRITE, 0o644) + text("lock")
    requests = [(OPEN, made, b""), (MKDIR, ROOT + numbers("I", 0o755) + text("d"), b"")]
    requests.append((APPEND, handle + numbers("Q", 6), b"record"))
    seqs = [client.send(op, fields, data) for op, fields, data in requests]
    replies = [client.reply(seq)[0] for seq in seqs]
    served = restarts()
    other = again(served, client)
    assert other.epoch != client.epoch
    for seq, (op, fields, data), reply in zip(seqs, requests, replies, strict=True):
        other.send(op, fields, data, seq=seq, flags=RETRY)
        assert other.reply(seq)[0].data[:8] == reply.data[:8]
    assert (served.export / "log").read_bytes() == b"record"
    with pytest.raises(Error) as error:
        other.ask(OPEN, made)
    assert error.value.status == errno.EEXIST


def test_what_is_stale_is_found_by_its_path(restarts: Callable[..., Server]) -> None:
    client = Client(restarts().addresses[0])
    handle = client.open("f")
    served = restarts()
    other = again(served, client)
    seq = other.send(WRITE, handle + records("QQ", [(2, 4)]), b"text")
    with pytest.raises(Error) as error:
        other.reply(seq)
    assert error.value.status == errno.ESTALE
    hints = {FOUND_AT: handle + b"f"}
    other.send(WRITE, handle + records("QQ", [(2, 4)]), b"text", seq=seq, flags=RETRY, hints=hints)
    other.reply(seq)
    other.nothing(UNLINK, ROOT + text("f"))
    assert other.read(handle, (0, 9)) == [b"\0\0text"]  # it is held


def test_a_server_that_ends_says_so_and_leaves_word(restarts: Callable[..., Server]) -> None:
    served = restarts()
    client = Client(served.addresses[0])
    handle = client.open("f")
    client.write(handle, (0, b"accepted"), flags=NONBLOCKING)
    seq = client.send(WRITE, handle + records("QQ", [(8, 50_000)]), bytes(50_000))
    pull = client.frame()
    served.process.send_signal(signal.SIGTERM)
    other = Client(served.addresses[0])
    with pytest.raises(Error) as error:
        while True:
            other.nothing(PING)
    assert error.value.status == ENDING
    at, length = Body(pull.body).numbers("QI")
    part = numbers("Q", at) + bytes(length)
    client.socket.sendall(Frame(DATA, pull.op, client.id, seq, part).encode())
    client.reply(seq)
    client.socket.close()
    other.socket.close()
    assert served.process.wait(60) == 0
    ended = again(restarts(), client).hints[ENDED]
    assert numbers("Q", client.epoch) in [ended[at : at + 8] for at in range(0, len(ended), 8)]
