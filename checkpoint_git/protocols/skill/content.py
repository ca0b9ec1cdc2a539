"""What is wrong with the checkpoints themselves: invalid, unreviewed, too long. Pure."""

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.skill.document_summary import MAX_SIZE
from checkpoint_git.tools.doctor.context import World


def find_invalid(world: World) -> list[Finding]:
    """Everything that validate says."""
    return [finding for sheet in world.sheets for finding in sheet.findings]


def find_byte_order_marks(world: World) -> list[Finding]:
    """Of what validate says, what can be mended without a question."""
    return [finding for finding in find_invalid(world) if finding.code == "json/byte-order-mark"]


def find_unreviewed(world: World) -> list[Finding]:
    """Narratives that an unattended merge has set aside."""
    findings = []
    for sheet in world.sheets:
        if sheet.unreviewed:
            count = f"{sheet.unreviewed} narrative{'' if sheet.unreviewed == 1 else 's'}"
            message = f"{count} that a merge set aside: nobody has reviewed them"
            hint = f"compare them with the present one; to history: checkpoint rotate {quote_word(sheet.skill)}"
            findings.append(Finding("content/unreviewed", "warning", message, sheet.path, "/superseded", hint=hint))
    return findings


def find_overdue_rotations(world: World) -> list[Finding]:
    """Files that grew too big, and lists of merged pull requests that git knows anyway."""
    findings = []
    for sheet in world.sheets:
        hint = f"checkpoint rotate {quote_word(sheet.skill)} moves what is closed into .checkpoints/history"
        if not sheet.rotates:
            hint = "nothing in it is closed, so rotate cannot help: say it in fewer words, or in files of their own"
        if sheet.size > MAX_SIZE:
            message = f"the file has {sheet.size / 1024:.1f} KB, and every resume reads all of it"
            findings.append(Finding("content/rotation-due", "warning", message, sheet.path, hint=hint))
        for where, length in sheet.merged:
            message = f"{length} merged pull requests are listed; git log tells them too"
            findings.append(Finding("content/rotation-due", "warning", message, sheet.path, where, hint=hint))
    return findings


def find_strays(world: World) -> list[Finding]:
    """Files that were probably meant as checkpoints, and that nobody reads for their names."""
    message = "it looks like a checkpoint, and is not read: its name does not end in .checkpoint.json, in small letters"
    hint = "git mv it to SKILL.checkpoint.json, or move it elsewhere"
    return [Finding("content/not-read", "note", message, path, hint=hint) for path in world.strays]
