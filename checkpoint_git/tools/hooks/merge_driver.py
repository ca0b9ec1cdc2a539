"""`checkpoint merge-driver`: run the merge driver if the Python recorded for it is gone."""

from argparse import ArgumentParser, Namespace
from typing import NoReturn

from checkpoint_git.core.outcome import Invocation
from checkpoint_git.git.driver_settings import CONFLICT_ON_PATH
from checkpoint_git.mergefile import main

HELP = """\
called by git for a file that both sides changed; not meant to be typed

examples:
  checkpoint merge-driver BASE OURS THEIRS 7 .checkpoints/build.checkpoint.json
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs=5, help="what git passes for %%O %%A %%B %%L %%P"
    )
    parser.add_argument("--base", action="store_true", help="the result is a merge base itself")
    parser.add_argument("--narrative", metavar="RULE", help="as chosen for `checkpoint init`")
    parser.add_argument("--merge-schema", metavar="FILE", help="as chosen for `checkpoint init`")
    parser.add_argument("--schema", metavar="FILE", help="as chosen for `checkpoint init`")


def answer(args: Namespace, invocation: Invocation) -> NoReturn:
    """Leave the process with 0 for a clean merge, and with CONFLICT_ON_PATH for a conflict that is
    written into OURS.
    """
    options = []
    if args.base:
        options.append("--base")
    if args.narrative:
        options += ["--narrative", args.narrative]
    if args.merge_schema:
        options += ["--merge-schema", args.merge_schema]
    if args.schema:
        options += ["--schema", args.schema]
    main([*options, *args.files], conflict=CONFLICT_ON_PATH)
