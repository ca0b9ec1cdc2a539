"""The tools without GNU's own options, with which .ci/run tries the suite."""

import os
import subprocess
from pathlib import Path

from tests.architecture.imports import ROOT
from tests.packaging.conftest import run

TAKEN = [
    "sed -e s/a/b/ /dev/null",
    "sed -n 1p /dev/null",
    "sed -i.bak s/a/b/ x",
    "date +%Y",
    "readlink link",
]
REFUSED = [
    "sed -i s/a/b/ x",
    "sed -r s/a/b/ x",
    "sed --quiet p x",
    "stat -c %s x",
    "date -d now",
    "readlink -e link",
]


def test_what_only_gnus_tools_take_is_refused(tmp_path: Path) -> None:
    run(ROOT / ".ci/other-tools", tmp_path / "tools")
    (tmp_path / "x").write_text("a\n")
    (tmp_path / "link").symlink_to("x")
    env = {**os.environ, "PATH": f"{tmp_path}/tools{os.pathsep}{os.environ['PATH']}"}
    for command in (*TAKEN, *REFUSED):
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True)
        assert (done.returncode == 64) is (command in REFUSED), (command, done.stderr)
