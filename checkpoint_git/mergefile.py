"""Three files on disk merged as git's merge drivers do: read, merge, replace, and fall back to
git's text merge.
"""

import gc

from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode
from checkpoint_git.disk.replace import remove_quietly, replace_file, system, write_temporary
from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.protocols.registry import is_merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from checkpoint_git.merge.result import Choice, Result

CLEAN, CONFLICT = 0, 3
NOTHING_DONE = 4
# whether a value follows
OPTIONS = {
    "--base": False,
    "--narrative": True,
    "--merge-schema": True,
    "--schema": True,
}
USAGE = "usage: driver.py [--base] [--narrative RULE] [--merge-schema FILE | --schema FILE] BASE OURS THEIRS SIZE PATH"


class MergeRequest:
    """What git asks for: the three files, the size of conflict markers, the path in the repository,
    the options. inner: a merge of merge bases. narrative: as merge_file takes it. schema: a file
    whose skill_state schema extends ours, or "". whole_schema: the schema of a file that is not a
    checkpoint, named by its SHA-256, or "".
    """

    __slots__ = (
        "base",
        "inner",
        "marker_size",
        "narrative",
        "ours",
        "path",
        "schema",
        "theirs",
        "whole_schema",
    )

    def __init__(self, words: "list[str]", options: "dict[str, str]") -> None:
        self.base, self.ours, self.theirs, marker_size, self.path = words
        self.marker_size = int(marker_size)
        self.inner = "--base" in options
        self.narrative = options.get("--narrative", "auto")
        self.schema = options.get("--merge-schema", "")
        self.whole_schema = options.get("--schema", "")


# On git's hot path: it imports only what the interpreter is made of.
def main(arguments: "list[str]", conflict: int = CONFLICT) -> "NoReturn":
    """Merge, and end the process at once: there is nothing to tear down.

    The exit code is for the command that git was configured with: 0 clean, 3 a conflict that is
    written into the file. Anything else means that nothing was done, and that command then runs
    git's text merge. Nothing is written to stdout.
    """
    gc.disable()  # it would not pay
    code = NOTHING_DONE
    try:
        code = merge_files(read_request(arguments))
    except Exception as error:  # whatever it is, the configured command merges as text
        fault = f"{type(error).__name__}: {error}"
        _say(f"the driver failed ({fault}); falling back to git's text merge")
    if code == CONFLICT:
        code = conflict
    system._exit(code)


def read_request(arguments: "list[str]") -> MergeRequest:
    """Return what the words of a command line ask for. Raises ValueError for an unknown form."""
    options: dict[str, str] = {}
    words = list(arguments)
    while len(words) > 1 and words[0] in OPTIONS:
        name = words.pop(0)
        options[name] = ""
        if OPTIONS[name]:
            options[name] = words.pop(0)
    if len(words) != 5:
        raise ValueError(USAGE)
    return MergeRequest(words, options)


def merge_files(request: MergeRequest) -> int:
    """Merge the files; return CLEAN or CONFLICT. Raises OSError if one is not read or written."""
    base, ours, theirs = [_read(path) for path in (request.base, request.ours, request.theirs)]
    try:
        schema, is_user_schema = _load_schema(request)
        judge = None
        if is_user_schema:
            from checkpoint_git.core.user_schema import make_judge  # few merges need it

            judge = make_judge(schema)
        merged = merge_file(
            base,
            ours,
            theirs,
            schema,
            narrative=request.narrative,
            marker_size=request.marker_size,
            inner=request.inner,
            path=request.path,
            judge=judge,
        )
    except (
        Exception
    ) as error:  # no JSON that we accept, or a fault of ours: neither may cost theirs
        return _merge_as_text(request, error)

    replace_file(request.ours, merged.data)
    for conflict in merged.conflicts:
        _report_conflict(request.path, conflict, merged.result)
    if merged.context.superseded:
        from checkpoint_git.merge.superseded import tell_superseded

        for line in tell_superseded(merged.context):
            _say(f"{request.path}: {line}")

    return CONFLICT if merged.conflicts else CLEAN


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read(MAX_BYTES + 1)  # decode refuses what is longer


def _load_schema(request: MergeRequest) -> "tuple[dict[str, Any], bool]":
    """Return the schema to merge by, and whether it is one that the user wrote for the whole
    file.
    """
    try:
        schema = load_merge_schema(request.path, request.schema, request.whole_schema)
    except Exception as error:
        if not request.schema and not request.whole_schema:
            raise
        _say(f"{error}; {request.path} is merged without it")
        return load_merge_schema(request.path), False
    return schema, bool(request.whole_schema)


def _say(text: str) -> None:
    from checkpoint_git.core.terminal_text import escape_controls

    data = f"checkpoint: {escape_controls(text)}\n".encode("utf-8", "backslashreplace")
    try:
        system.write(2, data)
    except OSError:
        return  # nobody listens, and what is merged is merged


def _report_conflict(path: str, conflict: "Choice", result: "Result") -> None:
    from checkpoint_git.core.terminal_text import quote_path, quote_word
    from checkpoint_git.merge.markers import say_question, say_side

    if conflict.note:
        question = say_question(conflict.note, quote_path(path))
        _say(f"conflict in {path} at {conflict.where}: {question}")
        return

    command = f"checkpoint resolve {quote_path(path)}"
    if conflict.where:
        command += f" --where {quote_word(conflict.where)}"
    command += " --take ours"
    fields = [
        f"{place or '/'}: ours {say_side(field.sides[0])}, theirs {say_side(field.sides[2])}"
        for place, field in _list_fields(conflict, result)
    ]
    if len(fields) == 1:
        _say(f"conflict in {path} at {fields[0]}; to decide (ours or theirs): {command}")
        return

    _say(f"conflict in {path} at {len(fields)} fields that are decided together:")
    for field in fields:
        _say(f"  {field}")
    _say(f"  to decide (ours or theirs): {command}")


def _list_fields(conflict: "Choice", result: "Result") -> "list[tuple[str, Choice]]":
    """Return the fields of a group on which the sides disagree, with their places.

    Any other conflict is one field.
    """
    from checkpoint_git.merge.file import placed_choices
    from checkpoint_git.merge.result import value_of

    whole = [(conflict.where, conflict)]
    if not conflict.group or conflict.group.endswith("#part"):  # a part of a list is one place
        return whole
    fields = []
    for place, field in placed_choices(result):
        if field.group != conflict.group:
            continue
        ours, theirs = [
            None if side is None else value_of(side, 0) for side in (field.sides[0], field.sides[2])
        ]
        if ours != theirs:
            fields.append((place, field))

    return fields or whole


def _merge_as_text(request: MergeRequest, error: BaseException) -> int:
    """Merge with git's text merge, whose clean result counts only if it is JSON."""
    from checkpoint_git.core.terminal_text import quote_path

    reason = getattr(error, "message", "") or f"{type(error).__name__}: {error}"
    _say(f"{request.path}: not merged by its structure ({reason}); using git's text merge")
    faults = [_find_fault(request.ours), _find_fault(request.theirs)]
    code = _run_merge_file(request)
    if code >= 128:
        _keep_theirs(request)
        return CONFLICT

    if code == 0:
        return _check_clean(request, faults)
    _say(f"conflict in {request.path}; to decide: checkpoint resolve {quote_path(request.path)}")
    return CONFLICT


def _run_merge_file(request: MergeRequest) -> int:
    """Return how git's text merge ended.

    It writes beside ours, because a full disk would leave a part of it there.
    """
    import os

    from checkpoint_git.core.platform import spawn

    labels = ["-L", "ours", "-L", "base", "-L", "theirs"]
    words = ["git", "merge-file", "-p", f"--marker-size={request.marker_size}", *labels]
    words += ["--", request.ours, request.base, request.theirs]
    temporary = write_temporary(request.ours, b"", system.lstat(request.ours), sync=False)
    try:
        with open(temporary, "wb") as stream:
            code = spawn(words, os.environ, (0, stream.fileno(), 2))() & 0xFF
        if code < 128:
            system.replace(temporary, request.ours)
    finally:
        remove_quietly(temporary)

    return code


def _check_clean(request: MergeRequest, faults: "list[JsonTextError | None]") -> int:
    """Return CLEAN or CONFLICT for what git merged as text without a conflict.

    faults: what was wrong with ours and theirs before.
    """
    fault = _find_fault(request.ours)
    if fault is None:
        return CLEAN
    codes = [before.code for before in faults if before is not None]
    if codes == [fault.code, fault.code] and not is_merged(request.path):
        return CLEAN  # it was never JSON, and as text it is merged
    place = f"{request.path}: line {fault.line}"
    _say(f"{place}: the text merge is not valid JSON: {fault.message}; fix it by hand")
    return CONFLICT


def _find_fault(path: str) -> "JsonTextError | None":
    from checkpoint_git.core.jsonlines import parse_any

    try:
        parse_any(decode(_read(path)))
    except JsonTextError as error:
        return error
    return None


def _keep_theirs(request: MergeRequest) -> None:
    """Write theirs beside ours: git's text merge refuses binary content, and leaves ours alone."""
    import os

    from checkpoint_git.disk.atomic import create_beside

    folder = os.path.dirname(request.path)
    name = os.path.basename(request.path) or "checkpoint"
    if os.path.isabs(folder) or not os.path.isdir(folder):
        folder = "."
    with open(request.theirs, "rb") as theirs:
        beside = create_beside(os.path.join(folder, name), ".theirs", theirs.read())
    _say(f"{request.path}: binary content, ours stays in the file; theirs is kept in {beside}")
