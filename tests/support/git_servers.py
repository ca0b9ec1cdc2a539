"""Git over real connections: smart HTTP (git http-backend behind a web server of this process), ssh
(a real sshd).
"""

import base64
import contextlib
import getpass
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

_EXEC_PATH = Path(
    subprocess.run(
        ["git", "--exec-path"], capture_output=True, text=True, check=True
    ).stdout.strip()
)
NEEDS_HTTP = pytest.mark.skipif(
    not (_EXEC_PATH / "git-remote-http").exists() or not (_EXEC_PATH / "git-http-backend").exists(),
    reason="this git was built without HTTP",
)
LOGIN = "ann:open sesame"
_SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
NEEDS_SSH = pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh here")
NEEDS_SSHD = pytest.mark.skipif(
    not (_SSHD and shutil.which("ssh-keygen")), reason="there is no sshd here"
)


class GitHttpServer(ThreadingHTTPServer):
    """password: whether LOGIN is asked for. refused: services ("git-receive-pack") that are
    forbidden. dies_in: the service that does its work and whose answer breaks off. asked: what
    came, such as "POST git-upload-pack".
    """

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.password = False
        self.refused: tuple[str, ...] = ()
        self.dies_in = ""
        self.asked: list[str] = []

    def url(self, name: str = "hub.git", login: str = "") -> str:
        """Where a repository of the root is served."""
        return f"http://{login}127.0.0.1:{self.server_address[1]}/{name}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20
    server: GitHttpServer

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._read_body())

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _serve(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        service = query.partition("service=")[2] or path.rpartition("/")[2]
        self.server.asked.append(f"{self.command} {service}")
        login = "Basic " + base64.b64encode(LOGIN.encode()).decode()
        if self.server.password and self.headers.get("Authorization") != login:
            self._answer("401 Unauthorized", {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        elif service in self.server.refused:
            self._answer("403 Forbidden", {}, b"")
        else:
            self._run_backend(
                path,
                query,
                body,
                breaks_off=self.command == "POST" and service == self.server.dies_in,
            )

    def _run_backend(self, path: str, query: str, body: bytes, *, breaks_off: bool) -> None:
        env = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REMOTE_USER": "ann",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"],
            env=env,
            input=body,
            capture_output=True,
            timeout=60,
            check=True,
        )
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(re.findall(r"(?m)^([\w-]+): ([^\r\n]*)", head.decode()))
        self._answer(headers.pop("Status", "200 OK"), headers, answer, breaks_off=breaks_off)

    def _answer(
        self, status: str, headers: dict[str, str], body: bytes, *, breaks_off: bool = False
    ) -> None:
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if breaks_off else body)
        self.close_connection = breaks_off

    def log_message(self, *args: object) -> None:
        """Nothing is printed between the tests."""


@contextlib.contextmanager
def serve_http(root: Path) -> Iterator[GitHttpServer]:
    """The bare repositories below root, each of which takes pushes."""
    with GitHttpServer(root) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def serve_silence() -> Iterator[int]:
    """The port of a server that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


class SshServer(NamedTuple):
    """command: of ssh, which knows the host and has the key. stranger: of one that knows the host
    and has no key.
    """

    port: int
    command: str
    stranger: str

    def url(self, path: Path) -> str:
        """Where a repository of this machine is served."""
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{path}"


@contextlib.contextmanager
def serve_ssh(folder: Path) -> Iterator[SshServer]:
    """An sshd of this user with keys and settings of its own, all in folder."""
    folder.mkdir()
    for name in ("host", "user"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
    if os.geteuid() == 0:
        # a root's sshd does not start without it
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication yes\n"
    )
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    command = f"ssh -F none -o UserKnownHostsFile={folder}/known_hosts -o IdentitiesOnly=yes"
    process = subprocess.Popen(
        [str(_SSHD), "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert b"listening" in first, first
        yield SshServer(port, f"{command} -i {folder}/user", f"{command} -i none")
    finally:
        process.terminate()
        process.communicate(timeout=20)
