"""What an edit means: the field that its name is about, and its value as the schema wants it there."""

import json
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.registry import load_schema
from checkpoint_git.protocols.skill.changes import parse_edits, path_text, plain
from checkpoint_git.protocols.skill.fields import child_rules, resolve, understand
from tests.support.rows import rows
from tests.support.samples import checkpoint
