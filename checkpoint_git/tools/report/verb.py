"""`checkpoint report`: write one HTML file that shows the state of all work, for people without a
terminal.
"""

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.progress import show_progress
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import write_file
from checkpoint_git.disk.discover import Place, find_link, find_place, is_inside, relative_path
from checkpoint_git.git.history.steps import read_branch
from checkpoint_git.git.own_files import read_start
from checkpoint_git.protocols.contract import StatusQuestion, read_summaries
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.tools.report.page import make_page, render

HELP = """\
write all work to one self-contained HTML page: board, decisions, drift, timeline

examples:
  checkpoint report                  into the git directory, so it is never committed
  checkpoint report -o status.html   into a file
  checkpoint report -o -             to stdout
  checkpoint report --open           and open it in the browser
  checkpoint report --no-doctor      faster: without looking for drift

The page needs no network. All text is escaped, and likely passwords, tokens and keys are replaced
by [redacted].
"""

NAME = "checkpoint-report.html"
_MARK = b'<meta name="generator" content="checkpoint-git report">'
_LOOKED_AT = 1_000  # bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write the page; - for stdout"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--since", metavar="TIME", help="list changes since 2d (days) or 2026-06-01 (default: 7d)"
    )
    parser.add_argument("--no-doctor", action="store_true", help="do not look for drift")
    parser.add_argument(
        "--force", action="store_true", help="write over a file that is not a report"
    )


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    place = find_place(invocation.cwd)
    path = None
    if args.output != "-":
        path = plan_path(place, args.output, invocation.cwd)
    if args.open and path is None:
        message = "--open needs a file, and -o - writes to stdout"
        raise CheckpointError(message, "leave -o out, or name a file")

    trouble: list[str] = []
    drift = None
    branch = ""
    with show_progress(invocation) as tell:
        tell("looking at the checkpoints and their history...")
        now, env = invocation.now, invocation.env
        question = StatusQuestion(place, now, env, "report", since=args.since)
        summaries = list(read_summaries(question))
        if not args.no_doctor:
            drift = _diagnose(place, invocation, tell, trouble)
        # the protocols report a history that cannot be read
        with suppress(CheckpointError):
            if place.work_tree:
                branch = read_branch(place.work_tree)

    name = os.path.basename(place.root)
    page = make_page(name, branch, invocation.now, summaries, drift, trouble)
    text = render(page)
    data: dict[str, Any] = {"path": path, "bytes": len(text.encode("utf-8"))}
    for summary in summaries:
        data.update(summary.data)
    data["findings_told"] = None if drift is None else len(drift)
    data["sections"] = [section.anchor for section in page.sections]
    if path is None:
        lines = [Line(line, hang=-1) for line in text.rstrip("\n").split("\n")]
        return Outcome({**data, "html": text}, lines, exit_code=0)

    write_page(path, text, force=args.force)
    lines = [Line(f"wrote {path} ({max(len(text) // 1024, 1)} KB)", "good")]
    if args.open:
        address = Path(path).as_uri()
        data["opened"] = open_page(address, invocation)
        result = f"to read it, open {address}"
        if data["opened"]:
            result = "opened in the browser"
        lines.append(Line(result, hang=-1))

    return Outcome(data, lines, exit_code=0)


def open_page(address: str, invocation: Invocation) -> bool:
    """Show a page in the user's browser; return False off a terminal and where no browser starts.

    Which browser is the user's choice (BROWSER, the desktop's); nothing from a checkpoint has a
    part in it.
    """
    if not invocation.interactive:
        return False
    import webbrowser

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False


def _diagnose(
    place: Place, invocation: Invocation, tell: Callable[[str], None], trouble: list[str]
) -> list[Finding] | None:
    """Return what the doctor finds without trials; None if it fails, with the reason added to the
    trouble.
    """
    # imported here: the doctor imports much
    from checkpoint_git.tools.doctor.catalog import choose_checks
    from checkpoint_git.tools.doctor.checks import TrialFacts
    from checkpoint_git.tools.doctor.diagnose import diagnose

    checks = [check for check in choose_checks(()) if check.kind is not TrialFacts]
    now, env = invocation.now, invocation.env
    try:
        return diagnose(place, now, None, checks, env=env, tell=tell).findings
    except CheckpointError as error:
        trouble.append(f"the doctor failed: {error.message}")
        return None


def plan_path(place: Place, wished: str | None, cwd: str) -> str:
    """Return the path of the page; default: in the git directory, or in the current folder outside
    git. Raises CheckpointError for a path that must not be written.
    """
    if wished is None:
        return os.path.join(place.git_dir or cwd, NAME)
    if not wished.strip() or "\0" in wished:
        raise CheckpointError("-o: not a path", "name a file, or - for the terminal")
    path = os.path.normpath(os.path.join(cwd, wished))
    if os.path.isdir(path):
        path = os.path.join(path, NAME)

    shown = escape_controls(path)
    if protocol_of(relative_path(path, place.top)) or os.path.basename(path).endswith(".json"):
        raise CheckpointError(f"{shown} is a data file's name", "name a file that ends in .html")
    if is_inside(path, place.directory) and os.path.basename(path) != os.path.basename(NAME):
        raise CheckpointError(f"{shown} is in the folder of checkpoints", "name a file elsewhere")
    link = ""
    if path.startswith(f"{place.top}/"):
        link = find_link(path, place.top)
    if link:
        message = f"{escape_controls(link)} is a symbolic link"
        raise CheckpointError(message, "name the place that it leads to")

    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise CheckpointError(f"no such directory: {escape_controls(folder)}", "create it first")
    return path


def write_page(path: str, text: str, *, force: bool) -> None:
    """Write the page whole or not at all. force: also over a file that is not a report. Raises
    CheckpointError for such a file otherwise, and if it cannot be written.
    """
    if os.path.exists(path) and not force and _MARK not in read_start(path, _LOOKED_AT):
        message = f"{escape_controls(path)} already exists and is not a report"
        raise CheckpointError(message, "name another file, or use --force")
    write_file(path, text.encode("utf-8"))
