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

FAILED = 255
_MOST_COUNTED = 127  # conflicts in the exit code
_LABELS = ("ours", "base", "theirs")
# a document merges by its structure where a reference leads nowhere
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
    """Merge, and report each conflict in a line on stderr. Raises CheckpointError."""
    if not 1 <= args.marker_size <= 1000 or len(args.labels) > len(_LABELS):
        message = "--marker-size is 1 to 1000, and -L is given three times at most"
        raise CheckpointError(message, "see --help")

    paths = [os.path.join(invocation.cwd, name) for name in (args.ours, args.base, args.theirs)]
    judge = None
    if args.schema is None:
        schema = load_merge_schema(paths[0].lstrip("/"))
    else:
        named = os.path.join(invocation.cwd, os.path.expanduser(args.schema))
        schema = scan_tokens(decode(read_schema("--schema", named)))
        if isinstance(schema, dict):
            judge = make_judge(schema)

    merged = _merge(paths, schema, args.marker_size, judge)
    if args.side is not None:
        merged = take_side(merged, args.side, args.marker_size)
    text = "".join(_relabel(merged.text, args.labels, args.marker_size))
    if not args.stdout:
        write_file(paths[0], text.encode())
    if not args.quiet:
        for line in _list_conflicts(merged, args.ours):
            invocation.stderr.write(f"checkpoint: {line}\n")

    output = (text,) if args.stdout else ()
    return Answer(output, min(len(merged.conflicts), _MOST_COUNTED))


def tell_error(words: list[str], error: CheckpointError) -> Answer:
    """Return a failure with git's exit code: those up to 127 count conflicts."""
    message = f"checkpoint: {error.message}"
    if error.hint:
        message = f"{message}; {error.hint}"
    return Answer((), FAILED, message)


def read_schema(option: str, path: str, root: dict[str, Any] | None = None) -> bytes:
    """Return a schema's bytes, by its full path. root: as for lint_schema. Raises CheckpointError
    if the schema cannot be read, or would be misread.
    """
    shown = f"{option}: {quote_word(path)}"
    try:
        data = _read(path)
        found = lint_schema(load(decode(data)), root)
    except (OSError, JsonTextError) as error:
        message = f"{shown} cannot be read: {error}"
        raise CheckpointError(message, "give the path of a JSON Schema") from None

    for finding in found:
        if root is not None or finding.code not in _HARMLESS:
            message = f"{shown}: {finding.where or '/'}: {finding.message}"
            raise CheckpointError(message, finding.hint)
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
            message = f"--schema: {error.message}"
            raise CheckpointError(message, "check the schema with a validator") from None
        path = quote_word(paths[_LABELS.index(error.version)])
        hint = command("git", "merge-file", *paths, more=" merges them as lines")
        raise CheckpointError(f"{path}: line {error.line}: {error.message}", hint) from None


def _read(path: str) -> bytes:
    # one byte too much: decode refuses what is longer than a document may be
    longest = MAX_BYTES + 1
    real = os.path.realpath(path)
    if real.startswith(("/dev/fd/", "/proc/")):
        # a pipe from the shell's <(...), whose writer is there
        with open(path, "rb") as pipe:
            return pipe.read(longest)
    with open_plain(real) as stream:
        return stream.read(longest)


def _relabel(text: str, labels: list[str], size: int) -> Iterator[str]:
    """Yield the parts of the text, with the user's labels in its conflict markers."""
    if not labels:
        yield text
        return

    # a line of JSON never begins with a marker: text in quotes has no line end
    names = dict(zip(_LABELS, labels, strict=False))
    marker = re.compile(rf"^([<|>])\1{{{size - 1}}} (ours|base|theirs)(?=:)", re.MULTILINE)
    last = 0
    for found in marker.finditer(text):
        yield text[last : found.start(2)] + escape_controls(names.get(found[2], found[2]))
        last = found.end()
    yield text[last:]


def _list_conflicts(merged: Merged, path: str) -> Iterator[str]:
    name = escape_controls(path)
    for clash in list_clashes(merged, 60):
        place = f"{name} at {escape_controls(clash.where) or '/'}"
        if clash.question:
            yield f"conflict in {place}: {say_question(clash.question)}"
        else:
            yield f"conflict in {place}: ours {clash.ours}, theirs {clash.theirs}"
    for line in tell_superseded(merged.context):
        yield f"{name}: {escape_controls(line)}"
