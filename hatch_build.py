"""What a build adds: links by SOURCE_URL, the published repository's address, and the list of what
it needs (SBOM).

Without SOURCE_URL the metadata has no addresses, and the readme's links lead to files of the
checkout.
"""

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
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
    """The readme with links and pictures of the tag, and the mark by which the MCP registry knows
    the owner.
    """
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
        found = re.search(
            r'__version__ = "([^"]+)"', (root / "checkpoint_git/version.py").read_text("utf-8")
        )
        assert found, "checkpoint_git/version.py has no version"
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": write_readme(text, source, found[1]),
        }
        metadata["urls"] = find_urls(source)


def describe_components(name: str, version: str, dependencies: list[str]) -> dict[str, Any]:
    """Return the wheel's CycloneDX document: the package, and what it asks for, which is not in the
    wheel.
    """
    own = f"pkg:pypi/{name}@{version}"
    needed = []
    for text in dependencies:
        needed_name = re.split(r"[^\w.-]", text)[0].lower()
        reference = f"pkg:pypi/{needed_name}"
        needed.append(
            {"type": "library", "bom-ref": reference, "name": needed_name, "purl": reference}
        )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": name,
                "version": version,
                "purl": own,
            }
        },
        "components": needed,
        "dependencies": [{"ref": own, "dependsOn": [component["bom-ref"] for component in needed]}],
    }


class Components(BuildHookInterface):  # type: ignore[type-arg]
    """Called by the build of the wheel: it puts the document into .dist-info/sboms (PEP 770)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the document beside the build. version: of the build's kind, "standard"."""
        core = self.metadata.core
        document = describe_components(core.name, self.metadata.version, core.dependencies)
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, f"{core.name}.cdx.json")
        path.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        build_data["sbom_files"].append(os.path.relpath(path, self.root))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what initialize wrote."""
        self.folder.cleanup()
