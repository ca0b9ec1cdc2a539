"""restore.sh: the way back for a machine without this package. Pure: it writes the text and runs nothing.

Plain POSIX sh. Every name is in single quotes, so nothing in a name is ever run; every file is written beside its place
and moved there; nothing is forced, nothing that is not in the point is removed.
"""

from collections.abc import Callable, Sequence

from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.entries import Entry

_START = """\
#!/bin/sh
# Puts back restore point {point}: run it in any place; running it twice changes nothing more.
# Files that were made since are left alone, and named nowhere here: `checkpoint restore-point rollback` looks for them.
set -u
if [ -n "${{CHECKPOINT_WORKSPACE:-}}" ]; then cd -- "$CHECKPOINT_WORKSPACE" || exit 1
else cd -- "$(dirname -- "$0")/../.." || exit 1; fi
umask 077
point={folder}
failed=0
done_count=0
say() {{ printf '%s\\n' "$*" >&2; }}
fail() {{ say "not restored: $*"; failed=$((failed + 1)); }}
sum_of() {{
  if command -v sha256sum >/dev/null 2>&1; then sha256sum < "$1" | cut -d' ' -f1
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 < "$1" | cut -d' ' -f1
  else printf '%s' "$2"; fi
}}
folder() {{ # mode path
  if [ -L "$2" ] || {{ [ -e "$2" ] && [ ! -d "$2" ]; }}; then rm -f -- "$2" || {{ fail "$2"; return; }}; fi
  mkdir -p -- "$2" || fail "$2"
  [ -w "$2" ] || chmod u+rwx -- "$2"
}}
place() {{ # mode sha256 path: moves "$3.$$.part" into place
  if [ "$(sum_of "$3.$$.part" "$2")" != "$2" ]; then rm -f -- "$3.$$.part"; fail "$3 (damaged content)"; return; fi
  if [ -d "$3" ] && [ ! -L "$3" ]; then rm -f -- "$3.$$.part"; fail "$3 (a folder stands there)"; return; fi
  chmod "$1" -- "$3.$$.part" || {{ rm -f -- "$3.$$.part"; fail "$3"; return; }}
  [ ! -L "$3" ] || rm -f -- "$3"
  if mv -f -- "$3.$$.part" "$3"; then done_count=$((done_count + 1)); else rm -f -- "$3.$$.part"; fail "$3"; fi
}}
link() {{ # target path
  if [ -d "$2" ] && [ ! -L "$2" ]; then fail "$2 (a folder stands there)"; return; fi
  rm -f -- "$2"
  if ln -s -- "$1" "$2"; then done_count=$((done_count + 1)); else fail "$2"; fi
}}
parent() {{ case "$1" in */*) mkdir -p -- "${{1%/*}}" ;; esac }}
"""
_PARTS = """\
content() {{ # name: the kept content, from the point's folder, or from git where that was taken away
  if [ -f "$point/$1" ]; then cat -- "$point/$1"; else git cat-file blob "refs/checkpoints/{point}:$1"; fi
}}
part() {{ # mode sha256 path content
  parent "$3" || {{ fail "$3"; return 1; }}
  if content "$4" > "$3.$$.part"; then place "$1" "$2" "$3"; else rm -f -- "$3.$$.part"; fail "$3"; return 1; fi
}}
in_use() {{ # path: whether a process has it open, as far as can be told
  [ -e "$1" ] || return 1
  if [ -d /proc/self/fd ]; then
    for open in /proc/[0-9]*/fd/*; do if [ "$open" -ef "$1" ]; then return 0; fi; done
    return 1
  fi
  if command -v fuser >/dev/null 2>&1; then fuser "$1" >/dev/null 2>&1; return $?; fi
  if command -v lsof >/dev/null 2>&1; then lsof -- "$1" >/dev/null 2>&1; return $?; fi
  say "cannot tell whether $1 is in use: it is taken for closed"
  return 1
}}
sqlite() {{ # mode sha256 path content
  for side in "" -wal -shm -journal; do
    if in_use "$3$side"; then fail "$3 (a process is connected: close it first)"; return; fi
  done
  parent "$3" || {{ fail "$3"; return; }}
  content "$4" > "$3.$$.part" && [ "$(sum_of "$3.$$.part" "$2")" = "$2" ] || {{
    rm -f -- "$3.$$.part"; fail "$3 (damaged content)"; return; }}
  for side in -wal -shm -journal; do # what a crashed writer left would undo the restore
    if [ -e "$3$side" ] || [ -L "$3$side" ]; then
      aside="$3$side.before-{point}"
      number=1
      while [ -e "$aside" ]; do aside="$3$side.before-{point}.$number"; number=$((number + 1)); done
      mv -- "$3$side" "$aside" || {{ rm -f -- "$3.$$.part"; fail "$3$side (in the way)"; return; }}
      say "moved out of the way: $aside"
    fi
  done
  place "$1" "$2" "$3"
}}
"""
_END = """\
if [ "$failed" -gt 0 ]; then say "{point}: $failed not restored, $done_count restored"; exit 1; fi
say "{point}: $done_count restored"
"""
_GIT_FILE = """\
command -v git >/dev/null 2>&1 || { say "git is needed: the content lies in this repository"; exit 1; }
unset $(git rev-parse --local-env-vars 2>/dev/null) 2>/dev/null
file() { # mode sha256 path blob
  parent "$3" || { fail "$3"; return; }
  if git cat-file blob "$4" > "$3.$$.part"; then place "$1" "$2" "$3"; else rm -f -- "$3.$$.part"; fail "$3"; fi
}
"""
_COPY_FILE = """\
file() { # mode sha256 path
  parent "$3" || { fail "$3"; return; }
  if cp -- "$point/content/$3" "$3.$$.part"; then place "$1" "$2" "$3"; else rm -f -- "$3.$$.part"; fail "$3"; fi
}
"""
_HEADS = {"git_stash": _GIT_FILE, "file_backup": _COPY_FILE}


def quote(text: str) -> str:
    """A text as one word of sh, whatever it holds."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def write_script(
    point: str,
    files: Sequence[tuple[str, Sequence[Entry]]],
    read_target: Callable[[Entry], str],
    before: str = "",
    after: str = "",
    prerequisites: Sequence[str] = (),
) -> str:
    """The script. files: (mechanism, entries). read_target: where a link points. before, after: other parts' lines.

    prerequisites: sentences for the head of it.
    """
    folder = quote(f"./{layout.FOLDER}/{point}")
    text = [_START.format(point=point, folder=folder)]
    if prerequisites:
        text.append("# Before you run it:\n" + "".join(f"#  - {ascii(line)[1:-1]}\n" for line in prerequisites))
    if before or after:
        text.append(_PARTS.format(point=point))
    text.append(before)
    for mechanism, entries in files:
        text += [_HEADS[mechanism], *_lines(entries, read_target)]
    return "".join([*text, after, _END.format(point=point)])


def _lines(entries: Sequence[Entry], read_target: Callable[[Entry], str]) -> list[str]:
    ordered = sorted(entries, key=lambda entry: entry.path)
    folders = [entry for entry in ordered if entry.kind == "folder"]
    lines = [f"folder {entry.mode:04o} {_name(entry)}\n" for entry in folders]
    for entry in ordered:
        if entry.kind == "file":
            blob = f" {entry.blob}" if entry.blob else ""
            lines.append(f"file {entry.mode:04o} {entry.sha256} {_name(entry)}{blob}\n")
        elif entry.kind == "link":
            lines.append(f"link {quote(read_target(entry))} {_name(entry)}\n")
    return lines + [f"chmod {entry.mode:04o} -- {_name(entry)} || fail {_name(entry)}\n" for entry in reversed(folders)]


def _name(entry: Entry) -> str:
    return quote(f"./{entry.path}")
