"""Points made and proven: content captured, read back, restored in a rehearsal, and only then given its name."""

import os
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.atomic import create_file
from checkpoint_git.disk.read import read_own
from checkpoint_git.git import private_objects
from checkpoint_git.git.objects import GITLINK, find_missing
from checkpoint_git.git.objects import Entry as TreeEntry
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.restore import contents, layout, rules, scope, store
from checkpoint_git.protocols.restore.contents import Artifact, Entry, Location, ScopePath
from checkpoint_git.protocols.restore.contents import Request as ArtifactRequest
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.mechanisms import files as file_mechanisms
from checkpoint_git.protocols.restore.mechanisms import git as git_state
from checkpoint_git.protocols.restore.mechanisms import parts as artifacts

_MAX_REASON = 500
_TRIES = 4
_PAUSE = 0.5  # seconds, for a prune to go on
_AT_ONCE = 1000  # names on one command line of restore.sh
_REHEARSED = 20  # files that it restores in its rehearsal, those with the oddest names
_MOST_REHEARSED = 16 << 20  # bytes of one of them


class Capture(NamedTuple):
    asked: list[str]
    found: list[ScopePath]
    left_out: list[tuple[str, str]]  # (path, why); a folder with all below it ends in "/"
    warnings: list[str]


class Request(NamedTuple):
    """What a point is asked to hold."""

    asked: Sequence[str] = ()  # scopes; none for a point without files
    reason: str = ""
    kind: str = "file_backup"
    expires: int | None = None
    parts: Sequence[ArtifactRequest] = ()  # states and databases
    plain: frozenset[str] = frozenset()  # those of `asked` that are no patterns
    include: frozenset[str] = frozenset()  # paths to keep although their names are those of secrets
    may_lack: bool = True  # what is asked for need not be there
    made_for: str = ""  # "rollback" and "guard" for what the user did not ask for
    branches: Mapping[str, str] = {}  # to keep beside HEAD's -> their commits


class CreatedPoint(NamedTuple):
    manifest: store.Manifest
    entries: list[Entry]
    location: Location
    warnings: list[str]
    proofs: dict[str, bool]  # what was verified -> whether it was so
    uncommitted: list[str] | None  # what in scope differs from HEAD; None outside git
    artifacts: Sequence[Artifact] = ()


def plan_capture(workspace: Workspace, request: Request, claimed: frozenset[str] = frozenset()) -> Capture:
    """Raises CheckpointError for a scope that is empty, outside, or all secret. claimed: files of databases."""
    if not request.asked:
        return Capture([], [], [], [])
    named = scope.read_scope(workspace.root, request.asked, workspace.cwd, request.plain, may_lack=request.may_lack)
    secret = _find_secret(workspace, named.secret, request.include)
    harmless = [one for one in named.secret if one.path not in secret]
    found = sorted((one for one in [*named.found, *harmless] if one.path not in claimed), key=lambda one: one.path)
    ignored = frozenset[str]()
    if request.kind == "git_stash":
        found, ignored = _without_ignored(workspace, named.asked, found)
    if secret and all(one.kind == "folder" for one in found):
        hint = f"secrets are not copied into a restore point: {scope.list_some(secret)}; --include PATH keeps one"
        raise CheckpointError("every file in this scope looks like a secret by its name", hint)
    if not found and not claimed:
        raise CheckpointError("the scope is empty", "name files, folders or patterns that are there")
    folders = [one.path for one in found if one.kind == "folder"]
    names = Counter((one.status.st_dev, one.status.st_ino) for one in found if one.status)
    linked = [
        one.path
        for one in found
        if one.kind == "file" and one.status and one.status.st_nlink > names[one.status.st_dev, one.status.st_ino]
    ]
    nested = [path for path in folders if os.path.lexists(os.path.join(workspace.root, path, ".git"))]
    left_out = [
        *((path, "secret") for path in secret),
        *((path, "not a file") for path in named.special),
        *((path, "ignored by git") for path in sorted(ignored)),
    ]
    warnings = (
        ("excluded, since secrets are not copied (--include PATH keeps one)", secret),
        ("excluded, since they are not regular files", named.special),
        ("excluded, since git ignores them (name them to include them)", sorted(ignored)),
        ("with other names outside of the scope (hard links), which a rollback leaves as they are", linked),
        ("another repository, of which the files are kept and its own history is not", nested),
    )
    told = [f"{text}: {scope.list_some(paths)}" for text, paths in warnings if paths]
    return Capture(named.asked, found, left_out, told)


def _find_secret(workspace: Workspace, found: Sequence[ScopePath], include: frozenset[str]) -> list[str]:
    # a name alone makes no secret of code, of documents, and of what everybody with the repository has
    paths = [one.path for one in found if one.path not in include]
    doubtful = [path for path in paths if rules.is_doubtful(path)]
    asked = doubtful if workspace.git_dir else []
    tracked = private_objects.read_tracked(workspace.root, asked, workspace.env)
    kept = {path for path in doubtful if path in tracked or rules.is_harmless(os.path.join(workspace.root, path))}
    return [path for path in paths if path not in kept]


def _without_ignored(
    workspace: Workspace, asked: Sequence[str], found: Sequence[ScopePath]
) -> tuple[list[ScopePath], frozenset[str]]:
    # what git ignores stays out, unless it was named itself or is in an ignored folder that was
    root, ignored = workspace.root, private_objects.read_ignored(workspace.root, workspace.env)
    folders = tuple(path for path in ignored if path.endswith("/"))
    files = frozenset(ignored).difference(folders)
    within = [path for path in asked if path and (path in files or f"{path}/".startswith(folders))]
    patterns = {path: scope.match(root, path) for path in within if not os.path.lexists(os.path.join(root, path))}
    named = tuple(f"{each}/" for path in within for each in patterns.get(path) or [path])
    kept, left_out = list[ScopePath](), set[str]()
    for one in found:
        way = f"{one.path}/"
        if way.startswith(named) or not (one.path in files or way.startswith(folders)):
            kept.append(one)
        else:
            whole = one.path if one.path in files else next(each for each in folders if way.startswith(each))
            left_out.add(one.path if whole == f"{layout.FOLDER}/" else whole)
    # the folder alone is no loss: files of the user in it are listed themselves
    return kept, frozenset(left_out - {layout.FOLDER})


def create(workspace: Workspace, request: Request) -> CreatedPoint:
    """Nothing of the user's is touched. Raises CheckpointError; what was begun is removed then."""
    if not request.asked and not request.parts:
        raise CheckpointError("the scope is empty", "name files, folders, patterns, states or databases")
    captured = plan_capture(workspace, request, artifacts.find_claimed(request.parts))
    files = [one.path for one in captured.found if one.kind == "file"]
    captured.warnings.extend(artifacts.find_warnings(workspace.root, request.parts, files))
    uncommitted = None
    if workspace.git_dir:
        paths = {one.path for one in captured.found}
        uncommitted = [path for path in private_objects.read_changed(workspace.root, workspace.env) if path in paths]
    store.clear_unfinished(workspace)
    for tries in reversed(range(_TRIES)):
        try:
            made = _build(workspace, request, captured)
            break
        except (file_mechanisms.LostError, private_objects.CutShortError):  # a prune that ran meanwhile
            if not tries:
                message = "git pruned content while the point was made"
                raise file_mechanisms.LostError(message, "run it again when `git gc` has finished") from None
            time.sleep(_PAUSE)
    return made._replace(uncommitted=uncommitted)


def _build(workspace: Workspace, request: Request, captured: Capture) -> CreatedPoint:
    point, kind, began = layout.make_id(workspace.now), request.kind, time.time_ns()
    with store.build_folder(workspace.base, point) as folder:
        location = Location(workspace.root, folder, workspace.env)
        in_git = workspace.git_dir and captured.asked
        state, commits, staged = git_state.capture(workspace, folder, request.branches) if in_git else (None, [], {})
        entries = _capture_proven(location, kind, captured.found)
        kept = artifacts.capture(location, request.parts)
        text = os.fsencode(_write_script(location.root, point, kind, entries, kept))
        value: dict[str, Any] = {
            "schema_version": store.SCHEMA_VERSION,
            "id": point,
            "type": kind,
            "created_at": write_instant(workspace.now),
            "began": began,  # nanoseconds, by this machine's clock: what changed later shows in its ctime
            "expires_at": None if request.expires is None else write_instant(request.expires),
            "reason": shorten(request.reason, _MAX_REASON),
            "made_for": request.made_for,
            "scope": {
                "asked": captured.asked,
                "files": [entry.path for entry in entries if entry.kind in ("file", "link")],
                "state_keys": [one.name.partition(":")[2] for one in kept if one.kind == "state"],
            },
            "entries": [contents.write_entry(entry) for entry in entries],
            "left_out": [{"path": path, "reason": why} for path, why in captured.left_out],
            "parts": [{**one._asdict(), "details": dict(one.details)} for one in kept],
            "size": sum(one.size for one in entries) + sum(one.size for one in kept),
            "hash": contents.hash_contents(entries, kept),
            "git": state and state._asdict(),
            "warnings": captured.warnings,
            "restore_script": sha256(text).hexdigest(),
            "work_tree": store.find_work_tree(workspace),
        }
        value = {**value, "digest": store.find_digest(value), "state": "active", "history": []}
        own_files = {layout.MANIFEST: store.write_text(value), layout.RESTORE_SCRIPT: text}
        create_file(os.path.join(folder, layout.MANIFEST), own_files[layout.MANIFEST], 0o600)
        # what the guard makes at a tool call must be there soon
        works = None if request.made_for == "guard" else _rehearse_script(location, point, kind, entries, kept)
        create_file(os.path.join(folder, layout.RESTORE_SCRIPT), text, 0o600)
        commit = _keep_in_git(location, value, entries, own_files, staged, commits) if in_git else ""
    store.write_copy(workspace, point)
    location = location._replace(folder=layout.point_folder(workspace.base, point), commit=commit)
    proofs = {
        "content read back": True,
        "restore rehearsed": True,
        "restore.sh rehearsed": bool(works),
        "kept by a ref": kind != "git_stash" or bool(commit),
        "whole scope kept": not captured.left_out,
    }
    if works is False:
        captured.warnings.append("restore.sh failed its test run: use `rollback` instead")
    if kept:
        proofs["parts read back"] = not artifacts.find_damage(location, kept)
    return CreatedPoint(store.Manifest(point, value), entries, location, captured.warnings, proofs, None, kept)


def _capture_proven(location: Location, kind: str, found: Sequence[ScopePath]) -> list[Entry]:
    kept = {one.path: Entry(one.path, "absent") for one in found}
    waiting = list(found)
    for _ in range(_TRIES):
        with suppress(scope.ChangedError):
            entries = scope.mark_twins(file_mechanisms.capture(kind, location, waiting), waiting)
            kept.update((entry.path, entry) for entry in entries)
            lost = rehearse(location, kind, entries)
            waiting = [one for one in waiting if one.path in lost]  # they were written to in between
            if not waiting:
                return scope.mark_twins(kept.values(), found)
        before, waiting = waiting, [scope.look_at(location.root, one.path) for one in waiting]
    was = {one.path: layout.find_version(one.status) for one in before}
    changed = (one for one in waiting if layout.find_version(one.status) != was[one.path])
    raise scope.changing_error(next(changed, waiting[0]).path)


def _keep_in_git(
    location: Location,
    value: dict[str, Any],
    entries: Sequence[Entry],
    own: dict[str, bytes],
    staged: dict[str, TreeEntry],
    commits: Sequence[str],
) -> str:
    """The commit of all blobs, what is staged, and the point's own files. The ref is created and never moved."""
    message = f"checkpoint:{value['id']}:{value['reason']}\n"
    commit = file_mechanisms.write_commit(location, message, entries, own, staged, commits)
    ref = layout.ref_name(value["id"])
    if not private_objects.create_ref(location.root, ref, commit, location.env):
        raise CheckpointError(f"there is a restore point {value['id']} already", "run the same command again")
    # A prune that began before the ref was there may have removed objects that it names.
    blobs = {entry.blob for entry in entries if entry.blob}
    blobs.update(one.blob for one in staged.values() if one.mode != GITLINK)
    env = private_objects.quiet_env(location.env)
    is_there = not find_missing(location.root, [commit, *sorted(blobs)], env)
    if not is_there or run_git(["ls-tree", "-r", commit], location.root, env=env, check=False).code:
        private_objects.remove_ref(location.root, ref, commit, location.env)
        raise private_objects.CutShortError
    return commit


def _write_script(root: str, point: str, mechanism: str, entries: Sequence[Entry], kept: Sequence[Artifact]) -> str:
    # plain POSIX sh: every name is quoted, so nothing in one is run; nothing that is not in the point is removed
    text = read_own(__file__, "restore.sh")
    notes = "".join(f"#  - {ascii(line)[1:-1]}\n" for line in artifacts.find_prerequisites(kept))
    lines = [(one.kind, artifacts.open_mechanism(one.kind).write_lines(one)) for one in kept if one.content]
    databases = [line for kind, line in lines if kind != "state"]
    states = [line for kind, line in lines if kind == "state"]
    files = _write_lines(root, mechanism, entries) if entries else []
    values = {
        "@POINT@": point,
        "@FOLDER@": quote_word(f"./{layout.FOLDER}/{point}"),
        "# @PREREQUISITES@\n": f"# Before you run it:\n{notes}" if notes else "",
        "# @LINES@\n": "".join([*databases, *files, *states]),
    }
    # in one pass: a file may be called @LINES@
    return re.sub("|".join(values), lambda match: values[match[0]], text)


def _write_lines(root: str, mechanism: str, entries: Sequence[Entry]) -> list[str]:
    # first everything is taken to a folder of our own and compared there, then each file is moved to its place
    use, take = ("use_git", "take_blob") if mechanism == "git_stash" else ("use_copies", "take_copy")
    ordered = [(entry, quote_word(f"./{entry.path}")) for entry in sorted(entries, key=lambda entry: entry.path)]
    folders = [(entry, name) for entry, name in ordered if entry.kind == "folder"]
    files = list(enumerate(((entry, name) for entry, name in ordered if entry.kind == "file"), 1))
    lines = [f"{use}\n", *(f"{take} {number} {entry.blob or name}\n" for number, (entry, name) in files)]
    if files:
        sums = "".join(f"{entry.sha256}  {number}\n" for number, (entry, _) in files)
        lines.append(f"sums <<'SUMS'\n{sums}SUMS\n")
    for mode in sorted({entry.mode for _, (entry, _) in files}):
        numbers = [str(number) for number, (entry, _) in files if entry.mode == mode]
        for at in range(0, len(numbers), _AT_ONCE):
            chosen = " ".join(numbers[at : at + _AT_ONCE])
            lines.append(f'(cd -- "$work" && chmod {mode:04o} {chosen}) 2>/dev/null\n')
    lines += [f"folder {name}\n" for _, name in folders]
    lines += [f"put {number} {name}\n" for number, (_, name) in files]
    for entry, name in ordered:
        if entry.kind == "link":
            lines.append(f"link {quote_word(os.readlink(os.path.join(root, entry.path)))} {name}\n")
    lines += [f"twin {quote_word(f'./{entry.twin}')} {name}\n" for entry, name in ordered if entry.twin]
    return lines + [f"chmod {entry.mode:04o} -- {name} || fail {name}\n" for entry, name in reversed(folders)]


def find_damage(location: Location, manifest: store.Manifest) -> list[str]:
    holding = [entry for entry in store.read_entries(manifest) if entry.kind in ("file", "link")]
    damaged: list[str] = []
    kept = file_mechanisms.read_contents(manifest.value["type"], location, holding)
    for entry, content in zip(holding, kept, strict=True):
        digest, size = sha256(), 0
        for chunk in content or ():
            digest.update(chunk)
            size += len(chunk)
        if content is None or (size, digest.hexdigest()) != (entry.size, entry.sha256):
            damaged.append(entry.path)
    return damaged + artifacts.find_damage(location, artifacts.read_artifacts(manifest.value))


def rehearse(location: Location, kind: str, entries: Sequence[Entry]) -> set[str]:
    """Restores everything in an empty folder. Returns the paths that did not come back as captured."""
    with _stage(location) as folder:
        restore_entries(location, kind, entries, folder, sync=False)
        return _compare_stage(folder, entries)


@contextmanager
def _stage(location: Location) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=location.folder) as folder:
        yield folder
        for path, names, _ in os.walk(folder):  # a folder that is closed to its owner could not be removed
            for name in names:
                if not os.path.islink(os.path.join(path, name)):
                    os.chmod(os.path.join(path, name), 0o700)


def _compare_stage(folder: str, entries: Sequence[Entry]) -> set[str]:
    found = scope.read_entries(folder, [scope.look_at(folder, one.path)._replace(kind=one.kind) for one in entries])
    return {difference.path for difference in contents.compare_entries(entries, found)}


def _rehearse_script(
    location: Location, point: str, kind: str, entries: Sequence[Entry], kept: Sequence[Artifact]
) -> bool:
    """Runs a restore.sh of some of the entries, and all parts but those of a server, in an empty folder."""
    files = [entry for entry in entries if entry.kind != "folder" and entry.size < _MOST_REHEARSED]
    odd_first = sorted(files, key=lambda entry: re.fullmatch(r"[\w./-]+", entry.path, re.ASCII) is not None)
    some = contents.match_twins(odd_first[:_REHEARSED])
    script = os.path.join(location.folder, layout.RESTORE_SCRIPT)
    create_file(script, os.fsencode(_write_script(location.root, point, kind, some, kept)), 0o600)
    with _stage(location) as folder:
        env = {**location.env, "CHECKPOINT_WORKSPACE": folder, "CHECKPOINT_REHEARSAL": "1"}
        done = subprocess.run(["/bin/sh", script], env=env, cwd=folder, capture_output=True, check=False)
        os.unlink(script)
        return done.returncode == 0 and not _compare_stage(folder, some)


def restore_entries(
    location: Location,
    kind: str,
    entries: Sequence[Entry],
    target: str,
    *,
    sync: bool = True,
    check: file_writes.Check = lambda path: None,
) -> None:
    entries = contents.match_twins(entries)
    folders = [entry for entry in entries if entry.kind == "folder"]
    holding = [entry for entry in entries if entry.kind in ("file", "link") and not entry.twin]
    with file_writes.workshop(location.folder) as work_folder:
        file_writes.make_folders(target, folders)
        for entry, content in zip(holding, file_mechanisms.read_contents(kind, location, holding), strict=True):
            if content is None:
                message = f"the content of {escape_controls(entry.path)} is lost"
                raise file_mechanisms.LostError(message, "verify the point")
            file_writes.write_path(target, entry, content, work_folder, sync=sync, check=check)
        for entry in entries:
            if entry.twin:
                file_writes.write_path(target, entry, iter(()), work_folder, check=check)
        file_writes.set_modes(target, folders)
