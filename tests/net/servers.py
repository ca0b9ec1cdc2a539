"""A server on the loopback that answers each path as a test says, byte by byte where it must: well
or badly.
"""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TLS = b"\x16"  # how a client's first words in TLS begin
Handler = Callable[[socket.socket], None]


def reply(body: bytes, status: str = "200 OK", **headers: str) -> Handler:
    """A well-formed answer; Content_Type stands for Content-Type."""
    fields = {
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return raw(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)


def redirect(location: str, status: str = "302 Found") -> Handler:
    """A redirect to a location, whatever that is."""
    return reply(b"", status, Location=location)


def raw(data: bytes) -> Handler:
    """Just these bytes, and the end."""
    return lambda connection: connection.sendall(data)


def drip(start: bytes, piece: bytes, done: threading.Event) -> Handler:
    """A beginning, and then one piece after the other until the test is over."""

    def handle(connection: socket.socket) -> None:
        connection.sendall(start)
        while not done.wait(0.05):
            connection.sendall(piece)

    return handle


class Server:
    """Answers each path by its handler, anything else with 404. requests: what came in, oldest
    first.
    """

    def __init__(self, host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> None:
        self.paths: dict[str, Handler] = {}
        self.requests: list[bytes] = []
        self.done = threading.Event()
        self._context = context
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family)
        self.port = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{shown}:{self.port}"
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        while not self.done.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _answer(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.settimeout(20)
            stream = (
                self._context.wrap_socket(connection, server_side=True)
                if self._context
                else connection
            )
            with contextlib.closing(stream):
                request = b""
                while (
                    b"\r\n\r\n" not in request
                    and request[:1] != TLS
                    and (piece := stream.recv(4096))
                ):
                    request += piece
                self.requests.append(request)
                words = request.split(b" ")
                path = words[1].decode("latin-1") if len(words) > 1 else ""
                self.paths.get(path, reply(b"nothing here", "404 Not Found"))(stream)

    def close(self) -> None:
        """The end of the server and of every answer that is still under way."""
        self.done.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join()


@contextlib.contextmanager
def serving(host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server for the length of a with block."""
    server = Server(host, context)
    try:
        yield server
    finally:
        server.close()


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate for 127.0.0.1 that nobody has signed but itself:
    folder/cert.pem.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl here to make a certificate with")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([openssl, *words, *names], check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context
