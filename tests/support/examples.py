"""How many examples hypothesis tries: `pytest --hypothesis-profile=quick`, `ci` or `deep`; quick
unless named.
"""

from typing import Any

from hypothesis import settings

_USUAL = 100  # hypothesis' own number
_COUNTS = {"quick": 25, "ci": _USUAL, "deep": 2_000}


def register_profiles() -> None:
    """Registers the profiles and loads `quick`. No deadline: a busy machine is not a fault of
    ours.
    """
    for name, count in _COUNTS.items():
        settings.register_profile(name, max_examples=count, deadline=None)
    settings.load_profile("quick")


def examples(count: int, **options: Any) -> settings:
    """Return settings for a property that needs another number of examples than most; count: in the
    profile `ci`.
    """
    share = settings().max_examples / _USUAL
    return settings(max_examples=max(5, round(count * share)), **options)
