"""The files that make a forge's own jobs look after checkpoints: templates and what one of them is to us. Pure.

Every command in them comes from one table, so that a test can read each as the command line would.
"""

import hashlib
import re
from typing import Literal, NamedTuple

Forge = Literal["github", "gitlab"]

CHECKOUT = "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2"
PYTHON = "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0"

# name -> the words after `checkpoint`; a shell reads them, so what is another's comes in as a quoted variable
COMMANDS = {
    "validate": "validate --strict",
    "doctor": "doctor --check content --check merge --check pipeline --check drift/action-shipped "
    "--check drift/blocker-shipped --check drift/file-missing",
    "verify": 'ci verify --base "origin/$BASE" --head HEAD',
    "premerge": 'ci premerge --base "origin/$BASE" --head "origin/$HEAD" --branch="refs/heads/$HEAD" '
    "--push --retries 2",
}

_MARK = re.compile(rb"\A# Written by `checkpoint init --ci [a-z]+`, mark ([0-9a-f]{16})\.[^\n]*\n")
_PLAIN_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}")
_INCLUDED = ".gitlab/checkpoints.gitlab-ci.yml"


class ForgeFile(NamedTuple):
    """One file of a forge. path: in the work tree. instead: what to do where another file has that name.

    include: what another file of that name must hold for nothing to be left to do, "" where it cannot help.
    """

    path: str
    data: bytes
    instead: str
    include: str


def is_plain_branch(name: str) -> bool:
    """Whether a branch can stand in a forge's list of branches, where some letters mean more than themselves."""
    return _PLAIN_BRANCH.fullmatch(name) is not None


def forge_files(forge: Forge, base: str, version: str) -> list[ForgeFile]:
    """The files of a forge. base: the branch that pull requests go into. version: of checkpoint-git, to install."""
    values = {"BASE": base, "VERSION": version, "CHECKOUT": CHECKOUT, **COMMANDS}
    return [
        ForgeFile(path, sign_file(forge, _fill(text, values)), instead, _INCLUDED if instead == _ADD_INCLUDE else "")
        for path, text, instead in _TEMPLATES[forge]
    ]


def sign_file(forge: Forge, text: str) -> bytes:
    """A file with a first line of ours, by which an unchanged one is known again."""
    body = text.encode()
    more = "While nobody edits it, `checkpoint init` renews it and `checkpoint uninstall` takes it away."
    return f"# Written by `checkpoint init --ci {forge}`, mark {_digest(body)}. {more}\n".encode() + body


def is_unedited(data: bytes) -> bool:
    """Whether init wrote the file and nobody changed a byte of it."""
    mark = _MARK.match(data)
    return mark is not None and mark[1].decode() == _digest(data[mark.end() :])


def forge_paths(forge: Forge) -> list[str]:
    """Where a forge's files lie."""
    return [path for path, _, _ in _TEMPLATES[forge]]


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def _fill(text: str, values: dict[str, str]) -> str:
    return re.sub(r"@([A-Za-z]+)@", lambda found: values[found[1]], text)


_INSTALL = """\
          python3 -m venv "$RUNNER_TEMP/checkpoint"
          "$RUNNER_TEMP/checkpoint/bin/python" -m pip install --quiet "$CHECKPOINT_GIT"
          echo "$RUNNER_TEMP/checkpoint/bin" >> "$GITHUB_PATH"
"""

_GITHUB_CHECKS = f"""\
# What a pull request brings is judged here, with a token that may read and nothing else.
name: checkpoints

on:
  pull_request:

permissions:
  contents: read

env:
  CHECKPOINT_GIT: checkpoint-git==@VERSION@ # or where else your runners can install it from
  BASE: ${{{{ github.base_ref }}}} # another's text reaches a script as a variable, and never as a part of it

jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: @CHECKOUT@
        with:
          ref: ${{{{ github.event.pull_request.head.sha }}}}
          fetch-depth: 0
          persist-credentials: false
      - name: Install
        run: |
{_INSTALL}      - name: Are the checkpoints valid?
        run: checkpoint @validate@ --format github
      - name: Do they tell the truth?
        if: always()
        run: checkpoint @doctor@ --format github
      - name: Would the merge button keep every entry?
        if: always()
        run: |
          git rev-parse --verify --quiet "origin/$BASE^{{commit}}" >/dev/null || exit 0
          checkpoint @verify@ --format github
"""

# The list is asked for page by page: GitHub gives 100, Gitea and Forgejo mostly 50 at a time. The token reaches curl on
# its standard input, where no list of processes shows it.
_GITHUB_PREMERGE = f"""\
# A pull request that conflicts starts no job of its own, and no forge's merge button runs a merge driver. So whenever
# @BASE@ moves, this merges it into every open pull request whose checkpoints conflict, by meaning, and pushes that.
#
# It may write, so it never checks out, runs or installs anything of a pull request: only @BASE@ is checked out, and
# branches are read as data. Forks cannot be pushed to; their pull requests are left to their owners.
#
# What is pushed with the job's own token starts no further jobs. Where the pull request's checks must run on the merge,
# put a token that may push (of an app, or a deploy key's) into the secret CHECKPOINT_PUSH_TOKEN.
name: checkpoint premerge

on:
  push:
    branches: ['@BASE@']
  pull_request_target: # runs for conflicting pull requests too, with this file as @BASE@ has it
    types: [opened, reopened, synchronize]
    branches: ['@BASE@']
  workflow_dispatch:

permissions: {{}}

concurrency:
  group: checkpoint-premerge-${{{{ github.event.pull_request.number || 'all' }}}}

env:
  CHECKPOINT_GIT: checkpoint-git==@VERSION@ # or where else your runners can install it from
  BASE: '@BASE@'

jobs:
  premerge:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    permissions:
      contents: write
      pull-requests: read
    steps:
      - uses: @CHECKOUT@
        with:
          ref: '@BASE@'
          fetch-depth: 0
          token: ${{{{ secrets.CHECKPOINT_PUSH_TOKEN || github.token }}}}
      - name: Install
        run: |
{_INSTALL}      - name: List the open pull requests
        env:
          TOKEN: ${{{{ github.token }}}}
          ONLY: ${{{{ github.event.pull_request.number }}}}
        run: |
          : > "$RUNNER_TEMP/heads"
          page=1
          while [ "$page" -le 50 ]; do
            printf 'Authorization: Bearer %s\\n' "$TOKEN" |
              curl --silent --show-error --fail --header @- --output "$RUNNER_TEMP/pulls.json" \\
                "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/pulls?state=open&per_page=100&limit=50&page=$page"
            [ "$(tr -d ' \\n' < "$RUNNER_TEMP/pulls.json")" = '[]' ] && break
            python3 -I -c '
          import json, os, sys
          for pull in json.load(sys.stdin):
              head, base, only = pull["head"], pull["base"], os.environ["ONLY"]
              own = (head.get("repo") or {{}}).get("full_name") == base["repo"]["full_name"]
              if own and base["ref"] == os.environ["BASE"] and only in ("", str(pull["number"])):
                  print(head["ref"])
          ' < "$RUNNER_TEMP/pulls.json" >> "$RUNNER_TEMP/heads"
            page=$((page + 1))
          done
      - name: Merge by meaning
        run: |
          worst=0
          while IFS= read -r HEAD; do
            git fetch --quiet origin "+refs/heads/$HEAD:refs/remotes/origin/$HEAD" </dev/null || continue
            code=0 # 1: something is left to a person, who is told
            checkpoint @premerge@ --format github </dev/null || code=$?
            [ "$code" -le 1 ] || worst=$code
          done < "$RUNNER_TEMP/heads"
          exit "$worst"
"""

_GITLAB = """\
# Two jobs: `checkpoints` judges what a merge request brings; `checkpoint-premerge` merges @BASE@ into every open merge
# request whose checkpoints conflict, by meaning, and pushes that, whenever @BASE@ moves or a schedule says so.
#
# The second one writes, so it runs on @BASE@ alone. It needs a project access token (role Developer, scopes read_api
# and write_repository) in the variable CHECKPOINT_PUSH_TOKEN: masked, and protected, so that only @BASE@'s jobs see it.
variables:
  CHECKPOINT_GIT: checkpoint-git==@VERSION@ # or where else your runners can install it from

checkpoints:
  image: python:3.13
  variables:
    GIT_DEPTH: "0"
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    - python3 -m pip install --quiet "$CHECKPOINT_GIT"
    - checkpoint @validate@
    - checkpoint @doctor@
    - BASE=$CI_MERGE_REQUEST_TARGET_BRANCH_NAME
    - git fetch --quiet origin "+refs/heads/$BASE:refs/remotes/origin/$BASE"
    - checkpoint @verify@

checkpoint-premerge:
  image: python:3.13
  variables:
    GIT_DEPTH: "0"
  resource_group: checkpoint-premerge
  rules:
    - if: $CI_COMMIT_BRANCH == "@BASE@" && $CHECKPOINT_PUSH_TOKEN
  script:
    - python3 -m pip install --quiet "$CHECKPOINT_GIT"
    - |
      BASE=$CI_COMMIT_BRANCH
      git fetch --quiet origin "+refs/heads/$BASE:refs/remotes/origin/$BASE"
      git config credential.helper '!f() { echo username=checkpoint; echo "password=$CHECKPOINT_PUSH_TOKEN"; }; f'
      git remote set-url origin "$CI_PROJECT_URL.git"
      : > heads.txt
      page=1
      while [ "$page" -le 50 ]; do
        printf 'PRIVATE-TOKEN: %s\\n' "$CHECKPOINT_PUSH_TOKEN" |
          curl --silent --show-error --fail --header @- --output pulls.json \\
            "$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests?state=opened&per_page=100&page=$page"
        [ "$(tr -d ' \\n' < pulls.json)" = '[]' ] && break
        BASE=$BASE python3 -I -c '
      import json, os, sys
      for pull in json.load(sys.stdin):
          own = pull["source_project_id"] == pull["target_project_id"]
          if own and pull["target_branch"] == os.environ["BASE"]:
              print(pull["source_branch"])
      ' < pulls.json >> heads.txt
        page=$((page + 1))
      done
      worst=0
      while IFS= read -r HEAD; do
        git fetch --quiet origin "+refs/heads/$HEAD:refs/remotes/origin/$HEAD" </dev/null || continue
        code=0 # 1: something is left to a person, who is told
        checkpoint @premerge@ </dev/null || code=$?
        [ "$code" -le 1 ] || worst=$code
      done < heads.txt
      exit "$worst"
"""

_GITLAB_MAIN = f"""\
include:
  - local: {_INCLUDED}
"""

_ADD_INCLUDE = f"add to it: include: [{{local: {_INCLUDED}}}]"
_COPY = "it is somebody's own; `checkpoint init --ci` writes the file anew once that is moved away"

_TEMPLATES: dict[Forge, list[tuple[str, str, str]]] = {
    "github": [
        (".github/workflows/checkpoints.yml", _GITHUB_CHECKS, _COPY),
        (".github/workflows/checkpoint-premerge.yml", _GITHUB_PREMERGE, _COPY),
    ],
    "gitlab": [
        (_INCLUDED, _GITLAB, _COPY),
        (".gitlab-ci.yml", _GITLAB_MAIN, _ADD_INCLUDE),
    ],
}
