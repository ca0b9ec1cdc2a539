"""The server.json that the MCP registry asks for, of the version in this checkout; SOURCE_URL names
the repository.

The registry checks that the project's page on PyPI holds the same name: hatch_build.py writes it
there.
"""

import json
import os
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from checkpoint_git.version import __version__
from hatch_build import server_name

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def make_document(source: str) -> dict[str, object]:
    """source: the address of a repository on GitHub, where the registry knows owners by their
    accounts.
    """
    name = server_name(source)
    if not name:
        raise SystemExit(
            "SOURCE_URL must be https://github.com/OWNER/REPOSITORY: the registry knows owners by it"
        )
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]["name"]
    # Clients start `uvx`, these arguments, the identifier and then ours. Some add the version to
    # the identifier (NAME@1.2.3), which uvx refuses beside --from.
    package = {
        "registryType": "pypi",
        "identifier": project,
        "version": __version__,
        "runtimeHint": "uvx",
        "runtimeArguments": [
            {"type": "named", "name": "--with", "value": f"{project}[mcp]=={__version__}"}
        ],
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": name,
        "description": "State of long-running work for coding agents, validated and merged inside git",
        "repository": {"url": source, "source": "github"},
        "version": __version__,
        "packages": [package],
    }


if __name__ == "__main__":
    json.dump(make_document(os.environ.get("SOURCE_URL", "")), sys.stdout, indent=2)
    print()
