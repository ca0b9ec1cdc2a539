"""`checkpoint restore-point guard`: a hook that agents run before each tool call to let through what can be undone."""

import os
import re
import stat
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import JsonTextError, decode, load
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.discover import find_common_dir, find_place, find_repository, path_below
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.rules import is_plain_path, is_sensitive

ALLOWED, STOPPED = 0, 2
AUTO_EXPIRY = "2d"
_TICK = 1_000_000_000  # nanoseconds by which the clock of a file system may lag
_MAX_CALL = 64 << 20  # bytes: a tool call holds the whole content of a file


# Names of tools are matched whole: a file that is called after a tool means nothing.
_TABLE = load_document(__file__, "commands.json")


class Call(NamedTuple):
    tool: str
    reads: bool
    loss: str = ""  # what no restore point can undo
    path: str = ""  # what it changes, absolute; "" for what cannot be known from the call, so anything
    cwd: str = ""
    targets: Sequence[str] = ()  # what a shell command deletes or overwrites by its words, absolute
    fed: str = ""  # the database client to which it gives statements that nobody can see


class Cover(NamedTuple):
    point: str
    asked: tuple[str, ...]  # its scopes below the workspace, "" for all of it
    entries: Mapping[str, Mapping[str, Any]]  # what it holds
    left_out: frozenset[str]
    began: int  # nanoseconds since 1970
    client: str = ""  # of the databases that it holds


class Verdict(NamedTuple):
    allowed: bool
    reason: str = ""
    needs: str = ""  # the scope of a point that would change the answer
    lacks: Sequence[str] = ()  # of it what git ignores


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--reader", metavar="TOOL", action="append", help="another tool that only reads")
    parser.add_argument("--auto", action="store_true", help="create a missing restore point instead of blocking")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    stream: Any = getattr(invocation.stdin, "buffer", invocation.stdin)
    data = stream.read(_MAX_CALL + 1)
    if len(data) > _MAX_CALL:
        return _stop("the tool call on stdin is too long")
    try:
        value = load(decode(data if isinstance(data, bytes) else data.encode()))
    except JsonTextError:
        return _stop("the tool call on stdin is not JSON")
    call = read_call(value, invocation.cwd, args.reader or ())
    if call is None:
        return _stop("the tool call on stdin has an unknown form")
    return Answer((), ALLOWED) if call.reads else _judge(call, invocation, auto=2 * args.auto)


def tell_error(words: Sequence[str], error: CheckpointError) -> Answer:
    return _stop(f"{error.message} ({error.hint})" if error.hint else error.message)


def _stop(reason: str, needs: str = "") -> Answer:
    hint = f"; make one first: checkpoint restore-point create {needs} --expiry 8h" if needs else ""
    return Answer((), STOPPED, f"stopped: {shorten(escape_controls(reason), 500)}{hint}")


def _judge(call: Call, invocation: Invocation, *, auto: int) -> Answer:
    # auto: how many points it may make
    if call.loss:
        return _stop(f"{call.loss}; let the user run it")
    path = os.path.realpath(call.path) if call.path else ""  # what a tool writes through a link must be covered
    here = call.cwd if os.path.isdir(call.cwd) else invocation.cwd
    repository = find_repository(os.path.dirname(path) if path and os.path.isdir(os.path.dirname(path)) else here)
    root, git_dir = repository or (here, "")
    if repository is None:
        with suppress(CheckpointError):
            root = find_place(here).root
    root = os.path.realpath(root)
    # read no further than needed: a manifest of thousands of files takes its time
    covers = _read_covers(root, git_dir, invocation.now)
    verdict = decide(call._replace(path=path), root, covers, Present(root, git_dir))
    if verdict.allowed or not (auto and verdict.needs):
        return Answer((), ALLOWED) if verdict.allowed else _stop(verdict.reason, verdict.needs)
    from checkpoint_git.protocols.restore import layout, operations, points

    workspace = layout.open_workspace(root, invocation.now, invocation.env)
    scope = [os.path.join(root, one) for one in verdict.lacks] or [path or root]
    request = points.Request(scope, f"before {call.tool}", plain=frozenset(scope), made_for="guard")
    operations.create_point(workspace, request, "file_backup" if verdict.lacks else None, AUTO_EXPIRY)
    return _judge(call, invocation, auto=auto - 1) if call.targets else Answer((), ALLOWED)


def read_call(value: Any, cwd: str, more_readers: Iterable[str] = ()) -> Call | None:
    """None where it makes no sense. more_readers: tools that only look, too."""
    if not isinstance(value, Mapping):
        return None
    tool, given = value.get("tool_name"), value.get("tool_input", {})
    if not isinstance(tool, str) or not tool or not isinstance(given, Mapping):
        return None
    if tool in _TABLE["reading_tools"] or tool in frozenset(more_readers):
        return Call(tool, True)
    here = value.get("cwd")
    here = here if isinstance(here, str) and os.path.isabs(here) and "\0" not in here else cwd
    if tool in _TABLE["changing_tools"]:
        path = next((given[name] for name in _TABLE["changing_tools"][tool].split() if name in given), None)
        if not isinstance(path, str) or not path or "\0" in path:
            return None
        return Call(tool, False, "", os.path.normpath(os.path.join(here, path)), here)
    if tool in _TABLE["shell_tools"]:
        command = given.get("command")
        if not isinstance(command, str) or "\0" in command:
            return None
        from checkpoint_git.protocols.restore.shell_command import MOST, find_fed, find_loss, find_targets, is_looking

        if (looks := len(command) <= MOST and is_looking(command)) or (loss := find_loss(command)):
            return Call(tool, looks, "" if looks else loss, "", here)
        return Call(tool, False, "", "", here, find_targets(command, here), find_fed(command))
    return Call(tool, False, cwd=here)


# Reading always passes; a change passes only where a live restore point covers it. It fails closed: a tool that it does
# not know counts as one that changes things, and whatever goes wrong stops the call. Exit code 0 lets the call go on, 2
# stops it with the reason on stderr.
def decide(call: Call, root: str, covers: Iterable[Cover], present: "Present") -> Verdict:
    """root: the workspace, absolute, its links followed, as the call's path is."""
    if call.reads:
        return Verdict(True)
    if any(f"{root}/".startswith(f"{os.path.realpath(one)}/") for one in call.targets):
        return Verdict(False, "by its words it may delete or overwrite the whole workspace, restore points included")
    if not call.path:
        covers = tuple(covers) if call.targets or call.fed else covers
        if call.fed and all(cover.client != call.fed for cover in covers):
            hint = (
                "checkpoint restore-point create --database URL makes one"
                if call.fed == "psql"
                else "let the user run it"
            )
            return Verdict(False, f"{call.fed} may change a database that no live restore point holds: {hint}")
        whole = (cover for cover in covers if "" in cover.asked)
        newest = max(whole, key=lambda cover: (cover.point[:19], cover.began), default=None)  # marks are in no order
        if newest is None:
            reason = f"{call.tool} may change anything, and no live restore point covers the whole workspace"
            return Verdict(False, reason, ".")
        changed = [path for path in present.find_changed(newest) if not _holds(newest, path, present)]
        if changed:
            reason = f"{call.tool} may change anything, and {newest.point} does not hold {changed[0]} as it is now"
            return Verdict(False, reason, ".")
        found = present.find_files(call.targets)
        lost = [(each, path) for each, path in found if not any(_holds(one, path, present) for one in covers)]
        secret, lacks = [path for _, path in lost if is_sensitive(path)], list(dict.fromkeys(each for each, _ in lost))
        if secret or not lost:
            return Verdict(not lost, _explain_secret(secret[0]) if secret else "")
        reason = f"{call.tool} may delete or overwrite {lost[0][1]}, and no live restore point holds it as it is now"
        return Verdict(False, reason, f"{' '.join(map(_quote, lacks[:20]))} --type file_backup", lacks)
    path = path_below(root, call.path)
    if not path:
        return Verdict(False, f"{call.path} is outside the workspace, where no restore point can cover it")
    if not is_plain_path(path):
        return Verdict(False, f"{path} belongs to git or to the restore points themselves")
    is_there, behind = present.exists(path), ""
    for cover in covers:
        is_asked = any(scope in ("", path) or path.startswith(f"{scope}/") for scope in cover.asked)
        if _holds(cover, path, present) if is_there else is_asked or path in cover.entries:
            return Verdict(True)
        behind = behind or (cover.point if is_asked or path in cover.entries else "")
    if is_sensitive(path) and is_there:
        return Verdict(False, _explain_secret(path))
    if behind:
        return Verdict(False, f"{behind} does not hold {path} as it is now", _quote(path))
    return Verdict(False, f"no live restore point covers {path}", _quote(path) + ("" if is_there else " --absent"))


def _explain_secret(path: str) -> str:
    command = f"checkpoint restore-point create {_quote(path)} --include {_quote(path)}"
    return f"{path} looks like a secret by its name, which is kept only when asked: {command}"


def _quote(path: str) -> str:
    return quote_word(path if not path.startswith(("-", "state:")) else f"./{path}")


def _holds(cover: Cover, path: str, present: "Present") -> bool:
    entry = cover.entries.get(path)
    return entry is not None and present.is_as_kept(path, entry, cover.began)


class Present:
    """What is in the workspace now."""

    def __init__(self, root: str, git_dir: str) -> None:
        self._root, self._git_dir = root, git_dir

    def exists(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self._root, path))

    def find_files(self, targets: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(one of them, each file that it is or that is below it), relative to the workspace."""
        from checkpoint_git.protocols.restore.scope import read_scope

        for full in targets:
            path = path_below(self._root, full)
            if path and is_plain_path(path):
                found = read_scope(self._root, [full], plain=frozenset([full]))
                files = [one.path for one in [*found.found, *found.secret] if one.kind in ("file", "link")]
                rebuilt = re.compile(rf"(?:{_TABLE['rebuilt']})\Z")
                yield from ((path, one) for one in files if not any(map(rebuilt.match, one.split("/"))))

    def is_as_kept(self, path: str, entry: Mapping[str, Any], began: int) -> bool:
        from checkpoint_git.protocols.restore.contents import compare_entries, read_entry
        from checkpoint_git.protocols.restore.scope import look_at, read_entry_at

        found = look_at(self._root, path)
        if found.status is None or found.status.st_ctime_ns < began - _TICK:
            return True
        return not compare_entries([read_entry(entry)], [read_entry_at(self._root, found)])

    def find_changed(self, cover: Cover) -> Iterable[str]:
        """What was written since, and what the point lacks."""
        if not self._git_dir:
            from checkpoint_git.protocols.restore.scope import read_scope

            found = read_scope(self._root, [self._root])
            paths = [one.path for one in [*found.found, *found.secret] if one.kind != "folder"]
        else:
            from checkpoint_git.git.run import clean_env, read_names

            words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name"]
            paths = list(dict.fromkeys(read_names(words, self._root, env=clean_env(os.environ))))
        for path in paths:
            status = layout.read_status(os.path.join(self._root, path)) if is_plain_path(path) else None
            if status is None or stat.S_ISDIR(status.st_mode) or path in cover.left_out:
                continue
            if path not in cover.entries or status.st_ctime_ns >= cover.began - _TICK:
                yield path


def _read_covers(root: str, git_dir: str, now: int) -> Iterator[Cover]:
    # what came with a branch covers nothing: only what is in the store was made here
    from checkpoint_git.protocols.restore import store

    base, refs = layout.find_base(root, git_dir or None), frozenset[str]()
    if git_dir:
        from checkpoint_git.git.private_objects import read_refs

        refs = frozenset(read_refs(root, layout.REF_PREFIX, os.environ))
    own = os.path.basename(git_dir.rstrip("/")) if git_dir and find_common_dir(git_dir) != git_dir else ""
    for point in reversed(layout.list_ids(base)):
        try:
            manifest = store.parse_manifest(point, layout.read_manifest(base, point))
        except OSError:
            continue
        value = manifest.value
        if store.find_state(manifest, now) not in ("active", "restored") or value.get("work_tree", "") != own:
            continue
        if value["type"] != "git_stash" or point in refs:
            held = {str(entry["path"]): entry for entry in value["entries"]}
            left = frozenset(str(one["path"]) for one in value.get("left_out", []))
            client = "psql" if any(one["kind"] == "postgresql" for one in value.get("parts", [])) else ""
            yield Cover(point, tuple(value["scope"]["asked"]), held, left, value.get("began", 0), client)
