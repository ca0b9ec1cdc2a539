"""docs/internals/numbers.md has every number that bounds what others bring, as the code has it."""

import ast
import importlib
import re
from pathlib import Path

import checkpoint_git
from tests.architecture.imports import ROOT

PAGE = (ROOT / "docs/internals/numbers.md").read_text()
ROWS = dict(re.findall(r"^- `([\w.]+)` ([\d,.]*\d)", PAGE, re.MULTILINE))
_NAMES = re.compile(r"MAX|MOST|LONGEST|LARGEST|DEEPEST|LIMIT|SECONDS|TIMEOUT|PATIENCE|DEPTH|GRACE|TRIES|ATTEMPTS|KEPT")
# what is drawn on a screen or a page, and how our own work is divided
_DRAWN = ("cli.", "protocols.skill.page", "tools.report.page", "protocols.skill.verbs.", "tools.merges.decisions")
_OUR_OWN = {
    "core.page": ("_LOOKED_AT",),
    "core.untrusted_text": ("_MOST_READ",),
    "disk.atomic": ("_TRIES",),
    "disk.backup": ("_MOST_OF_ONE_SECOND",),
    "disk.lock": ("_PATIENCE",),
    "disk.lock_file": (
        "_LONGEST",
        "_PATIENCE",
    ),
    "protocols.memory.graph": ("_KEPT_MARKS",),
    "protocols.digest": ("_MOST",),
    "protocols.memory.store": ("_TRIES",),
    "protocols.mismatch": ("_LONGEST_NAME",),
    "protocols.pipeline.records": ("_MOST_NAMED",),
    "protocols.pipeline.summary": (
        "_MOST_LINES",
        "_MOST_SHOWN",
    ),
    "protocols.restore.points": ("_TRIES",),
    "protocols.restore.scope": ("_TRIES",),
    "protocols.restore.mechanisms.sqlite": (
        "_BUSY_MILLISECONDS",
        "_BUSY_TRIES",
    ),
    "protocols.restore.summary": ("_MOST_SHOWN",),
    "protocols.skill.changes": (
        "KEPT_DONE",
        "_LONGEST_INDEX",
        "_MAX_STEPS",
    ),
    "protocols.skill.checks": ("_LONGEST_ITEM",),
    "protocols.skill.edit_completion": ("_MOST_ITEMS",),
    "protocols.skill.facts": (
        "GRACE",
        "_MOST_ASKED",
    ),
    "protocols.skill.generated_files": ("_MOST_WORDS",),
    "protocols.skill.history": ("_KEPT_VERSIONS",),
    "protocols.skill.names": ("_LONGEST",),
    "protocols.skill.rotation": (
        "KEPT_DECISIONS",
        "KEPT_RUNS",
    ),
    "protocols.skill.rules": (
        "MAX_DECISIONS",
        "MAX_PM_TEXT",
        "MAX_SUMMARY",
    ),
    "protocols.skill.shape": ("_LONGEST",),
    "protocols.skill.store": ("_MOST_SHOWN",),
    "protocols.skill.worktrees": ("_MOST_TOLD",),
    "protocols.workflow.layout": (
        "GRACE",
        "_MAX_SAFE",
    ),
    "tools.agents.hook_settings": ("_LONGEST_GAP",),
    "tools.doctor.deployed": ("LONGEST_SHOWN",),
    "tools.doctor.fix": ("_MOST_ROUNDS",),
    "tools.merges.audit": ("_LONGEST_SHOWN",),
    "tools.merges.audit_fix": ("_MOST_REFUSED",),
    "tools.merges.checks": (
        "_LONGEST_SUBJECT",
        "_LONGEST_VALUE",
    ),
    "tools.merges.findings": (
        "MOST_TOLD",
        "_LONGEST_NAME",
    ),
    "tools.merges.premerge_report": ("_MOST_NAMED",),
    "tools.merges.tree_merge": ("_LONGEST_VALUE",),
    "tools.merges.unmerged": (
        "_LONGEST_LEAF",
        "_MOST_LEAVES",
    ),
    "tools.session.record": ("_KEPT_FOR",),
    "tools.setup.driven_files": (
        "_LONGEST_SHOWN",
        "_MOST_SHOWN",
    ),
    "tools.setup.team_schema": ("_LONGEST_SHOWN",),
    "tools.sync.commits": ("_TRIES",),
    "tools.sync.decide": ("_LONGEST_VALUE",),
    "tools.sync.run": ("_MOST_GROWN",),
    "tools.sync.state": ("_MOST_OLDER",),
    "tools.sync.verb": ("_MOST_SHOWN",),
}


def read_limits() -> dict[str, str]:
    """Module and constant -> its number, written as the page does."""
    root, found = Path(checkpoint_git.__file__).parent, dict[str, str]()
    for path in root.rglob("*.py"):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        targets = [target for node in ast.parse(path.read_text()).body for target in getattr(node, "targets", ())]
        named = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        limits = sorted(name for name in named - {*_OUR_OWN.get(module, ())} if name.isupper() and _NAMES.search(name))
        for name in limits if not module.startswith(_DRAWN) else ():
            value = getattr(importlib.import_module(f"checkpoint_git.{module}"), name)
            if type(value) in (int, float):
                found[f"{module}.{name}"] = f"{value:,.15g}" if isinstance(value, float) else f"{value:,}"
    return found


def test_every_limit_is_on_the_page_with_its_number() -> None:
    assert read_limits() == ROWS


def test_what_is_left_out_is_there() -> None:
    for module, names in _OUR_OWN.items():
        assert {*names} <= {*vars(importlib.import_module(f"checkpoint_git.{module}"))}, module
