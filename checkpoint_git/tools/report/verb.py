"""`checkpoint report`: one HTML file that shows where all work stands, for people without a terminal."""

import argparse
import os
from collections.abc import Callable

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.progress import make_teller
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.history.steps import read_branch
from checkpoint_git.protocols.contract import Question, read_summaries
from checkpoint_git.tools.report.output import find_exposure, plan_path, write_page
from checkpoint_git.tools.report.page import make_page, render

SUMMARY = "draw all work as one HTML page that needs nothing else: board, decisions, drift, timeline"
EXAMPLES = """\
  checkpoint report                  into the git directory, where no commit takes it along; the path is said
  checkpoint report --open           and show it in the browser
  checkpoint report -o status.html   into a file of your choice
  checkpoint report -o -             to stdout
  checkpoint report --no-doctor      without looking for drift, which takes longest

The page loads nothing and runs nothing but its own few lines. Texts of checkpoints and commits stay texts. What looks
like a password, a token or a key is replaced by [redacted]."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the page; - for stdout")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--no-doctor", action="store_true", help="do not look for drift")
    parser.add_argument("--force", action="store_true", help="write over a file that is no report")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    place = find_place(invocation.cwd)
    path = None if args.output == "-" else plan_path(place, args.output, invocation.cwd)
    tell = make_teller(invocation)
    trouble: list[str] = []
    try:
        tell("looking at the checkpoints and their history...")
        summaries = list(read_summaries(Question(place, invocation.now, invocation.env, "report")))
        drift = None if args.no_doctor else _diagnose(place, invocation, tell, trouble)
        branch = _read_branch(place)
    finally:
        tell("")
    page = make_page(os.path.basename(place.root), branch, invocation.now, summaries, drift, trouble)
    text = render(page)
    data = {
        "path": path,
        "bytes": len(text.encode("utf-8")),
        **{key: value for summary in summaries for key, value in summary.data.items()},
        "findings_told": None if drift is None else len(drift),
        "sections": [section.anchor for section in page.sections],
    }
    if path is None:
        return Outcome({**data, "html": text}, [Line(line) for line in text.rstrip("\n").split("\n")], exit_code=0)
    write_page(path, text, force=args.force)
    findings = find_exposure(place, path)
    findings += _open(path, invocation) if args.open else []
    return Outcome(data, [Line(f"wrote {path} ({max(len(text) // 1024, 1)} KB)", "good")], findings, exit_code=0)


def _diagnose(
    place: Place, invocation: Invocation, tell: Callable[[str], None], trouble: list[str]
) -> list[Finding] | None:
    """What the doctor finds; None where it cannot look, with the reason added to the trouble."""
    from checkpoint_git.tools.doctor.diagnose import diagnose  # the doctor brings much along

    try:
        return diagnose(place, invocation.now, env=invocation.env, tell=tell).findings
    except CheckpointError as error:
        trouble.append(f"the doctor could not look: {error.message}")
        return None


def _read_branch(place: Place) -> str:
    try:
        return read_branch(place.work_tree) if place.work_tree else ""
    except CheckpointError:  # the protocols say that the history cannot be read
        return ""


def _open(path: str, invocation: Invocation) -> list[Finding]:
    import webbrowser
    from urllib.parse import quote

    try:
        is_shown = webbrowser.open(f"file://{quote(os.fsencode(path))}")
    except (webbrowser.Error, OSError):
        is_shown = False
    if is_shown:
        return []
    hint = "open the file by hand, or set BROWSER"
    return [Finding("report/not-opened", "note", "no browser could be started", path, hint=hint)]
