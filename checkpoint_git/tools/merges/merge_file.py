"""`checkpoint merge-file`: what `git merge-file` does for lines, for JSON."""

import argparse
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode, load, scan_tokens
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls, quote_word
from checkpoint_git.core.user_schema import make_judge
from checkpoint_git.disk.atomic import write_file
from checkpoint_git.disk.read import open_plain
from checkpoint_git.merge.conflicts import list_clashes, take_side
from checkpoint_git.merge.file import Merged, merge_file
from checkpoint_git.merge.lint import lint_schema
from checkpoint_git.merge.markers import say_question
from checkpoint_git.merge.superseded import tell_superseded
from checkpoint_git.protocols.merge_schema import load_merge_schema

HELP = """\
merge three versions of any JSON file, as `git merge-file` merges lines

examples:
  checkpoint merge-file ours.json base.json theirs.json            into ours.json
  checkpoint merge-file -p ours.json base.json theirs.json         to stdout
  checkpoint merge-file --schema tasks.schema.json OURS BASE THEIRS   with a schema's x-merge rules

exit codes: 0 clean; 1 to 127 the number of conflicts (127 at most); 255 an error, and nothing was
merged
"""

if TYPE_CHECKING:
    from checkpoint_git.merge.validity import Judge

FAILED, _MOST_TOLD = 255, 127
_LABELS = ("ours", "base", "theirs")
# what is behind it merges by its structure
_HARMLESS = (
    "schema/dead-reference",
    "schema/foreign-reference",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("ours", metavar="OURS", help="our version; the result is written into it")
    add("base", metavar="BASE", help="the common ancestor; an empty file if there is none")
    add("theirs", metavar="THEIRS", help="their version")
    add("-p", "--stdout", action="store_true", help="print the result instead of writing it")
    add(
        "--schema",
        metavar="FILE",
        help="a JSON Schema with x-merge rules (default: by the file's name)",
    )
    favour = parser.add_mutually_exclusive_group()
    favour.add_argument(
        "--ours", action="store_const", const=0, dest="side", help="decide every conflict for OURS"
    )
    favour.add_argument(
        "--theirs",
        action="store_const",
        const=2,
        dest="side",
        help="decide every conflict for THEIRS",
    )
    add(
        "-L",
        dest="labels",
        metavar="LABEL",
        action="append",
        default=[],
        help="a conflict marker's label; repeatable",
    )
    add(
        "--marker-size",
        metavar="N",
        type=int,
        default=7,
        help="length of conflict markers (default: 7)",
    )


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """One line on stderr for each conflict. Raises CheckpointError."""
    if not 1 <= args.marker_size <= 1000 or len(args.labels) > len(_LABELS):
        raise CheckpointError(
            "--marker-size is 1 to 1000, and -L is given three times at most", "see --help"
        )

    paths = [os.path.join(invocation.cwd, name) for name in (args.ours, args.base, args.theirs)]
    if args.schema is None:
        schema, judge = load_merge_schema(paths[0].lstrip("/")), None
    else:
        named = os.path.join(invocation.cwd, os.path.expanduser(args.schema))
        schema = scan_tokens(decode(read_schema("--schema", named)))
        judge = make_judge(schema) if isinstance(schema, dict) else None

    merged = _merge(paths, schema, args.marker_size, judge)
    if args.side is not None:
        merged = take_side(merged, args.side, args.marker_size)
    text = "".join(_relabel(merged.text, args.labels, args.marker_size))
    if not args.stdout:
        write_file(paths[0], text.encode())
    if not args.quiet:
        invocation.stderr.write("".join(_tell(merged, args.ours)))
    return Answer((text,) if args.stdout else (), min(len(merged.conflicts), _MOST_TOLD))


def tell_error(words: list[str], error: CheckpointError) -> Answer:
    """Exit codes up to 127 count conflicts, so that a failure has git's own."""
    return Answer(
        (), FAILED, f"checkpoint: {error.message}" + (f"; {error.hint}" if error.hint else "")
    )


def read_schema(option: str, path: str, root: dict[str, Any] | None = None) -> bytes:
    """A schema's bytes, by its full path. root: as for lint_schema. Raises CheckpointError if it
    would be misread.
    """
    shown = f"{option}: {quote_word(path)}"
    try:
        data = _read(path)
        found = lint_schema(load(decode(data)), root)
    except (OSError, JsonTextError) as error:
        raise CheckpointError(
            f"{shown} cannot be read: {error}", "give the path of a JSON Schema"
        ) from None

    wrong = next(
        (finding for finding in found if root is not None or finding.code not in _HARMLESS), None
    )
    if wrong:
        raise CheckpointError(f"{shown}: {wrong.where or '/'}: {wrong.message}", wrong.hint)
    return data


def _merge(
    paths: list[str], schema: dict[str, Any], marker_size: int, judge: "Judge | None"
) -> Merged:
    ours, base, theirs = map(_read, paths)
    try:
        return merge_file(
            base, ours, theirs, schema, marker_size=marker_size, path=paths[0], judge=judge
        )
    except JsonTextError as error:
        if not error.version:
            raise CheckpointError(
                f"--schema: {error.message}", "check the schema with a validator"
            ) from None
        path = quote_word(paths[_LABELS.index(error.version)])
        hint = command("git", "merge-file", *paths, more=" merges them as lines")
        raise CheckpointError(f"{path}: line {error.line}: {error.message}", hint) from None


def _read(path: str) -> bytes:
    # what a shell hands over, <(...), is a pipe, and its writer is there
    real = os.path.realpath(path)
    with (
        open(path, "rb") if real.startswith(("/dev/fd/", "/proc/")) else open_plain(real) as stream
    ):
        return stream.read(MAX_BYTES + 1)  # decode refuses what is longer


def _relabel(text: str, labels: list[str], size: int) -> Iterator[str]:
    # no line of JSON begins with a marker: text in quotes holds no line end
    names = dict(zip(_LABELS, labels, strict=False))
    marker = re.compile(rf"^([<|>])\1{{{size - 1}}} (ours|base|theirs)(?=:)", re.MULTILINE)
    last = 0
    for found in marker.finditer(text) if names else ():
        yield text[last : found.start(2)] + escape_controls(names.get(found[2], found[2]))
        last = found.end()
    yield text[last:]


def _tell(merged: Merged, path: str) -> Iterator[str]:
    for clash in list_clashes(merged, 60):
        where = escape_controls(clash.where) or "/"
        if clash.question:
            yield f"checkpoint: conflict in {escape_controls(path)} at {where}: {say_question(clash.question)}\n"
            continue
        yield f"checkpoint: conflict in {escape_controls(path)} at {where}: ours {clash.ours}, theirs {clash.theirs}\n"
    for line in tell_superseded(merged.context):
        yield f"checkpoint: {escape_controls(path)}: {escape_controls(line)}\n"
