"""Draws docs/report.png: what `checkpoint report` shows of a project, from a real run in a scratch
repository.

`python -m docs.make_report_picture [FILE]`, with Chromium on PATH. A FILE that ends in .html gets
the page itself.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import zlib
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, HOUR, write_instant
from demo.stage import Stage

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "report.png")
# pixels; a browser may leave the lowest part of its window empty
WIDTH, HEIGHT, SPARE = (
    1130,
    1435,
    500,
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-lcd-text",
    "--force-device-scale-factor=0.9",
]


def rows(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    """A progress table: label and status of each row."""
    return [
        {"id": f"row-{at + 1}", "label": label, "status": status}
        for at, (label, status) in enumerate(pairs)
    ]


def blocker(name: str, text: str, needs: str, **more: Any) -> dict[str, Any]:
    """A blocker of a checkpoint."""
    return {"id": name, "description": text, "needs": needs, **more}


def ticket(name: str, role: str) -> dict[str, str]:
    """A reference to a ticket."""
    return {
        "provider": "linear",
        "id": name,
        "role": role,
        "url": f"https://linear.app/tidepool/issue/{name}",
    }


SPEC, SIGN_IN, NOTES, SEARCH, OFFLINE = (
    "Specification",
    "Sign-in with passkeys",
    "Notes API",
    "Search",
    "Offline copies",
)
REGION = (
    "Which region should production run in? Latency speaks for Frankfurt, the price for Stockholm"
)

NEW, NOW, DONE = "not_started", "in_progress", "complete"
SESSIONS, ATTEMPTS, PREFIX = (
    "Sessions last 30 days",
    "Five sign-in attempts a minute",
    "Search by prefix, no ranking",
)


def build_rows(*states: str) -> list[dict[str, str]]:
    """The rows of the skill that builds."""
    return rows(*zip((SIGN_IN, NOTES, SEARCH, OFFLINE), states, strict=True))


class Step(NamedTuple):
    """One commit of the story. ago: days. changes: fields of the checkpoint, its key decisions
    among them.
    """

    ago: float
    author: str
    subject: str
    skill: str
    changes: dict[str, Any]


STORY = (
    Step(
        27,
        "Ada",
        "Begin with the specification",
        "architect",
        {
            "phase": "specification",
            "step": "draft",
            "status": NOW,
            "next_actions": ["Write down who may read a note"],
            "progress_table": rows((SPEC, NOW), ("Threat model", NEW)),
        },
    ),
    Step(
        25,
        "Ada",
        "Settle storage and sign-in",
        "architect",
        {
            "key_decisions": [
                "SQLite for storage: one file, easy to copy",
                "Passkeys only, no passwords",
            ],
            "progress_table": rows((SPEC, DONE), ("Threat model", NOW)),
        },
    ),
    Step(
        23,
        "Ben",
        "Finish the threat model",
        "architect",
        {
            "step": "handed-over",
            "status": DONE,
            "next_actions": [],
            "pm_refs": [ticket("TIDE-12", "source")],
            "progress_table": rows((SPEC, DONE), ("Threat model", DONE)),
        },
    ),
    Step(
        21,
        "Ada",
        "Start to build",
        "build",
        {
            "phase": "build-loop",
            "step": "sprint-1",
            "status": NOW,
            "next_actions": ["Write the sign-in page"],
            "progress_table": build_rows(NOW, NEW, NEW, NEW),
        },
    ),
    Step(
        17,
        "Ada",
        "Sign-in works",
        "build",
        {
            "step": "sprint-2",
            "key_decisions": [SESSIONS],
            "next_actions": ["Write the notes API"],
            "progress_table": build_rows(DONE, NOW, NEW, NEW),
        },
    ),
    Step(
        15,
        "Ben",
        "Look at what sign-in leaves open",
        "audit",
        {
            "phase": "review",
            "step": "sign-in",
            "status": NOW,
            "next_actions": ["Review the session store"],
            "progress_table": rows(("Sign-in", NOW), ("Notes API", NEW)),
        },
    ),
    Step(
        12,
        "Ben",
        "Ask for a limit on sign-in attempts",
        "audit",
        {
            "status": "blocked",
            "blockers": [
                blocker("b1", "Sign-in takes as many attempts as anybody likes", "code_fix")
            ],
        },
    ),
    Step(11, "Ada", "Limit sign-in attempts", "build", {"key_decisions": [SESSIONS, ATTEMPTS]}),
    Step(
        10,
        "Ben",
        "Sign-in is fine now",
        "audit",
        {
            "status": NOW,
            "blockers": [],
            "step": "notes-api",
            "next_actions": ["Review who may read a note"],
            "progress_table": rows(("Sign-in", DONE), ("Notes API", NOW)),
        },
    ),
    Step(
        9,
        "Ada",
        "Put the first build on staging",
        "deploy",
        {
            "phase": "staging",
            "step": "first-deploy",
            "status": NOW,
            "next_actions": ["Point the domain at staging"],
            "pm_refs": [ticket("TIDE-31", "deploy")],
            "progress_table": rows(("Staging", NOW), ("Production", NEW)),
        },
    ),
    Step(
        6,
        "Ada",
        "The notes API is done",
        "build",
        {
            "step": "sprint-3",
            "key_decisions": [SESSIONS, ATTEMPTS, PREFIX],
            "next_actions": [
                {"text": "Measure the search on 100,000 notes", "done_when": "make bench-search"},
                "Write the search page",
            ],
            "pm_refs": [ticket("TIDE-14", "child"), ticket("TIDE-15", "child")],
            "progress_table": build_rows(DONE, DONE, NOW, NEW),
        },
    ),
    Step(
        3,
        "Eve",
        "Staging is up, production waits",
        "deploy",
        {
            "step": "choose-region",
            "progress_table": rows(("Staging", DONE), ("Production", NEW)),
            "blockers": [
                blocker(
                    "region",
                    REGION,
                    "user_decision",
                    blocking="row-2",
                    options=["Frankfurt", "Stockholm"],
                ),
            ],
        },
    ),
    Step(
        2,
        "Eve",
        "Plan the help pages",
        "docs",
        {
            "phase": "outline",
            "step": "chapters",
            "status": NOW,
            "next_actions": ["Write the chapter on sharing"],
            "progress_table": rows(("First steps", NEW), ("Sharing", NEW)),
        },
    ),
    Step(
        0.2,
        "Ben",
        "Half of the notes API is reviewed",
        "audit",
        {
            "next_actions": ["Review who may read a note", "Review what the export holds"],
            "key_decisions": ["Exports are signed"],
        },
    ),
)
SUMMARIES = {
    "architect": "The specification and the threat model are done and handed over.",
    "build": "Sign-in and the notes API are done; the search answers, but nobody has measured it yet.",
    "audit": "Sign-in is reviewed and its one finding fixed; the notes API is half way.",
    "deploy": "Staging runs the first build. Production waits for a region.",
    "docs": "Only an outline so far.",
}


def main(target: str) -> None:
    """Play the story, make the report, and take its picture."""
    with Stage(quiet=True) as stage:
        stage.do("git init -q -b main && checkpoint init")
        play(stage, int(time.time()) // HOUR * HOUR)
        page = os.path.join(stage.folder, "report.html")
        stage.do(f"checkpoint report -o {page}")
        if target.endswith(".html"):
            shutil.copyfile(page, target)
        else:
            take_picture(page, target, os.path.join(stage.folder, "browser"))
    print(f"wrote {os.path.relpath(target)} ({os.path.getsize(target) // 1024} KB)")


def play(stage: Stage, now: int) -> None:
    """Every step of the story as a commit of its day."""
    values: dict[str, dict[str, Any]] = {}
    for step in STORY:
        at = now - int(step.ago * DAY)
        value = values.setdefault(step.skill, begin(stage, step.skill, at))
        changes = dict(step.changes)
        value["context_primer"]["key_decisions"] = changes.pop(
            "key_decisions", value["context_primer"]["key_decisions"]
        )
        value.update(changes, updated_at=write_instant(at))
        stage.write(
            f".checkpoints/{step.skill}.checkpoint.json", json.dumps(value, indent=2) + "\n"
        )
        day = write_instant(at)
        stage.env.update(GIT_AUTHOR_DATE=day, GIT_COMMITTER_DATE=day, GIT_AUTHOR_NAME=step.author)
        stage.do(f"git add -A && git commit -q -m '{step.subject}'")


def begin(stage: Stage, skill: str, at: int) -> dict[str, Any]:
    """A checkpoint with what every one needs."""
    return {
        "protocol_version": "1.0",
        "skill": skill,
        "project": "tidepool",
        "project_dir": stage.repository,
        "created_at": write_instant(at),
        "progress_summary": SUMMARIES[skill],
        "context_primer": {"key_decisions": []},
        "blockers": [],
    }


def take_picture(page: str, target: str, profile: str) -> None:
    """What a browser shows of the page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("install Chromium, which takes the picture")
    size = f"--window-size={WIDTH},{HEIGHT + SPARE}"
    words = [
        browser,
        *FLAGS,
        f"--user-data-dir={profile}",
        size,
        f"--screenshot={target}",
        f"file://{page}",
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    with open(target, "rb") as stream:
        picture = stream.read()
    with open(target, "wb") as stream:
        stream.write(crop(picture, HEIGHT))


def crop(picture: bytes, height: int) -> bytes:
    """The upper rows of a PNG. Each row is written in terms of the one above it, so the lower ones
    can just go.
    """
    chunks, at = list[tuple[bytes, bytes]](), 8
    while at < len(picture):
        size = int.from_bytes(picture[at : at + 4], "big")
        chunks.append((picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]))
        at += 12 + size
    head = chunks[0][1]
    rows = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    kept = rows[: len(rows) // int.from_bytes(head[4:8], "big") * height]
    parts = [
        (b"IHDR", head[:4] + height.to_bytes(4, "big") + head[8:]),
        (b"IDAT", zlib.compress(kept, 9)),
        (b"IEND", b""),
    ]
    return picture[:8] + b"".join(write_chunk(kind, data) for kind, data in parts)


def write_chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG, with its length and checksum."""
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else TARGET)
