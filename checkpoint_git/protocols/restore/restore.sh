#!/bin/sh
# Restores point @POINT@: run it in any folder; running it twice changes nothing more.
# Files that were made since are left alone, and named nowhere here: `checkpoint restore-point rollback` looks for them.
# @PREREQUISITES@
set -u
unset CDPATH
LC_ALL=C
export LC_ALL
say() { printf '%s' "$*" | tr '\001-\037\177' '?' >&2; echo >&2; }
point=@FOLDER@
own=
case "$0" in restore.sh | */restore.sh) own=$(cd -P -- "$(dirname -- "$0")" && pwd -P) ;; esac
if [ -n "${CHECKPOINT_WORKSPACE:-}" ]; then
  cd -- "$CHECKPOINT_WORKSPACE" || exit 1
elif [ -n "$own" ]; then
  cd -- "$(dirname -- "$0")/../.." && [ -e "$point/restore.sh" ] || {
    say "run it where it was made, or say where to restore: CHECKPOINT_WORKSPACE=FOLDER sh $0"; exit 1; }
else # read from a pipe
  top=$(git rev-parse --show-toplevel 2>/dev/null) && cd -- "$top"
fi
unset $(git rev-parse --local-env-vars 2>/dev/null) 2>/dev/null
# the point is in a git directory, which git 2.38 to 2.43 with safe.bareRepository=explicit do not use from within
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.bareRepository GIT_CONFIG_VALUE_0=all
kept=$point
[ ! -f "$own/manifest.json" ] || kept=$own
[ ! -d ./.git/checkpoint-restore/@POINT@ ] || kept=./.git/checkpoint-restore/@POINT@
for start in . "$own"; do
  store=$(cd -- "${start:-.}" && git rev-parse --git-common-dir 2>/dev/null)/checkpoint-restore/@POINT@
  store=$(cd -- "${start:-.}" && cd -- "$store" 2>/dev/null && pwd) && kept=$store && break
done
if [ -d "$kept" ]; then repository=$kept; else repository=.; fi
mask=$(umask)
umask 077
failed=0
done_count=0
work=./.checkpoints/.new-$$-restoring # the next command of checkpoint clears it, should this be killed
mkdir -p -- "$work" 2>/dev/null || work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
temp=$work/part
fail() { say "not restored: $*"; failed=$((failed + 1)); }
sum_of() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum < "$1" | cut -d' ' -f1
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 < "$1" | cut -d' ' -f1
  else printf '%s' "$2"; fi
}
sums() { # on stdin: what the numbered files must be; one that is not is removed
  if command -v sha256sum >/dev/null 2>&1; then (cd -- "$work" && sha256sum -c 2>/dev/null)
  elif command -v shasum >/dev/null 2>&1; then (cd -- "$work" && shasum -a 256 -c 2>/dev/null)
  else cat >/dev/null; fi | while IFS=: read -r number answer; do
    case "$answer" in *OK) ;; *) rm -f -- "$work/$number" ;; esac
  done
}
way() { # path: nothing is written through a symbolic link
  rest=${1#./}
  way=.
  while :; do
    case "$rest" in */*) ;; *) return 0 ;; esac
    way=$way/${rest%%/*}
    rest=${rest#*/}
    if [ -L "$way" ]; then fail "$1 ($way is a symbolic link)"; return 1; fi
  done
}
folder() { # path
  way "$1" || return
  if [ -L "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; }; then rm -f -- "$1" || { fail "$1"; return; }; fi
  [ -d "$1" ] || (umask "$mask" && mkdir -p -- "$1") || fail "$1"
  [ -w "$1" ] || chmod u+rwx -- "$1"
}
parent() { way "$1" && case "$1" in */*) [ -d "${1%/*}" ] || (umask "$mask" && mkdir -p -- "${1%/*}") ;; esac }
move() { # from path
  if [ -d "$2" ] && [ ! -L "$2" ]; then fail "$2 (a folder is there)"; return; fi
  [ ! -L "$2" ] || rm -f -- "$2"
  if mv -f -- "$1" "$2"; then done_count=$((done_count + 1)); else fail "$2"; fi
}
place() { # mode sha256 path: moves $temp into place
  if [ "$(sum_of "$temp" "$2")" != "$2" ]; then fail "$3 (damaged content)"; return; fi
  if chmod "$1" -- "$temp"; then move "$temp" "$3"; else fail "$3"; fi
}
put() { # number path
  if [ ! -f "$work/$1" ]; then fail "$2 (its content is lost or damaged)"; return; fi
  if parent "$2"; then move "$work/$1" "$2"; fi
}
link() { # target path
  parent "$2" || return
  if [ -d "$2" ] && [ ! -L "$2" ]; then fail "$2 (a folder is there)"; return; fi
  rm -f -- "$2"
  if ln -s -- "$1" "$2"; then done_count=$((done_count + 1)); else fail "$2"; fi
}
twin() { # path path: two names of one file, both of them restored by now
  [ "$1" -ef "$2" ] || { cmp -s "$1" "$2" && ln -f -- "$1" "$2"; } || fail "$2 (as another name of $1)"
}
use_git() {
  git -C "$repository" rev-parse --git-dir >/dev/null || { say "the content is in git: run this with git, in the repository"; exit 1; }
}
use_copies() {
  [ -d "$kept" ] || { say "$kept is not here: run this in the workspace"; exit 1; }
}
take_blob() { git -C "$repository" cat-file blob "$2" > "$work/$1" || rm -f -- "$work/$1"; } # number blob
take_copy() { cat < "$kept/content/$2" > "$work/$1" || rm -f -- "$work/$1"; } # number path

# states and databases

content() { cat -- "$kept/$1"; } # name
part() { # mode sha256 path content
  parent "$3" || { fail "$3"; return 1; }
  if content "$4" > "$temp"; then place "$1" "$2" "$3"; else fail "$3"; return 1; fi
}
in_use() { # path: whether a process has it open, if that can be known
  [ -e "$1" ] || return 1
  if [ -d /proc/self/fd ]; then
    for open in /proc/[0-9]*/fd/*; do if [ "$open" -ef "$1" ]; then return 0; fi; done
    return 1
  fi
  if command -v fuser >/dev/null 2>&1; then fuser "$1" >/dev/null 2>&1; return $?; fi
  if command -v lsof >/dev/null 2>&1; then lsof -- "$1" >/dev/null 2>&1; return $?; fi
  say "cannot tell whether $1 is in use: it is taken for closed"
  return 1
}
postgresql() { # sha256 content options
  [ -z "${CHECKPOINT_REHEARSAL:-}" ] || return 0
  command -v pg_restore >/dev/null 2>&1 || { fail "the database: pg_restore is not installed"; return; }
  sum=$1 dump="$kept/$2"; shift 2
  [ -f "$dump" ] && [ "$(sum_of "$dump" "$sum")" = "$sum" ] || { fail "$dump (lost or damaged)"; return; }
  if pg_restore --clean --if-exists --single-transaction --no-password "$@" -- "$dump"
  then done_count=$((done_count + 1)); else fail "the database of $dump: it is as it was"; fi
}
sqlite() { # mode sha256 path content
  for side in "" -wal -shm -journal; do
    if in_use "$3$side"; then fail "$3 (a process is connected: close it first)"; return; fi
  done
  parent "$3" || { fail "$3"; return; }
  content "$4" > "$temp" && [ "$(sum_of "$temp" "$2")" = "$2" ] || {
    fail "$3 (damaged content)"; return; }
  for side in -wal -shm -journal; do # what a crashed writer left would undo the restore
    if [ -e "$3$side" ] || [ -L "$3$side" ]; then
      aside="$3$side.before-@POINT@"
      number=1
      while [ -e "$aside" ]; do aside="$3$side.before-@POINT@.$number"; number=$((number + 1)); done
      mv -- "$3$side" "$aside" || { fail "$3$side (exists already)"; return; }
      say "moved out of the way: $aside"
    fi
  done
  place "$1" "$2" "$3"
}

# what is in this point

# @LINES@
if [ "$failed" -gt 0 ]; then say "@POINT@: $failed not restored, $done_count restored"; exit 1; fi
say "@POINT@: $done_count restored"
