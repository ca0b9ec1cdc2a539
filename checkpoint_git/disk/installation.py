"""How this package was installed, and the command that adds what it lacks beside it."""

import os
import sys
from importlib.util import find_spec

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import quote_path

# what is imported: what is installed; no other package's absence is told so
_PACKAGES = {"git": "GitPython", "jinja2": "Jinja2", "yaml": "PyYAML", "mcp_types": "mcp", "anyio": "mcp"}
_PACKAGES |= {name: name for name in ("gitdb", "jsonschema", "mcp")}


def find_missing(error: ImportError) -> CheckpointError | None:
    """What a user is told of an import that failed; None where the module is none that is installed beside us."""
    package = _PACKAGES.get((error.name or "").partition(".")[0])
    if package is None:
        return None
    command = f"uv pip install --python {quote_path(sys.executable)} {package}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        command = f"pipx inject checkpoint-git {package}"
    elif find_spec("pip"):
        command = f"{quote_path(sys.executable)} -m pip install {package}"
    return CheckpointError(f"the Python package {package} is not installed", command)
