"""A hostile HTTP server on this machine."""

import contextlib
import dataclasses
import gzip
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator

NAME = "val.de.gz"


@contextlib.contextmanager
def served(manner: str, content: bytes, chance: random.Random) -> Iterator[str]:
    """Serve a file in this manner in a process of its own, as long as the context lasts.

    Yields:
        The address, with a slash; below good/ the file is served well.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    pid = os.fork()
    if pid == 0:
        try:
            serve(listener, Talk(manner, content, chance, f"http://127.0.0.1:{port}"))
        finally:
            os._exit(0)
    listener.close()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@dataclasses.dataclass
class Talk:
    """What a manner knows: what it is asked for, and the connection it answers on."""

    manner: str
    content: bytes
    chance: random.Random
    own: str
    connection: socket.socket = dataclasses.field(default_factory=socket.socket)

    def head(self, *lines: str, status: str = "200 OK") -> None:
        """Send the head of an answer."""
        text = "\r\n".join((f"HTTP/1.1 {status}", "Connection: close", *lines, "", ""))
        self.connection.sendall(text.encode())

    def length(self, length: object) -> None:
        """Send the head of an answer that says how long it is."""
        self.head(f"Content-Length: {length}")

    def part(self) -> bytes:
        """Give the file up to somewhere."""
        return self.content[: self.chance.randrange(len(self.content))]


def serve(listener: socket.socket, talk: Talk) -> None:
    """Answer one connection after the other; each slow one in a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener.settimeout(60)
    while True:
        connection, _ = listener.accept()
        if os.fork():
            connection.close()
            continue
        os.setpgid(0, 0)
        signal.alarm(60)
        talk.connection = connection
        with contextlib.suppress(OSError), connection:
            path = asked(connection)
            if path.startswith("/good/") or (path == "/there" and "there" in talk.manner):
                talk.length(len(talk.content))
                connection.sendall(talk.content)
            else:
                MANNERS[talk.manner](talk)
        os._exit(0)


def asked(connection: socket.socket) -> str:
    """Read a request; give its path."""
    request = b""
    while b"\r\n\r\n" not in request and (more := connection.recv(4096)):
        request += more
    return request.split(b" ")[1].decode() if b" " in request else ""


def _then(*acts: Callable[[Talk], object]) -> Callable[[Talk], None]:
    def carry_out(talk: Talk) -> None:
        for act in acts:
            act(talk)

    return carry_out


def _send(make: Callable[[Talk], bytes]) -> Callable[[Talk], None]:
    return lambda talk: talk.connection.sendall(make(talk))


def _say(*lines: str, status: str = "200 OK") -> Callable[[Talk], None]:
    return lambda talk: talk.head(*lines, status=status)


def _redirect(where: Callable[[Talk], str]) -> Callable[[Talk], None]:
    return lambda talk: talk.head(
        f"Location: {where(talk)}", "Content-Length: 0", status="302 Found"
    )


def _flipped(talk: Talk) -> bytes:
    place = talk.chance.randrange(len(talk.content))
    changed = bytearray(talk.content)
    changed[place] ^= 1 << talk.chance.randrange(8)
    return bytes(changed)


def _true_length(talk: Talk) -> None:
    talk.length(len(talk.content))


WHOLE, PART = _send(lambda talk: talk.content), _send(Talk.part)
CHUNKED = _say("Transfer-Encoding: chunked")
MANNERS: dict[str, Callable[[Talk], None]] = {
    "no answer": lambda talk: time.sleep(20),
    "stops half way": _then(_true_length, PART, lambda talk: time.sleep(20)),
    "hangs up at once": lambda talk: None,
    "cut, declared": _then(_true_length, PART),
    "cut, undeclared": _then(_say(), PART),
    "a bit flipped": _then(_true_length, _send(_flipped)),
    "another file": _then(_say("Content-Length: 3"), _send(lambda talk: b"abc")),
    "nothing": _say("Content-Length: 0"),
    "redirects to itself": _redirect(lambda talk: f"{talk.own}/bad/{NAME}"),
    "redirects on and on": _redirect(lambda talk: f"{talk.own}/{talk.chance.random()}"),
    "redirects to a file": _redirect(lambda talk: "file:///etc/passwd"),
    "redirects nowhere": _redirect(lambda talk: "http://127.0.0.1:9/"),
    "redirects to an address that is none": _redirect(lambda talk: "http://[::bad/"),
    "redirects there": _redirect(lambda talk: f"{talk.own}/there"),
    "404": _say("Content-Length: 0", status="404 Not Found"),
    "503": _say("Content-Length: 0", status="503 Later"),
    "status 99999": _say("Content-Length: 0", status="99999 What"),
    "a page of welcome": _then(_say("Content-Length: 14"), _send(lambda talk: b"<html>welcome!")),
    "64 MB in 64 kB": _then(
        _say("Content-Encoding: gzip"), _send(lambda talk: gzip.compress(bytes(64 << 20)))
    ),
    "length: many": _say("Content-Length: many"),
    "length: -1": _then(_say("Content-Length: -1"), WHOLE),
    "length: 10**30": _then(_say(f"Content-Length: {10**30}"), PART),
    "two lengths": _then(_say("Content-Length: 3", "Content-Length: 4"), PART),
    "a chunk of 2**63 bytes": _then(CHUNKED, _send(lambda talk: b"8000000000000000\r\n"), PART),
    "chunks that are none": _then(CHUNKED, _send(lambda talk: b"what?\r\n"), PART),
    "no HTTP": _send(lambda talk: talk.chance.randbytes(500)),
}
