"""`checkpoint report`: one HTML file that shows where all work stands, for people without a terminal.

It brings the facts (commands/) and the drawing (report/) together, which do not know each other.
"""

import argparse
import os

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.core.progress import make_teller
from checkpoint_git.disk.discover import find_place
from checkpoint_git.tools.report.facts import gather
from checkpoint_git.tools.report.html import render
from checkpoint_git.tools.report.output import find_exposure, plan_path, write_page
from checkpoint_git.tools.report.page import make_page

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
    """[-o FILE] [--open] [--no-doctor] [--force]."""
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the page; - for stdout")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--no-doctor", action="store_true", help="do not look for drift")
    parser.add_argument("--force", action="store_true", help="write over a file that is no report")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 0 whatever the page tells."""
    place = find_place(invocation.cwd)
    path = None if args.output == "-" else plan_path(place, args.output, invocation.cwd)
    tell = make_teller(invocation)
    try:
        facts = gather(place, invocation.now, invocation.env, tell, doctor=not args.no_doctor)
    finally:
        tell("")
    page = make_page(facts)
    text = render(page)
    data = {
        "path": path,
        "bytes": len(text.encode("utf-8")),
        "skills": len(facts.states),
        "decisions": len(facts.decisions),
        "findings_told": None if facts.drift is None else len(facts.drift),
        "sections": [section.anchor for section in page.sections],
    }
    if path is None:
        return Outcome({**data, "html": text}, [Line(line) for line in text.rstrip("\n").split("\n")], exit_code=0)
    write_page(path, text, force=args.force)
    findings = find_exposure(place, path)
    findings += _open(path, invocation) if args.open else []
    return Outcome(data, [Line(f"wrote {path} ({max(len(text) // 1024, 1)} KB)", "good")], findings, exit_code=0)


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
