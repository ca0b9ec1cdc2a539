"""Our entry in a .pre-commit-config.yaml: where it goes, and every other byte stays."""

import pytest

from checkpoint_git.tools.setup.framework import add_entry, has_entry, is_current, new_file, remove_entry

ITEM = "repo: local\n{0}  hooks: []\n"
PLAIN = {
    "items at the margin": "repos:\n- repo: meta\n  hooks: []\n",
    "items indented": "# top\nrepos:\n    -   repo: meta\n        hooks:\n        -   id: x\n",
    "more keys after": "repos:\n- repo: meta\n  hooks: []\n\n# and then\nci:\n  skip: [x]\n",
    "keys before": "default_stages: [pre-commit]\nrepos: # all\n  - repo: meta\n    hooks: []\nfail_fast: true\n",
    "no final newline": "repos:\n- repo: meta\n  hooks: []",
    "CRLF": "repos:\r\n- repo: meta\r\n  hooks: []\r\n",
    "a block of text at the end": "repos:\n- repo: meta\n  hooks:\n  - id: x\n    entry: |\n      a\n      # b\n",
    "comments between": "repos:\n# first\n- repo: meta\n  hooks: []\n# second\n- repo: meta\n  hooks: []\n# end\n",
    "a document start": "---\nrepos:\n- repo: meta\n  hooks: []\n",
}
NOT_PLAIN = {
    "flow style": "repos: []\n",
    "flow list": "repos: [{repo: meta, hooks: []}]\n",
    "no repos": "fail_fast: true\n",
    "an empty list": "repos:\n",
    "two documents": "repos:\n- repo: meta\n  hooks: []\n---\nx: 1\n",
    "an anchor": "repos: &all\n- repo: meta\n  hooks: []\n",
    "a dash alone": "repos:\n-\n  repo: meta\n",
    "twice": "repos:\n- repo: meta\n  hooks: []\nrepos:\n- repo: meta\n  hooks: []\n",
    "empty": "",
}


@pytest.mark.parametrize("name", PLAIN)
def test_an_entry_goes_in_and_out_to_the_byte(name: str) -> None:
    before = PLAIN[name].encode()
    after = add_entry(before)
    assert after is not None
    assert has_entry(after)
    assert is_current(after)
    assert add_entry(after) == after
    assert remove_entry(after) == before


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_a_file_written_in_another_way_is_left_to_its_owner(name: str) -> None:
    assert add_entry(NOT_PLAIN[name].encode()) is None


@pytest.mark.parametrize("name", PLAIN)
def test_the_list_has_one_item_more_and_the_rest_is_equal(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    before = yaml.safe_load(PLAIN[name])
    after = yaml.safe_load(add_entry(PLAIN[name].encode()))
    assert after["repos"][-1]["hooks"][0]["id"] == "checkpoint-validate"
    assert after == {**before, "repos": [*before["repos"], after["repos"][-1]]}


def test_an_older_block_of_ours_is_not_current() -> None:
    after = add_entry(PLAIN["items at the margin"].encode())
    assert after is not None
    old = after.replace(b"language: system", b"language: script")
    assert not is_current(old)
    assert add_entry(old) == after


def test_an_entry_written_by_hand_counts() -> None:
    assert has_entry(b"repos:\n- repo: x\n  hooks:\n  - id: checkpoint-validate # ours\n")
    assert not has_entry(b"repos:\n- repo: x\n  hooks:\n  # - id: checkpoint-validate\n")


def test_a_file_made_for_us_goes_when_nothing_was_added() -> None:
    assert remove_entry(new_file()) is None
    assert remove_entry(new_file() + b"fail_fast: true\n") == b"repos:\nfail_fast: true\n"
