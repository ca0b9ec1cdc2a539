"""What a repository's history tells, read through one `git log` a question; it judges no checkpoint.

Commit messages are a stranger's text: they come in as bytes, whatever their encoding or length, and leave as values.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.references import unqualify
from checkpoint_git.repo.git import GitResult, clean_env, run_git, stream_git

if TYPE_CHECKING:
    from checkpoint_git.repo.evidence import Commit

_MAX_RECORD = 1 << 20  # bytes of one commit that are looked at
_MAX_SUBJECT = 1_000  # characters
_FEW = 10  # up to so many needles git itself is asked to leave out what cannot matter; beyond, we are faster

_PLAIN_LOG = ("log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8")
_REVERT_NEEDLE = b"reverts commit"
# Each begins with fixed bytes, which the scanner of `re` finds at the speed of memchr.
_SIGNS = (b"#", b"!", b"/", b"-", b"PR ", b"pr ", b"MR ", b"equest ")
# Patterns are texts here: `re` compiles and keeps them when they are first used, and `next` seldom uses any.
_SPOTS = tuple(re.escape(sign) + rb"0*(\d+)" for sign in _SIGNS)


def read_merged(work_tree: str, references: set[str]) -> dict[str, str]:
    """Which of the references HEAD's history merged and did not take back: reference -> a sentence of evidence.

    references: in the spellings of core.references. Nothing asked for or no commits yet: an empty answer. In a
    shallow clone the answer is right as far as it goes (see is_shallow). Raises CheckpointError when git cannot run.
    """
    if not references:
        return {}
    is_qualified = any("/" in reference for reference in references)
    own = read_own_names(work_tree) if is_qualified else frozenset[str]()
    asked = {reference: unqualify(reference, own) for reference in references}
    wanted = frozenset(asked.values())
    commits = read_commits(work_tree, wanted)
    first = next(commits, None)
    if first is None:  # as a rule; the rules of evidence are then not even loaded
        return {}
    from itertools import chain

    from checkpoint_git.repo.evidence import find_evidence

    own = own if is_qualified else read_own_names(work_tree)
    evidence = find_evidence(chain([first], commits), wanted, own)
    return {reference: evidence[plain].sentence for reference, plain in asked.items() if plain in evidence}


def read_taken_back(work_tree: str, references: set[str]) -> dict[str, str]:
    """Which of the references HEAD's history reverted and did not merge again: reference -> the evidence.

    references: without a repository ("#12"). No commits yet: an empty answer. Raises CheckpointError when git cannot
    run.
    """
    wanted = frozenset(references)
    commits = list(read_commits(work_tree, wanted)) if wanted else []
    if not commits:
        return {}
    from checkpoint_git.repo.evidence import find_taken_back

    return find_taken_back(commits, wanted, read_own_names(work_tree))


def read_commits(work_tree: str, references: frozenset[str]) -> "Iterator[Commit]":
    """The commits of HEAD's history that could say something about the references, newest first."""
    numbers = frozenset(reference[_sign_at(reference) + 1 :].encode() for reference in references)
    needles = sorted(_needle(reference) for reference in references)
    few = [word for needle in needles for word in ("--grep", needle)] if len(needles) <= _FEW else []
    narrowed = ["-F", "-i", *few, "--grep", _REVERT_NEEDLE.decode()] if few else []
    for block in _read_blocks(work_tree, [*_PLAIN_LOG, *narrowed, "--format=%H %P%n%s%n%b"]):
        for start, end in _find_records(block, numbers):
            yield _parse_commit(block[start : min(end, start + _MAX_RECORD)])


def _sign_at(reference: str) -> int:
    return max(reference.rfind(sign) for sign in "#!-")


def _needle(reference: str) -> str:
    """What every message that names a reference must hold, however it spells it."""
    return reference if reference[0].isalpha() and "#" not in reference else reference[_sign_at(reference) + 1 :]


def _find_records(block: bytes, numbers: frozenset[bytes]) -> list[tuple[int, int]]:
    """Where the records lie, in a block of them, that hold one of the numbers or revert something."""
    spots = {match.start() for spot in _SPOTS for match in re.finditer(spot, block) if match[1] in numbers}
    at = block.find(_REVERT_NEEDLE)
    while at >= 0:
        spots.add(at)
        at = block.find(_REVERT_NEEDLE, at + 1)
    return sorted({(block.rfind(b"\0", 0, spot) + 1, block.find(b"\0", spot)) for spot in spots})


def _parse_commit(record: bytes) -> "Commit":
    from checkpoint_git.repo.evidence import Commit

    header, _, message = record.decode("utf-8", "replace").partition("\n")
    subject, _, body = message.partition("\n")
    ids = header.split()
    return Commit(ids[0], len(ids) - 1, subject[:_MAX_SUBJECT], body)


def _read_blocks(work_tree: str, words: Sequence[str]) -> Iterator[bytes]:
    """What `git WORDS` prints, in blocks of whole NUL-ended records; a record beyond the limit is cut."""
    rest = b""
    for chunk in _read_chunks(work_tree, words):
        end = chunk.rfind(b"\0") + 1
        if end:
            yield rest + chunk[:end]
            rest = chunk[end:]
        elif len(rest) < _MAX_RECORD:
            rest += chunk
    if rest:
        yield rest + b"\0"


def _read_chunks(work_tree: str, words: Sequence[str]) -> Iterator[bytes]:
    try:
        yield from stream_git(words, work_tree, env=_environment())
    except CheckpointError:
        if has_commits(work_tree):
            raise


def _environment() -> dict[str, str]:
    """Git's surroundings for reading: no other repository, no flush after every commit, no network, no translation."""
    return {**clean_env(os.environ), "GIT_FLUSH": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def _run(words: Sequence[str], work_tree: str, stdin: bytes = b"", check: bool = True) -> GitResult:
    return run_git(words, work_tree, stdin=stdin, env=_environment(), check=check)


def has_commits(work_tree: str) -> bool:
    """Whether HEAD names a commit: not in a repository without commits."""
    return _run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], work_tree, check=False).code == 0


def is_shallow(work_tree: str) -> bool:
    """Whether the history was cut off when it was cloned, so that evidence is partial."""
    return _run(["rev-parse", "--is-shallow-repository"], work_tree, check=False).out.strip() == b"true"


def read_own_names(work_tree: str) -> frozenset[str]:
    """What the remotes call this repository, without the owner, lower case: {"app"} for github.com/acme/app.git."""
    out = _run(["config", "--get-regexp", "-z", r"^remote\..*\.url$"], work_tree, check=False).out
    urls = (record.partition(b"\n")[2].decode("utf-8", "replace") for record in out.split(b"\0") if record)
    matches = (re.match(_REMOTE, url) for url in urls)
    return frozenset(match["name"].lower() for match in matches if match)


_REMOTE = r"^(?:\w[\w+.-]*://(?!/)[^/]+/|[^/\s]+@?[^/\s]*:(?!//)).*?(?P<name>[^/]+?)(?:\.git)?/*$"


class Change(NamedTuple):
    """One step of HEAD's own line. when: seconds since 1970. paths: what it changed, with "/"."""

    id: str
    when: int
    subject: str
    paths: frozenset[str]


_STEP = rb"(?s)\n?\x01(?P<id>[0-9a-f]{40,64}) (?P<when>\d+) (?P<subject>.*)"


def read_changes(work_tree: str, since: int, paths: frozenset[str]) -> list[Change]:
    """What HEAD's own line has changed since an instant, newest first; a merge is one step with all it brought in.

    paths: relative to the work tree; only steps that touch one of them are kept, and of those only these paths.
    """
    if not has_commits(work_tree):
        return []
    words = [*_PLAIN_LOG, "--first-parent", "-m", "--name-only", "--no-renames", "--no-ext-diff", "--no-relative"]
    changes: list[Change] = []
    head, touched = _NO_STEP, set[str]()
    for block in _read_blocks(work_tree, [*words, f"--since=@{max(since, 0)} +0000", "--format=%x01%H %ct %s"]):
        for record in block.split(b"\0"):
            step = re.fullmatch(_STEP, record)
            if step:
                changes += [head._replace(paths=frozenset(touched))] if touched else []
                head, touched = _parse_step(step), set()
            elif (name := os.fsdecode(record.removeprefix(b"\n"))) in paths:
                touched.add(name)
    return changes + ([head._replace(paths=frozenset(touched))] if touched else [])


_NO_STEP = Change("", 0, "", frozenset())


def _parse_step(step: re.Match[bytes]) -> Change:
    subject = step["subject"].decode("utf-8", "replace")[:_MAX_SUBJECT]
    return Change(step["id"].decode(), int(step["when"]), subject, frozenset())


def read_strangers(work_tree: str, ids: Sequence[str]) -> dict[str, str]:
    """Which of the commit ids HEAD's history does not hold: id -> "unknown" to the repository, or "elsewhere" in it.

    ids: 7 hexadecimal digits or more. A tag counts as its commit; an id that several commits begin with is left out.
    """
    if not ids or not has_commits(work_tree):
        return dict.fromkeys(ids, "unknown")
    asked = "".join(f"{one}^{{commit}}\n" for one in ids).encode()
    answers = _run(["cat-file", "--batch-check"], work_tree, stdin=asked).out.decode("utf-8", "replace").splitlines()
    pairs = list(zip(ids, answers, strict=True))
    found = {one: answer.split()[0] for one, answer in pairs if " commit " in answer}
    commits = "".join(f"{commit}\n" for commit in sorted(set(found.values())))
    outside = set(
        _run(["rev-list", "--stdin", "--not", "HEAD"], work_tree, stdin=commits.encode()).out.decode().split()
    )
    unknown = {one: "unknown" for one, answer in pairs if answer.endswith(" missing")}
    return {**unknown, **{one: "elsewhere" for one, commit in found.items() if commit in outside}}


class Removal(NamedTuple):
    """How a path left HEAD's history: in which commit, and what the file is called since, "" where it was deleted."""

    commit: str
    new_name: str = ""


_HEADER = rb"\n?\x01(?P<id>[0-9a-f]{40,64})"


def read_removals(work_tree: str, paths: Sequence[str]) -> dict[str, Removal]:
    """The newest commit that took each path away, for those that one did. paths: relative to the work tree."""
    if not paths or not has_commits(work_tree):
        return {}
    removed = _read_removed_in(work_tree, paths)
    renames = {commit: _read_renames(work_tree, commit) for commit in dict.fromkeys(removed.values())}
    return {path: Removal(commit, renames[commit].get(path, "")) for path, commit in removed.items()}


def _read_removed_in(work_tree: str, paths: Sequence[str]) -> dict[str, str]:
    """The commit for each path. A folder counts as removed where its last file went; reading ends once all is known."""
    words = ["--literal-pathspecs", *_PLAIN_LOG, "--diff-filter=D", "--no-renames", "--name-only", "--no-ext-diff"]
    wanted = {path.rstrip("/") for path in paths}
    removed: dict[str, str] = {}
    commit = ""
    for block in _read_blocks(work_tree, [*words, "--no-relative", "--format=%x01%H", "--", *paths]):
        for record in block.split(b"\0"):
            header = re.fullmatch(_HEADER, record)
            commit = header["id"].decode() if header else commit
            name = "" if header else os.fsdecode(record.removeprefix(b"\n"))
            for path in (name, *_folders_of(name)):
                if path in wanted:
                    removed.setdefault(path, commit)
        if len(removed) == len(wanted):
            break
    return removed


def _folders_of(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _read_renames(work_tree: str, commit: str) -> dict[str, str]:
    words = ["diff-tree", "-r", "-z", "-M", "--name-status", "--diff-filter=R", "--no-commit-id", "--root", commit]
    fields = _run(words, work_tree, check=False).out.split(b"\0")
    names = [os.fsdecode(field) for field in fields]
    return {names[at + 1]: names[at + 2] for at in range(0, len(names) - 2, 3)}
