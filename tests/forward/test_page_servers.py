"""The protocol's page, striped servers, munge and plug-ins: by a client that was written from it alone."""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path

import pytest
from harness import needs
from harness.munge import munged

from .client import server
from .page_client import (
    CALL,
    GETATTR,
    REFUSED,
    STRIPING,
    Client,
    Error,
    Munge,
    numbers,
    text,
)
from .test_plugin import EXAMPLE, compiled
from .test_striped import stripes

KIB = 1024


def test_a_striped_file_lies_as_wished(tmp_path: Path) -> None:
    with stripes(tmp_path, 2, 4 * KIB) as servers:
        one, other = (Client(served.addresses[0]) for served in servers.servers)
        assert [(client.server, client.servers) for client in (one, other)] == [(0, 2), (1, 2)]
        handle = one.open("f", hints={STRIPING: numbers("QII", 64 * KIB, 1, 1)})
        assert handle[:8] == numbers("Q", 2)
        data = os.urandom(200 * KIB)
        one.write(handle, (0, data))
        assert other.read(other.open("f"), (0, 1 << 20)) == [data]
        (lies_there,) = (path for path in servers.data() if path.stat().st_size)
        assert lies_there.is_relative_to(servers.store(1))
        assert lies_there.read_bytes() == data
        with pytest.raises(Error) as error:
            one.ask(GETATTR, numbers("QQQQ", 3, 0, 0, 0))
        assert error.value.status == errno.EPERM


def test_an_operation_of_a_plug_in(tmp_path: Path) -> None:
    with server(tmp_path, "--plugin", str(compiled(tmp_path, EXAMPLE))) as served:
        client = Client(served.addresses[0])
        handle = client.open("f")
        client.write(handle, (0, b"some content"))
        fields = handle + text("crc32") + numbers("I", 100)
        body = client.ask(CALL, fields, numbers("QQ", 5, 7))
        body.hints()
        assert body.data == numbers("I", zlib.crc32(b"content"))
        with pytest.raises(Error) as error:
            client.ask(CALL, handle + text("crc32") + numbers("I", 65_537))
        assert error.value.status == errno.EMSGSIZE


def test_munge_says_who_both_are(tmp_path: Path) -> None:
    needs.require(["munged", "munge", "unmunge"])
    with (
        munged(tmp_path / "munge") as (at, _),
        server(tmp_path, "--tcp", "127.0.0.1:0", "--munge", str(at)) as served,
    ):
        client = Client(served.addresses[1], munge=Munge(str(at)))
        client.write(client.open("f"), (0, b"known"))
        assert (served.export / "f").read_bytes() == b"known"
        with pytest.raises(Error) as error:
            Client(served.addresses[1], munge=Forged(str(at)))
        assert error.value.status == REFUSED
        with pytest.raises(Error) as error:
            Client(served.addresses[1], token=b"x" * 64)
        assert error.value.status == REFUSED


class Forged(Munge):
    """A credential for another connection."""

    def seal(self, payload: bytes) -> bytes:
        return super().seal(payload[:-1] + bytes([payload[-1] ^ 1]))
