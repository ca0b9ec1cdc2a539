"""How Sphinx makes the site: `make docs`. The reference is written anew from the code before each
build.
"""

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

from checkpoint_git.version import __version__
from docs.reference import write_reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "checkpoint-git"
author = "The checkpoint-git authors"
copyright = f"{date.today().year}, {author}"  # noqa: A001 - Sphinx calls it so
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"checkpoint-git {__version__}"
html_copy_source = False
html_static_path: list[str] = []
myst_heading_anchors = 3
myst_enable_extensions = ["fieldlist", "colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
nitpicky = False
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # examples of broken JSON


def setup(app: "Sphinx") -> None:
    """Called by Sphinx: the generated pages are there before it looks for pages."""
    app.connect("builder-inited", lambda app: write_reference(Path(app.srcdir) / "generated"))
