"""The server as the clients of the TypeScript SDK see it: both generations, both revisions of the
protocol.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import PATIENCE
from tests.support.command import BIN
from tests.support.npm import install_packages

pytestmark = pytest.mark.deep  # needs Node.js and packages of its registry

_PACKAGES = ("@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0")
_SCRIPT = Path(__file__).parent / "client.mjs"


@pytest.fixture(scope="module")
def packages() -> Path:
    return install_packages(
        "mcp-clients", "node_modules/@modelcontextprotocol/client/package.json", *_PACKAGES
    )


def run_client(packages: Path, sdk: str, folder: Path, home: Path) -> dict[str, Any]:
    # node looks for packages beside the script
    (home / "node_modules").symlink_to(packages / "node_modules")
    words = ["node", shutil.copy(_SCRIPT, home), sdk, f"{BIN}/checkpoint", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=4 * PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.mark.parametrize(
    ("sdk", "revision"),
    [("v1", None), ("v2", "2025-11-25"), ("v2-pinned", "2026-07-28")],
    ids=lambda value: str(value),
)
def test_a_whole_session(
    packages: Path,
    project: Path,
    build: Path,
    tmp_path_factory: pytest.TempPathFactory,
    sdk: str,
    revision: str | None,
) -> None:
    before = build.read_text("utf-8")
    seen = run_client(packages, sdk, project, tmp_path_factory.mktemp("client"))
    assert (seen["server"], seen.get("version")) == ("checkpoint", revision)
    assert {"checkpoint_status", "checkpoint_ask", "workflow", "pipeline"} <= set(seen["tools"])
    assert seen["show"]["checkpoints"]["build"]["skill"] == json.loads(before)["skill"]
    assert [one["skill"] for one in seen["status"]["skills"]] == ["build"]
    assert seen["update"]["written"]
    assert seen["refused"]["isError"]
    assert not seen["refused"].get("written")
    assert seen["asked"] == ["Which region?"]
    assert (seen["ask"]["isError"], seen["ask"]["decided"]) == (False, "EU")
    assert "checkpoint_nope" in seen["unknown"]
    assert (seen["validate"]["isError"], seen["validate"]["errors"]) == (False, 0)
    after = json.loads(build.read_text("utf-8"))
    assert after["next_actions"][-1] == "Write the docs"
    assert any("EU" in decision for decision in after["context_primer"]["key_decisions"])
    assert "nonsense" not in after
