"""`checkpoint report`: one HTML file that shows the state of all work, for people without a
terminal.
"""

import argparse
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

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
    path = None if args.output == "-" else plan_path(place, args.output, invocation.cwd)
    if args.open and path is None:
        raise CheckpointError(
            "--open needs a file, and -o - writes to stdout", "leave -o out, or name a file"
        )

    trouble: list[str] = []
    with show_progress(invocation) as tell:
        tell("looking at the checkpoints and their history...")
        summaries = list(
            read_summaries(
                StatusQuestion(place, invocation.now, invocation.env, "report", since=args.since)
            )
        )
        drift = None if args.no_doctor else _diagnose(place, invocation, tell, trouble)
        branch = ""
        with suppress(CheckpointError):  # the protocols say that the history cannot be read
            branch = read_branch(place.work_tree) if place.work_tree else ""

    page = make_page(
        os.path.basename(place.root), branch, invocation.now, summaries, drift, trouble
    )
    text = render(page)
    data = {
        "path": path,
        "bytes": len(text.encode("utf-8")),
        **{key: value for summary in summaries for key, value in summary.data.items()},
        "findings_told": None if drift is None else len(drift),
        "sections": [section.anchor for section in page.sections],
    }
    if path is None:
        lines = [Line(line, hang=-1) for line in text.rstrip("\n").split("\n")]
        return Outcome({**data, "html": text}, lines, exit_code=0)

    write_page(path, text, force=args.force)
    lines = [Line(f"wrote {path} ({max(len(text) // 1024, 1)} KB)", "good")]
    if args.open:
        address = Path(path).as_uri()
        data["opened"] = open_page(address, invocation)
        lines.append(
            Line(
                "opened in the browser" if data["opened"] else f"to read it, open {address}",
                hang=-1,
            )
        )

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
    """What the doctor finds that tries nothing out; None if it cannot look, with the reason added
    to the trouble.
    """
    from checkpoint_git.tools.doctor.catalog import choose_checks
    from checkpoint_git.tools.doctor.checks import TrialFacts
    from checkpoint_git.tools.doctor.diagnose import diagnose  # the doctor brings much along

    checks = [check for check in choose_checks(()) if check.kind is not TrialFacts]
    try:
        return diagnose(place, invocation.now, None, checks, env=invocation.env, tell=tell).findings
    except CheckpointError as error:
        trouble.append(f"the doctor failed: {error.message}")
        return None


def plan_path(place: Place, wished: str | None, cwd: str) -> str:
    """Where the page goes; default: the git directory, else the current folder. Raises
    CheckpointError.
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
    if link := path.startswith(f"{place.top}/") and find_link(path, place.top):
        raise CheckpointError(
            f"{escape_controls(link)} is a symbolic link", "name the place that it leads to"
        )

    if not os.path.isdir(os.path.dirname(path)):
        raise CheckpointError(
            f"no such directory: {escape_controls(os.path.dirname(path))}", "create it first"
        )

    return path


def write_page(path: str, text: str, *, force: bool) -> None:
    """Writes the page whole or not at all. force: also over a file that is no page of ours. Raises
    CheckpointError.
    """
    shown = escape_controls(path)
    if os.path.exists(path) and not force and _MARK not in read_start(path, _LOOKED_AT):
        raise CheckpointError(
            f"{shown} already exists and is not a report", "name another file, or use --force"
        )
    write_file(path, text.encode("utf-8"))
