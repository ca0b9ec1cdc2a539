"""Names of pipeline records: run ids against the uuid module, tickets that are no paths, paths
taken apart.
"""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.protocols.pipeline import layout
from tests.support.rows import rows

NAMESPACE = uuid.UUID("e176b05f-f761-5a9d-9a51-ac6d5a3566ee")
RUN = "4fa2159f-9c61-5f8b-9ae5-28692b46cbd7"


@rows(
    ("short", "full"),
    [
        ("a1b2c3d4", RUN),
        ("run-1", "c5209739-d7c7-53f3-abc8-59b52a6b2f97"),
        ("A1B2C3D4", "d2c7d1f0-3374-50da-9e9a-8cd8d8027f7b"),
        ("r1", "dd692987-7db8-59ac-a1cf-86f0650dadb2"),
    ],
)
def test_a_short_run_id_always_stands_for_the_same_uuid(short: str, full: str) -> None:
    assert layout.normalize_run_id(short) == full


def reference(run_id: str) -> str:
    """What the standard library makes of it."""
    try:
        return str(uuid.UUID(run_id))
    except ValueError:
        return str(uuid.uuid5(NAMESPACE, run_id))


@given(
    st.one_of(
        st.uuids().map(str),
        st.text(st.sampled_from("0123456789abcdefABCDEF-{}urnid:+_ "), max_size=45),
    )
)
def test_run_ids_are_what_the_uuid_module_makes_of_them(run_id: str) -> None:
    assert layout.normalize_run_id(run_id) == reference(run_id)


@rows("spelling", [RUN.upper(), f"{{{RUN}}}", f"urn:uuid:{RUN}", RUN.replace("-", "")])
def test_every_spelling_of_a_uuid_becomes_its_usual_form(spelling: str) -> None:
    assert layout.normalize_run_id(spelling) == RUN


@rows(
    "ticket",
    [
        "",
        " ",
        ".",
        "..",
        "a/b",
        "x/..",
        "a\\b",
        "a\0b",
        "a\nb",
        "~",
        ".git",
        ".GIT",
        "x" * 65,
        "\ud800",
        " a",
    ],
)
def test_a_ticket_that_could_be_a_path_or_nothing_is_refused(ticket: str) -> None:
    assert layout.find_ticket_trouble(ticket)


@rows("ticket", ["OMN-2144", "x" * 64, "a.b", "Ä-1", "2026", "...", "a b"])
def test_other_tickets_are_taken(ticket: str) -> None:
    assert layout.find_ticket_trouble(ticket) == ""


@rows("base", ["relative", "", "/a/../b", "/a/..", "/a\0b", "~/x"])
def test_a_base_is_absolute_and_leads_straight_down(base: str) -> None:
    assert layout.find_base_trouble(base)


@rows(
    ("name", "found"),
    [
        ("phase_1_implement_a1.yaml", ("implement", 1)),
        ("phase_2_local_review_a12.yaml", ("local_review", 12)),
        ("phase_4_ready_for_merge_a1.yaml", ("ready_for_merge", 1)),
        ("phase_5_ready_for_merge_a1.yaml", ("ready_for_merge", 1)),
        ("phase_4_pr_release_ready_a3.yaml", ("pr_release_ready", 3)),
    ],
)
def test_the_numberings_of_both_kinds_of_pipelines_are_read(
    name: str, found: tuple[str, int]
) -> None:
    parsed = layout.parse_path(f"OMN-1/{RUN}/{name}")
    assert parsed is not None
    assert (parsed.phase, parsed.attempt) == found
    assert (parsed.ticket_id, parsed.run_id, parsed.file_name) == ("OMN-1", RUN, name)
    assert parsed.path == f"OMN-1/{RUN}/{name}"


@rows(
    "name",
    [
        *(
            "phase_2_implement_a1.yaml",
            "phase_1_implement_a0.yaml",
            "phase_1_implement_a01.yaml",
            "phase_1_implement_a.yaml",
        ),
        *(
            "phase_1_implement_a1.yml",
            "phase_1_alpha.yaml",
            "phase_01_implement_a1.yaml",
            "phase_1_implement_a1.yaml.tmp",
        ),
        *(
            "phase_3_deploy_a1.yaml",
            "phase_1_implement_a1.YAML",
            "phase_1_implement_a\uff11.yaml",
            "x_phase_1_implement_a1.yaml",
        ),
    ],
)
def test_other_names_are_no_records(name: str) -> None:
    assert layout.parse_path(name) is None


def test_a_record_lies_in_the_folder_of_a_run() -> None:
    name = "phase_1_implement_a1.yaml"
    assert layout.find_skill(f"x/OMN-1/{RUN}/{name}") == f"OMN-1/{RUN}/{name}"
    assert layout.find_skill(f"docs/{name}") == ""
    assert layout.find_skill(name) == ""


def test_earlier_phases_are_those_of_the_pipeline_at_hand() -> None:
    assert layout.earlier_phases("implement", []) == []
    assert layout.earlier_phases("ready_for_merge", []) == [
        "implement",
        "local_review",
        "create_pr",
    ]
    both = ["implement", "local_review", "create_pr", "pr_release_ready"]
    assert layout.earlier_phases("ready_for_merge", ["pr_release_ready"]) == both
