"""A line on the terminal for a person who waits: what is being done and how far it is. It goes when nothing is left."""

from collections.abc import Callable

from checkpoint_git.core.outcome import Invocation

Tell = Callable[[str], None]

_BAR = 24  # columns


def make_teller(invocation: Invocation) -> Tell:
    """Each text takes the place of the one before it; "" takes it away. Without a terminal it is silent."""

    def tell(text: str) -> None:
        invocation.stderr.write(f"\r\x1b[K{text}")
        invocation.stderr.flush()

    return tell if invocation.interactive else lambda text: None


def draw_bar(done: int, total: int) -> str:
    if total <= 0:
        return f"{done}"
    share = min(max(done, 0), total) / total
    filled = int(share * _BAR)
    head = ">" if filled < _BAR else ""
    return f"[{'=' * filled}{head}{' ' * (_BAR - filled - len(head))}] {int(share * 100):3} % of {total}"
