"""Run one command: find its verb, parse its arguments, render its outcome, and turn every error
into an exit code.
"""

import argparse
import atexit
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from checkpoint_git.cli import parser, render
from checkpoint_git.cli.parser import CommandLine, UsageError, find_near, find_verb_at, list_names
from checkpoint_git.cli.render.screen import encode_text, read_screen
from checkpoint_git.cli.verbs import (
    DEFAULT_VERB,
    LONG_VERBS,
    MEANT_VERBS,
    PAGED,
    POSIX_ONLY,
    SHORT_VERBS,
    VERBS,
    WITH_FINDINGS,
    load_verb,
)
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, command, join_hints
from checkpoint_git.core.outcome import Answer, Invocation, Outcome
from checkpoint_git.core.platform import IS_POSIX
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.version import __version__

ErrorRenderer = Callable[[list[str], CheckpointError], Answer]

CLEAN, FINDINGS, COULD_NOT_RUN, BUG, INTERRUPTED = 0, 1, 2, 3, 130
NOT_STARTED = 4  # by its path: a package is missing, so a hook tries `checkpoint` on PATH
# by its path, what is added to other codes, which a Python that fails to start cannot exit with
BY_PATH = 10

_DOCTOR = "checkpoint-doctor"
# the file that was started -> how the user spells the command
_PROGRAMS = {
    "git-checkpoint": "git checkpoint",
    "__main__.py": "python -m checkpoint_git",
    _DOCTOR: _DOCTOR,
}
_OBEYED = ("##[", "##vso[")  # GitHub's and Azure's jobs obey these anywhere in a line of a log
_JOBS = frozenset({"GITHUB_ACTIONS", "TF_BUILD"})  # what these set in a job


def main(argv: Sequence[str] | None = None, *, is_by_path: bool = False) -> int:
    """Run the `checkpoint` command.

    With argv, return the exit code. Without, run the words of the process, and end it.
    is_by_path: a hook started the package by its path, and asks by the exit code whether it
    started (BY_PATH).
    """
    started_as = os.path.basename(sys.argv[0]) if sys.argv else ""
    program = _PROGRAMS.get(started_as, "checkpoint")
    first = ["doctor"] if program == _DOCTOR else []
    if argv is not None:
        return _run_and_report([*first, *argv], program)

    if sys.getfilesystemencoding() != "utf-8" and "PYTHONUTF8" not in os.environ:
        # words are UTF-8 in any locale, as for git and Python 3.15; else "ü" would be stored as
        # two letters
        line = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, line)  # noqa: S606 - ourselves

    code = _run_and_report([*first, *sys.argv[1:]], program, is_by_path=is_by_path)
    if is_by_path and code in (FINDINGS, COULD_NOT_RUN, BUG):
        code += BY_PATH
    # a library wants to be called at the end; not known: assume so
    if getattr(atexit, "_ncallbacks", lambda: 1)():
        return code
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or the reader is gone
            stream.flush()

    os._exit(code)  # which saves the teardown of all modules


def find_request(words: list[str], program: str = "checkpoint") -> CommandLine:
    """Find the verb, which is the first word that is not a global option. Raises UsageError."""
    index = find_verb_at(words)
    if index is None:
        return CommandLine(program, DEFAULT_VERB, words)

    before, after = words[:index], words[index + 1 :]
    verb, *added = LONG_VERBS.get(words[index], [words[index]])
    after = added + after
    if verb not in VERBS and verb not in SHORT_VERBS:
        raise _refuse_verb(verb, before, after, program)

    verb = SHORT_VERBS.get(verb, verb)
    if program == _DOCTOR:
        return CommandLine(program, verb, before + after)
    name, nested, words = parser.find_nested(verb, before + after)
    return CommandLine(f"{program} {verb} {nested}".rstrip(), name, words)


def _refuse_verb(verb: str, before: list[str], after: list[str], program: str) -> UsageError:
    """Return the error for a word that is not a verb. before, after: the line's other words."""
    shown = escape_controls(shorten(verb, 60))
    if verb in list_names([*before, verb, *after]):
        line = [*after] if after and after[0] in VERBS else ["status", *after]
        line.insert(1, verb)
        hint = advise("write it as", *program.split(), *before, *line)
        return UsageError(f'"{shown}" is not a command but a checkpoint', hint)

    listed = [name for name, row in VERBS.items() if row.summary]
    near = MEANT_VERBS.get(verb) or find_near(verb, listed)
    question = f"did you mean {near}?" if near else ""
    lists = command(*program.split(), "--help", more=" lists the commands")
    return UsageError(f'"{shown}" is not a command', join_hints(question, lists))


def _wants_json(words: list[str]) -> bool:
    """Whether a line asks for JSON. Nothing is parsed for it, because parsing can fail."""
    before = ""
    for word in words:
        if word == "--":
            return False
        if word in ("--json", "--format=json") or (before, word) == ("--format", "json"):
            return True
        before = word
    return False


def _run_and_report(words: list[str], program: str, *, is_by_path: bool = False) -> int:
    try:
        return _run(words, program)
    except SystemExit as finished:  # --help and --version
        return finished.code if isinstance(finished.code, int) else CLEAN
    except BrokenPipeError:  # the reader is gone, as `head` is after ten lines
        _silence_stdout()
        return CLEAN
    except KeyboardInterrupt:
        # a user knows what the keys did
        if _find_error_renderer(words) is not None or _wants_json(words):
            hint = "every file is either written completely or unchanged: check, then run it again"
            _report_error(words, CheckpointError("interrupted", hint))
        return INTERRUPTED
    except CheckpointError as error:
        return _report_error(words, error)
    except OSError as error:  # one that no command expected, such as a full disk
        message = str(error.strerror or error)
        if isinstance(error.filename, str):
            message = f"{error.filename}: {message}"
        return _report_error(words, CheckpointError(message, "fix that and try again"))
    except ImportError as error:
        from checkpoint_git.disk.installation import find_missing

        missing = find_missing(error, words)
        if missing is None:
            return _report_bug(words, error)
        if is_by_path:
            return NOT_STARTED
        return _report_error(words, missing)
    except Exception as error:
        return _report_bug(words, error)


def _run(words: list[str], program: str) -> int:
    answer = _answer_without_verb(words, program)
    if answer:
        _write(_stream("stdout"), answer)
        return CLEAN
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]

    request = find_request(words, program)
    if not IS_POSIX and request.verb.partition(" ")[0] in POSIX_ONLY:
        message = f"`checkpoint {request.verb}` does not run on Windows yet"
        raise CheckpointError(message, "run it in WSL")

    module = load_verb(request.verb)
    formats = parser.list_formats(request.verb, module, tuple(render.FORMATS))
    args = parser.parse(request, module, formats)
    invocation = _make_invocation(args)
    if hasattr(module, "answer"):
        return _print_answer(module.answer(args, invocation))
    outcome: Outcome = module.run(args, invocation)
    if outcome.findings:
        from checkpoint_git.core.untrusted_text import hide_in_findings

        outcome = hide_in_findings(outcome)

    if outcome.findings and request.verb not in WITH_FINDINGS:  # those do it themselves
        from checkpoint_git.protocols.typed_hints import type_hints

        outcome = outcome._replace(findings=type_hints(outcome.findings, invocation.cwd))

    if args.format == "github" or hasattr(module, "JOB_SUMMARY"):
        _write_job_summary(request.verb, outcome, invocation)
    screen = read_screen(
        invocation.stdout, invocation.env, colour=not args.no_color, quiet=args.quiet
    )
    pieces = render.render_pieces(request.verb, outcome, args.format, screen)
    return _print_answer(Answer(_page(request.verb, args, pieces, invocation), outcome.code))


def _make_invocation(args: argparse.Namespace) -> Invocation:
    stdin, stdout, stderr = _stream("stdin"), _stream("stdout"), _stream("stderr")
    return Invocation(
        cwd=_find_directory(args.directory),
        env=os.environ,
        now=int(time.time()),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        interactive=args.format == "text" and stdin.isatty() and stderr.isatty(),
    )


def _page(
    verb: str, args: argparse.Namespace, pieces: Iterable[str], invocation: Invocation
) -> Iterable[str]:
    """Show what is longer than the terminal in the pager; return what is still to be printed."""
    if verb not in PAGED or args.format != "text" or args.no_pager:
        return pieces
    height = invocation.height
    if not height:
        return pieces
    from checkpoint_git.cli.pager import show_paged

    return show_paged("".join(pieces), height, invocation)


def _write_job_summary(verb: str, outcome: Outcome, invocation: Invocation) -> None:
    """Append the outcome to the page of a GitHub job, as far as that has room."""
    path = invocation.env.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return
    from checkpoint_git.cli.render.markdown import cut_page

    screen = read_screen(invocation.stdout, invocation.env, colour=False, quiet=False)
    title = f"{verb} {outcome.data.get('action', '')}".rstrip()
    text = f"### checkpoint {title}\n\n{render.render(verb, outcome, 'md', screen)}\n"
    try:
        with open(path, "ab") as page:
            page.write(cut_page(text.encode("utf-8", "replace"), page.tell()))
    except OSError as error:
        message = f"checkpoint: the job's summary could not be written: {error.strerror}\n"
        _write(_stream("stderr"), message)


def _print_answer(answer: Answer) -> int:
    try:
        for text in answer.text:
            _write(_stream("stdout"), text)
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        message = f"the output could not be written: {error.strerror or error}"
        raise CheckpointError(
            message, "the command itself succeeded: check before you run it again"
        ) from None

    if answer.warning:
        _write(_stream("stderr"), f"{escape_controls(answer.warning)}\n")
    return answer.code


def _find_directory(wished: str) -> str:
    try:
        directory = os.path.abspath(wished)
    except FileNotFoundError:
        raise CheckpointError("the current folder no longer exists", "go to another one") from None
    if wished and not os.path.isdir(directory):
        raise CheckpointError(
            f"-C {escape_controls(wished)}: no such directory", "name a folder that exists"
        )
    return directory


def _stream(name: str) -> TextIO:
    """Return a standard stream, or one that leads nowhere if the process has none."""
    stream: TextIO | None = getattr(sys, name)
    if stream is not None:
        return stream
    return open(os.devnull, "r" if name == "stdin" else "w")


def _write(stream: TextIO, text: str) -> None:
    if "##" in text and os.environ.keys() & _JOBS:
        for sign in _OBEYED:
            text = text.replace(sign, f"{sign[:-1]}\\u005b")  # which JSON reads as it was

    buffer = getattr(stream, "buffer", None)
    stream.flush()
    if buffer is None:
        stream.write(text)
    else:
        buffer.write(encode_text(text, stream.encoding))
        buffer.flush()


def _silence_stdout() -> None:
    # else the interpreter complains about the closed pipe when it flushes at the end
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _find_verb(words: list[str]) -> str:
    index = find_verb_at(words)
    if index is None:
        return DEFAULT_VERB
    return parser.find_nested(words[index], words[:index] + words[index + 1 :])[0]


def _find_error_renderer(words: list[str]) -> ErrorRenderer | None:
    """Return the function for a verb whose errors have a special form; None if not loaded."""
    verb = _find_verb(words)
    if verb not in VERBS:
        return None
    return getattr(sys.modules.get(VERBS[verb].module), "tell_error", None)


def _report_error(
    words: list[str], error: CheckpointError, code: int = COULD_NOT_RUN, **members: Any
) -> int:
    """Print an error, and return the exit code. members: what its JSON has besides."""
    renderer = _find_error_renderer(words)
    if renderer is not None:
        answer = renderer(words, error)
        with suppress(CheckpointError):  # stdout takes nothing
            return _print_answer(answer)
        return _print_error(error, answer.code)

    if not _wants_json(words):
        return _print_error(error, code)
    from checkpoint_git.cli.render import json

    document = json.make_error(_find_verb(words), error.message, error.hint, **members)
    try:
        _write(_stream("stdout"), json.write(document))
    except OSError:
        _silence_stdout()

    return code


def _print_error(error: CheckpointError, code: int) -> int:
    message = escape_controls(f"checkpoint: {error.message}", keep="\n")
    try:
        from checkpoint_git.cli.render.blocks import fold, render_hint

        screen = read_screen(_stream("stderr"), os.environ)
        lines = [part for line in message.split("\n") for part in fold(line, screen)]
        _write(_stream("stderr"), "\n".join([*lines, *render_hint(error.hint, screen), ""]))
    except OSError:
        _silence_stdout()
    return code


def _report_bug(words: list[str], error: Exception) -> int:
    log = _write_log(words, error)
    message = f"a bug in this tool: {type(error).__name__}: {shorten(str(error), 200)}"
    hint = f"please report it with the log: {log}" if log else "the log could not be written"
    return _report_error(words, CheckpointError(message, hint), BUG, log=log)


def _write_log(words: list[str], error: Exception) -> str | None:
    import tempfile
    import traceback

    head = f"checkpoint {__version__}, Python {sys.version}\n{words!r}\n\n"
    text = head + "".join(traceback.format_exception(error))
    try:
        descriptor, path = tempfile.mkstemp(prefix="checkpoint-", suffix=".log")
        with open(descriptor, "wb") as stream:
            stream.write(text.encode("utf-8", "backslashreplace"))
    except OSError:
        return None

    return path


def _answer_without_verb(words: list[str], program: str) -> str:
    """Return the text that a line without a verb asks for, "" if it needs one."""
    if words[:1] != ["help"] and find_verb_at(words) is not None:
        return ""
    from checkpoint_git.cli import help_text

    lists_all = "--all" in words
    if words[:1] == ["help"]:
        topics = [word for word in words[1:] if not word.startswith("-")]
        if topics:
            return help_text.show_topic(topics[0])
        return help_text.overview(program, lists_all)

    for word in words:
        if word in ("-h", "--help"):
            return help_text.overview(program, lists_all)
        if word in ("-V", "-v", "--version"):
            return f"checkpoint {__version__}\n"

    return ""
