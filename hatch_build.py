"""What only the place of publication knows: SOURCE_URL, the repository's address, gives a build its links.

Without it the metadata has no addresses, and the readme's links lead to files of the checkout.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def server_name(source: str) -> str:
    """The name in the MCP registry, "" for a repository that is not on GitHub."""
    found = re.fullmatch(r"https://github\.com/([\w-]+)/[\w.-]+", source)
    return f"io.github.{found[1]}/checkpoint-git" if found else ""


def find_urls(source: str) -> dict[str, str]:
    """The addresses that PyPI shows."""
    if not source:
        return {}
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
    return {
        "Source": source,
        "Issues": f"{source}/issues",
        **{name: f"{source}/blob/main/{page}" for name, page in pages.items()},
    }


def write_readme(text: str, source: str, version: str) -> str:
    """The readme with links and pictures of the tag, and the mark by which the MCP registry knows the owner."""
    if not source:
        return text

    def whole(match: re.Match[str]) -> str:
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}{match[2]}]({source}/{kind}/v{version}/{match[3]})"

    text = re.sub(r"(!?)(\[[^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)", whole, text)
    name = server_name(source)
    return f"{text}\n<!-- mcp-name: {name} -->\n" if name else text


class Metadata(MetadataHookInterface):
    """Called by the build for the fields that pyproject.toml leaves to it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add readme and urls."""
        root = Path(self.root)
        source = os.environ.get("SOURCE_URL", "").rstrip("/")
        text = (root / "README.md").read_text("utf-8")
        found = re.search(r'__version__ = "([^"]+)"', (root / "checkpoint_git/version.py").read_text("utf-8"))
        assert found, "checkpoint_git/version.py has no version"
        metadata["readme"] = {"content-type": "text/markdown", "text": write_readme(text, source, found[1])}
        metadata["urls"] = find_urls(source)
