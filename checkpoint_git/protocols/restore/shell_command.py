"""What a shell command does, by its words alone: it only reads, or it loses what no restore point brings back."""

import os
import re
from collections.abc import Iterator, Sequence, Set
from fnmatch import filter as match_names
from itertools import islice, pairwise

from checkpoint_git.protocols.contract import load_document

# patterns of whole simple commands, their words separated by one blank; "never" wins over "looks"
_TABLE = load_document(__file__, "commands.json")
# by what the words of a command may be: known ones; a variable that is not set there; anything
_LOOKS: tuple[list[str], ...] = (_TABLE["looks"], _TABLE["git_looks"], _TABLE["harmless_looks"])
_LOSSES: list[tuple[str, str]] = [(str(one["pattern"]), str(one["why"])) for one in _TABLE["losses"]]
_LONGEST = 4_000  # characters of a simple command that are looked at
MOST = 32_000  # of a whole one; an agent goes on without an answer that takes long
_MOST_ENTRIES = 200_000  # folder entries that all patterns of a command are compared with; a folder is ten of them
_START = 500  # of them that tell which command it is, or that two parts of one share
_NEAR = 50  # words among which a command is looked for that another one runs
_JOINTS = (";", "\n", "&&", "||", "|", "|&", ")")
_GIT_OPTIONS = re.compile(r"\Agit(?: -C \S+| --no-pager| -P| --no-optional-locks| --literal-pathspecs)+ ")
_ANY_OPTIONS = re.compile(r"\Agit((?: (?>(?:-[Cc]|--(?:git-dir|work-tree|namespace|config-env)) \S+|-\S+))+) (.*)")
_PREFIXES = re.compile(
    r"\A(?:(?:!|\{|do|elif|else|if|then|time|until|while|nice(?: -n [0-9]+)?|timeout [0-9.]+[smh]?"
    r"|(?:COLUMNS|LANG|LC_[A-Z]+|NO_COLOR|TZ)=\S*|(?:GIT_)?PAGER=cat|IFS=\S*(?= read)) )+"
)
_SUBSTITUTION = re.compile(r"[$<]\(((?:[^()'\"`\\$#\n]|(['\"])[^'\"`\\$#\n;&|<>(){}]*\2)*+)\)")
_STRANGE = re.compile(r"`|\(\(|[$<>](?:\\\n)*\(|\$(?:\\\n)*(?:[{'\"[]|_(?!\w))")
_HARMLESS = re.compile(r"(?:<|<<<) .+|(?:>>?|>&|&>) /dev/null|>& [12]", re.DOTALL)  # redirections
_QUOTED = re.compile(r"\\(.)|'([^']*)'|\"([^\"\\]*(?:\\.[^\"\\]*)*)\"", re.DOTALL)
# not every shell knows comments: where one may be more, and where a quote stays open, nothing is read any further
_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t]|\\\n)+|#[^\n'\"\\;&|<>()`]*(?![^\n]))|(?P<end>&&|&(?!>)|\|[|&]?|[;()\n])"
    r"|(?P<sign>[0-9]*(?:<<<|<[<>&]?|>[>|&]?)|&>>?)"
    r"|(?P<word>(?!#)(?:[^ \t\n;&|<>()'\"\\]+|" + _QUOTED.pattern + ")+)|.+",
    re.DOTALL,
)
Signs = list[tuple[str, str]]  # redirections, and where to; "" for nowhere


def _split(command: str) -> Iterator[tuple[list[str], Signs, str]]:
    """Of each simple command its words, in their quotes, its redirections, and what ends it: "" where reading does."""
    words, signs = list[str](), Signs()
    for token in _TOKEN.finditer(command):
        if token["sign"]:
            signs.append((token["sign"].lstrip("0123456789"), ""))
        elif token["word"] and signs and not signs[-1][1]:
            signs[-1] = (signs[-1][0], _unquote(token[0]) or ".")
        elif token["word"]:
            words.append(token[0])
        elif not token["blank"]:
            yield words, signs, token["end"] or ""
            words, signs = [], []
    yield words, signs, ";"


def _unquote(word: str) -> str:
    return _QUOTED.sub(r"\1\2\3", word.replace("\\\n", ""))


def _find_kind(word: str, named: Set[str]) -> int:
    """The row of _LOOKS for it. named: words of the command that may be the names of variables which it sets."""
    bare = _QUOTED.sub("", word)
    braces = bare.rpartition("}")[0].partition("{")[2]
    names = re.findall(r"\$(\w+|[@*])", _QUOTED.sub(r"\3", word))
    if "," in braces or ".." in braces or "\0" in word or any(one in named or not one.isidentifier() for one in names):
        return 2
    return 1 if re.search(r"\$(?!(?:HOME|PWD)\b)\w", bare) else 0


def _join(words: Sequence[str]) -> str:
    # a blank inside of a word would make it look like several
    return " ".join(re.sub(r"\s", "_", word) for word in words)


def is_looking(command: str) -> bool:
    """Known programs that only read, joined by pipes, loops and the like; nothing is written but to /dev/null."""
    inner, command = [one[1] for one in _SUBSTITUTION.finditer(command)], _SUBSTITUTION.sub("\0", command)
    bare = _QUOTED.sub(lambda one: one[0] if one[1] else f'"{one[3] or ""} "', command)  # no $ before a closing quote
    if not command.strip() or _STRANGE.search(bare) or not all(map(is_looking, inner)):
        return False
    named = frozenset(re.findall(r"(?<![$\w-])\w+", command))
    return all(_looks(*one, named) for one in _split(command))


def _looks(plain: Sequence[str], signs: Signs, end: str, named: Set[str]) -> bool:
    if end not in _JOINTS or not plain:
        return end in (*_JOINTS, "(") and not plain and not signs
    text = _PREFIXES.sub("", _join([_unquote(word) for word in plain]))
    text = _GIT_OPTIONS.sub("git ", text).replace("git checkpoint ", "checkpoint ")
    if len(text) > _LONGEST or any(re.fullmatch(never, text) for never in _TABLE["never"]):
        return False
    patterns = _LOOKS[max(_find_kind(word, named) for word in plain) :]
    is_known = any(re.fullmatch(look, text) for looks in patterns for look in looks)
    return is_known and all(_HARMLESS.fullmatch(" ".join(one)) for one in signs)


def _drop_texts(command: str) -> str:
    """Without the here-documents of programs that only store them."""
    kept, last, is_plain = list[str](), "", not re.search(r"[`$]", command)
    for line in command.split("\n"):
        if not last:
            kept.append(line)
            if "<<" not in line:
                continue
            head, _, sign = line.rpartition("<<")
            is_run = any(re.match(_TABLE["runners"], piece.strip()[:_LONGEST]) for piece in re.split(r"[|;&()]", line))
            program = re.split(r"[|;&#(]", head)[-1].split(" ")[0]
            if program in _TABLE["stores"] and not is_run and (is_plain or sign.endswith("'")):
                last = sign.strip("-'") if sign.strip("-'").isidentifier() else ""
        elif line.strip("\t") == last:
            last = ""
    return command if last else "\n".join(kept)


def find_loss(command: str, depth: int = 3) -> str:
    """What it does that no restore point can undo, "" for nothing that is known to."""
    command = _drop_texts(command) if len(command) <= 32 * MOST else command
    command = command if len(command) > MOST else _set_variables(command)
    if len(command) > MOST:
        return f"a command of more than {MOST:,} characters cannot be judged"
    found = list(_split(command))
    losses = [_match_loss(f"{sign[:1]} {target}"[:_LONGEST]) for _, signs, _ in found for sign, target in signs]
    runner = reader = ""  # what gets the output of a command, and what a here-document
    for words, signs, end in reversed(found):
        rest = [*map(_unquote, words), *(target for sign, target in signs if sign == "<<<")]
        piped = runner if end[:1] == "|" else ""
        losses.append(_find_loss([piped, *rest], depth, is_piped=bool(piped)))
        runner = "".join(re.findall(_TABLE["runners"], _join(rest)[:_LONGEST])) or piped
        reader = runner or piped if any(sign[:2] == "<<" for sign, _ in signs) else reader
    # what cannot be read, and what may run from within quotes, is read once more as if it had no quotes
    if not all(end for *_, end in found) or re.search(r"<<|`|\$['(]", command):
        bare = re.sub(r"[\[\],]", " ", re.sub(r"\\\n|['\"\\]", "", command))
        losses += [_find_loss([reader, *piece.split()], 0) for piece in re.split(r"[;&|\n(){}`]", bare)]
    return next(filter(None, losses), "")


def find_fed(command: str, depth: int = 3, *, is_unknown: bool = False) -> str:
    """The database client that runs what a file holds or a program prints, which the words do not show; or ""."""
    for words, signs, end in _split(_drop_texts(command)):
        rest, kinds = [_unquote(word) for word in words], {sign for sign, _ in signs}
        text = _PREFIXES.sub("", _join(rest))[:_LONGEST]
        is_given = is_unknown or any(sign == "<" and target != "/dev/null" for sign, target in signs)
        client = re.match(_TABLE["clients"], text)
        if client and (is_given or re.search(r" (-[aAbeEHlnqsStwWxXz01]*f|--file?(?![\w-]))", text[client.end() :])):
            return client[1]
        # as in find_targets: a word with a blank in it may be a command, but not where text is meant
        codes = [word for word in rest if depth and re.search(r"\s", word) and not re.fullmatch(_TABLE["texts"], text)]
        if fed := next(filter(None, (find_fed(code, depth - 1, is_unknown=is_given) for code in codes)), ""):
            return fed
        is_unknown = end[:1] == "|" and "<<" not in kinds and not re.match("(echo|printf) ", text)
    return ""


def _set_variables(command: str) -> str:
    command = re.sub(r"\$\((pwd|git rev-parse --show-toplevel)\)|`pwd`", ".", command)
    command = re.sub(r"\$\((?:echo|which|command -v) ([\w./~-]+)\)", r"\1", command)
    values = dict(re.findall(r"\b(\w+)(?:=| in )['\"]?([\w./~*-]+)", command))  # "x=.git; rm -rf $x"
    return re.sub(r"\$\{?(\w+)\}?", lambda found: values.get(found[1], found[0]), command)


def find_targets(command: str, here: str, depth: int = 3) -> list[str]:
    """Paths, absolute, that it may delete or overwrite by its words; of a pipe into xargs all words count."""
    targets, place, piped, budget = list[str](), here, list[str](), iter(range(_MOST_ENTRIES))
    for words, signs, end in _split(_set_variables(_drop_texts(command))):
        rest = [os.path.expanduser(re.sub(r"\{[^{}]+\}", "*", _unquote(word))) for word in words]
        place = os.path.join(place, *rest[1:2]) if rest[:1] == ["cd"] else place
        named = [target for sign, target in signs if target and sign in (">", ">|", "&>")]
        text = _join(rest)[:_LONGEST]
        if rest[:1] == ["find"] and "-name" in rest[:-1]:
            at, is_not = rest.index("-name"), {"!", "-not"} & {*rest}
            names = {"*"} if is_not else {name for word, name in pairwise(rest) if word == "-name"}
            rest = [os.path.join(start, "**", name) for start in rest[1:at] or ["."] for name in sorted(names)]
        if re.fullmatch(_TABLE["deletes"], text):
            named += [*(word.removeprefix("of=") for word in rest), *(piped if "xargs" in rest else ())]
            named += [quoted for word in rest for quoted in re.findall(r"['\"]([^'\"]+)['\"]", word)]
        elif re.fullmatch(_TABLE["copies"], text):  # to what follows the last that is elsewhere, or to the last of all
            plain = [word for word in rest if word[:1] != "-"] + re.findall(_TABLE["into"], text)
            far = [at for at, word in enumerate(plain) if re.match(r"[\w.-]+:", word)]
            goals, sources = plain[far[-1] + 1 :] if far else plain[-1:], [plain[at] for at in far] or plain[1:-1]
            sources += [one.rpartition(":")[2] for one in sources if ":" in one]  # host:app.db is app.db here
            is_into = not re.search(_TABLE["mirrors"], text)
            folders = [goal for goal in goals if is_into and os.path.isdir(os.path.join(place, goal))]
            named += [os.path.join(goal, os.path.basename(one)) for goal in folders for one in sources]
            named += [goal for goal in goals if goal not in folders]
        elif re.fullmatch(_TABLE["unpacks"], text):  # of what it names it only reads the archive
            archive = re.findall(_TABLE["archives"], text)[:1]
            words = [word for before, word in pairwise(rest) if not re.fullmatch("-?[A-Za-z]*[fo]|unzip", before)]
            named += [re.sub(r"\A(-[oCD]|--[a-z]+=)(?=.)", "", word) for word in words if word not in archive]
        elif re.fullmatch(_TABLE["downloads"], text):
            files = ["".join(found) for found in re.findall(_TABLE["download_files"], text)]
            named += [
                os.path.join(top, one) for top in ["", *re.findall(_TABLE["download_folders"], text)] for one in files
            ]
        elif not text.startswith("git ") and not re.fullmatch(_TABLE["texts"], text):
            codes = [word for word in rest if depth and re.search(r"[\s(]", word)]
            targets += [path for code in codes for path in find_targets(code, place, depth - 1)]
            named += re.findall(_TABLE["outputs"], text)
        targets += [one for name in named for one in _expand(os.path.normpath(os.path.join(place, name)), budget)]
        rest = [one for one in rest if one != "."]  # of which `find -name` names a part
        piped, place = [*piped, *rest] if end[:1] == "|" else [], here if end == ")" else place
    return list(dict.fromkeys(targets))


def _expand(pattern: str, budget: Iterator[int]) -> list[str]:
    """What is there of its paths, and what is called like them further below; where that is too much, all of it."""
    parts = pattern.split("/")
    at = next((at for at, part in enumerate(parts) if {*part} & {*"*?["}), 0)
    if not at:
        return [pattern] if os.path.lexists(pattern) else []
    above, last, found = "/".join(parts[:at]) or "/", parts[-1], list[str]()
    for top, folders, files in os.walk(above):  # which follows no links: they may lead round and round
        shown = [name for name in (*folders, *files) if last[0] == "." or name[0] != "."]
        folders[:] = [name for name in folders if name != ".git" and not re.fullmatch(_TABLE["rebuilt"], name)]
        found += [os.path.join(top, name) for name in match_names(shown, last)]
        if len([*islice(budget, 10 + len(shown))]) < len(shown):
            return [above]
        if parts[at:] == [last] != ["**"]:
            break
    return found


def _find_loss(words: Sequence[str], depth: int, *, is_piped: bool = False) -> str:
    rest = [word.strip() for word in words[:_LONGEST]]
    names = [os.path.basename(word) for word in rest]
    for at, name in enumerate(names[:_NEAR]):
        if "git" in names[:at] and name != "git":  # an argument of git
            continue
        texts = [_ANY_OPTIONS.sub(r"git \2\1", text) for text in _cut(_join([name, *rest[at + 1 :]]))]
        if loss := next(filter(None, map(_match_loss, texts)), ""):
            return loss
        if not is_piped and re.fullmatch(_TABLE["texts"], texts[0]):
            return ""
    # a word with a blank in it may be a command, but not where text is meant
    codes = [re.sub(r"\A[\w.-]+=!?", "", word) for word in rest if depth and re.search(r"\s", word)]
    return next(filter(None, (find_loss(code, depth - 1) for code in codes)), "")


def _cut(text: str) -> Iterator[str]:
    # what is too long to be matched at once, in parts that begin as it does and share a word or more
    start = f"{text[:_START].rpartition(' ')[0]} " if len(text) > _LONGEST else ""
    yield text[:_LONGEST]
    for at in range(_LONGEST - _START, len(text) - _START, _LONGEST - 2 * _START):
        yield start + text[at : at + _LONGEST - _START].partition(" ")[2]


def _match_loss(text: str) -> str:
    # braces make several words of one, as a list does in a program
    texts = [text, re.sub(r"[\[\]{},]", " ", text).strip()] if "," in text else [text]
    found = ((re.fullmatch(loss, text), why) for loss, why in _LOSSES for text in texts)
    return next((match.expand(why) for match, why in found if match), "")
