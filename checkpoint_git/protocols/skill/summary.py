"""Summarize a project's checkpoints for the tools that ask. The makers are imported late."""

import os

from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import StatusQuestion, Summary


def is_present(place: Place) -> bool:
    return os.path.isdir(place.directory)


def summarize(question: StatusQuestion) -> Summary:
    if question.reader == "prime" and not is_present(question.place):
        return Summary()
    if question.reader == "prime":
        from checkpoint_git.protocols.skill.brief.session_brief import summarize_for_session

        return summarize_for_session(question)

    if question.reader == "report":
        from checkpoint_git.protocols.skill.brief.page import summarize_for_page

        return summarize_for_page(question)

    if question.reader == "completion":
        from checkpoint_git.protocols.skill.store import list_skills

        return Summary(names={"NAME": list_skills(question.place)})

    from checkpoint_git.protocols.skill.brief.status import summarize_status

    return summarize_status(question)
