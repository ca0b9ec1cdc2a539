import re
import sys
from pathlib import Path

from tests.architecture.imports import ROOT, module_files
from tests.support.command import run_checkpoint
from tests.support.repos import GitRepo

LITERAL_CODE = re.compile(r'"((?:[a-z]+)/[a-z]+(?:-[a-z0-9]+)*)"')
ROOM_CODE = re.compile(r'(?:_error|_warning|yield make)\(\s*"([a-z]+(?:-[a-z0-9]+)*)"')
FINDING_CODE = re.compile(r'Finding\(\s*"([a-z]+/[a-z]+(?:-[a-z0-9]+)*)"')
FOLDERS_OF_CODES = {"json", "file", "skill", "doctor", "git", "drift", "done", "resolve", "next", "resume", "driver"}
FOLDERS_OF_CODES |= {"merge", "premerge", "restore", "yaml", "pipeline", "workflow"}
PYTHON_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def read_codes() -> set[str]:
    """Every finding code that the package's source spells out."""
    codes = set()
    for file in module_files().values():
        source = file.read_text("utf-8")
        codes |= {code for code in LITERAL_CODE.findall(source) if code.partition("/")[0] in FOLDERS_OF_CODES}
        codes |= set(FINDING_CODE.findall(source))
        if file.parent.parent.name == "protocols":
            codes |= {f"{file.parent.name}/{code}" for code in ROOM_CODE.findall(source)}
    return codes


def read_pages() -> dict[Path, str]:
    """The project's pages for people."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    return {file: file.read_text("utf-8") for file in files}


def test_every_finding_code_is_explained_in_the_docs() -> None:
    docs = "".join(read_pages().values())
    assert sorted(code for code in read_codes() if f"`{code}`" not in docs) == []


def test_codes_are_found_in_the_source() -> None:
    assert {"json/syntax", "skill/over-budget", "skill/unknown-status"} <= read_codes()


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page, text in read_pages().items()
        for target in LINK.findall(text)
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_python_example_runs(repo: GitRepo) -> None:
    examples = [example for text in read_pages().values() for example in PYTHON_EXAMPLE.findall(text)]
    assert len(examples) >= 3
    run_checkpoint("init", cwd=repo.path)
    for example in examples:
        done = repo.run(sys.executable, "-c", example)
        assert done.returncode == 0, f"{example}\n{done.stderr.decode()}"


def test_every_command_is_in_the_readme_and_on_the_man_page(repo: GitRepo) -> None:
    overview = run_checkpoint("--help", cwd=repo.path).stdout
    verbs = re.findall(
        r"^  ([a-z-]+) {2,}\S", overview.partition("commands")[2].partition("examples:")[0], re.MULTILINE
    )
    assert len(verbs) > 10
    readme = (ROOT / "README.md").read_text("utf-8")
    page = (ROOT / "checkpoint_git/man/git-checkpoint.1").read_text("utf-8")
    assert [
        verb for verb in verbs if f"`{verb}" not in readme or not re.search(rf"^\.BI? \"?{verb}\b", page, re.MULTILINE)
    ] == []
