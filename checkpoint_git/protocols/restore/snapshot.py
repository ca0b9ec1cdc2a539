"""What `git add -A` would stage, kept as a commit whenever it changed: agents' hooks start this with -I -S.

Nothing of the user's is touched: the index is a private one, and the commits are held by the reflog of CHECKPOINT_HEAD,
which no branch, push, `--all` or other work tree sees, which `git gc` keeps, and whose old entries it expires.
"""

import fcntl
import os
import select
import sys

REF = "CHECKPOINT_HEAD"
MOST = 500  # snapshots of a work tree
BUDGET = "checkpoint.pointsBudget"  # bytes that they may add to the objects of HEAD
# Compressing costs most of the time, and `git gc` does it for all that lasts.
_QUIET = ("core.hooksPath=/dev/null", "core.safecrlf=false", "core.splitIndex=false", "core.looseCompression=1")
_AUTHOR = {f"GIT_{role}_{what}": "checkpoint" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_NAMES = ((b'"session_id"', b'"conversation_id"', b'"sessionId"'), (b'"tool_name"', b'"toolName"'))
_END = "end of a turn"


def take(start: str, label: str) -> str:
    """The tree of what is there now, "" for nothing; kept under a label, "SESSION NEXT", if there is one."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _AUTHOR
    words = ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--revs-only", f"{REF}^{{tree}}"]
    top, git_dir, last, *_ = (_git(words, start, env) + "\n\n\n").split("\n")
    if not os.path.exists(os.path.join("/", git_dir, "HEAD")):  # outside git, or a line break in the path
        return ""
    base, users = os.path.join(git_dir, "checkpoint/automatic"), os.path.join(git_dir, "index")
    index = env["GIT_INDEX_FILE"] = f"{base}.index"
    os.makedirs(os.path.dirname(base), exist_ok=True)
    with open(f"{base}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a killed process holds it no longer
        if os.path.exists(f"{index}.lock"):
            os.unlink(f"{index}.lock")
        files = (f"{base}.ignored", index, users)
        begun, own, theirs = (os.path.getmtime(each) if os.path.exists(each) else 0 for each in files)
        if not (begun and own) or (label.endswith(_END) and theirs >= begun):
            _begin(top, base, users, env)
        ignoring, add = ["-c", f"core.excludesFile={base}.ignored"], ["add", "-A", "--ignore-errors"]
        others = [*ignoring, "ls-files", "--others", "--exclude-standard"]  # both together take half as long as to add
        if _git(["diff-files", "--name-only"], top, env) or _git(others, top, env):
            _git([*ignoring, *add, f"--pathspec-from-file={base}.paths"], top, env, must=True)
        tree = _git(["write-tree"], top, env)
        if not tree and os.path.exists(index):  # it names what was pruned meanwhile
            os.unlink(index)
        if tree and label and tree != last and tree != _git(words[:1] + words[-2:], top, env):
            commit = _git(["commit-tree", tree, "-m", label], top, env)
            _git(["update-ref", "--create-reflog", "-m", label, REF, commit], top, env)
            if label.endswith(_END):
                drop_oldest(top, env)
        return tree


def drop_oldest(top: str, env: dict[str, str], most: int = MOST) -> int:
    """How many were dropped, so that the others are within the budget; the newest stays, unless most is 0."""
    budget = int(_git(["config", "--type=int", "--default=512m", BUDGET], top, env) or sys.maxsize)
    commits = _git(["rev-list", "--walk-reflogs", REF, "--"], top, env).split()
    measure = ["rev-list", "--objects", "--disk-usage", "--missing=allow-any"]
    keep = min(len(commits), most)
    while keep > 1 and int(_git([*measure, *commits[:keep], "--not", "HEAD^{tree}"], top, env) or 0) > budget:
        keep = keep * 3 // 4
    old = [f"{REF}@{{{number}}}" for number in range(len(commits) - 1, keep - 1, -1)]
    if old:
        _git(["reflog", "delete", "--rewrite", *old] if keep else ["update-ref", "-d", REF], top, env)
    return len(old)


def _git(words: list[str], cwd: str, env: dict[str, str], must: bool = False) -> str:
    """What git prints; "" where it fails, if it need not work. subprocess would cost more than git."""
    source, target = os.pipe()
    actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 2)]
    spawned = ["git", "-C", cwd, *[word for setting in _QUIET for word in ("-c", setting)], *words]
    pid = os.posix_spawnp("git", spawned, env, file_actions=[*actions, (os.POSIX_SPAWN_DUP2, target, 1)])
    os.close(target)
    with open(source, "rb") as stream:
        out = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if must and code not in (0, 1):  # 1: files that cannot be read
        raise OSError("git cannot add what is here: `git add -A --dry-run` says why")
    return os.fsdecode(out).rstrip("\n") if code == 0 else ""


def _begin(top: str, base: str, users: str, env: dict[str, str]) -> None:
    """The private index, from the user's, and what is left out of it: whatever has a secret's name for certain, and
    what is untracked and may be one. The list of the latter comes last, and whole: a killed process begins again.
    """
    import json
    import shutil

    if os.path.exists(users):
        os.replace(shutil.copy2(users, f"{base}.new"), f"{base}.index")  # git compares its time with those of the files
    table = json.loads(_read(os.path.join(os.path.dirname(__file__), "secret_names.json")))
    names = [*table["names"], *(each[1:] for each in table["paths"])]
    # Git is slow with `**/`, and a .gitignore that takes back what it ignores takes back no pathspec.
    sure = [form for each in names for form in (f"*/{each}", f"[{each[0]}]{each[1:]}")]  # [s]ecrets: no folder
    paths = [".", *(f":(icase,exclude){each}" for each in [*sure, *(f"*{each}" for each in table["endings"])])]
    doubtful = [f"{each}*{'.json' if each in table['json_only'] else ''}" for each in table["beginnings"]]
    lines = [*doubtful, *(f"!*{each}" for each in table["harmless_endings"]), "!*/"]
    both = "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in "\n".join(lines))
    users_own = f"--default={os.environ.get('XDG_CONFIG_HOME') or '~/.config'}/git/ignore"
    own = _git(["config", "--type=path", users_own, "core.excludesFile"], top, env)
    for path, written in (("paths", paths), ("ignored", [both, _read(os.path.join(top, own))])):
        with open(f"{base}.new", "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write("\n".join(written) + "\n")
        os.replace(f"{base}.new", f"{base}.{path}")


def _read(path: str) -> str:
    with open(path if os.path.isfile(path) else os.devnull, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.read()


def find_label(data: bytes) -> str:
    """Of a tool call as an agent's hook gets it. Two names are looked for, because to parse JSON takes longer."""
    texts = [[data.partition(key)[2].partition(b'"')[2].partition(b'"')[0] for key in keys] for keys in _NAMES]
    plain = [next(filter(None, found), b"")[:64].decode("ascii", "replace") for found in texts]
    session, tool = ("".join(letter for letter in text if letter in "-_" or letter.isalnum()) for text in plain)
    return f"{session or 'default'} {f'before {tool}' if tool else _END}"


if __name__ == "__main__":
    try:
        call, part = b"", b" "
        while part and select.select([0], (), (), 0.5)[0]:  # some agents never close the pipe
            part = os.read(0, 1 << 16)
            call = (call + part)[: 1 << 16]
        take(os.getcwd(), find_label(call))
    except Exception as error:  # whatever goes wrong, no tool call is stopped
        sys.stderr.write(f"checkpoint-git: no restore point: {error}\n")
    sys.exit(0)
