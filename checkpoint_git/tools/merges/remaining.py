"""What merges of the past did to checkpoints and still stands: the hits of each merge held against a later commit."""

from checkpoint_git.core.jsontext import JsonTextError, Node, decode, parse, split_pointer
from checkpoint_git.git.merges.line_merge import Plain
from checkpoint_git.git.merges.merges import read_contents
from checkpoint_git.git.merges.suspects import read_blobs_in_head, read_later_versions
from checkpoint_git.tools.merges.harm import Judged, key_of
from checkpoint_git.tools.merges.line_merge import Found, Served, ServedFile, find_parents, hit_of, place_lines
from checkpoint_git.tools.merges.line_merge_findings import Hit


def keep_lasting(plain: Plain, served: Served, head: str) -> Served:
    """The merge with only what a commit still shows, and nobody brought back in between. head: a full id."""
    if served.commit is None or not served.files:
        return served
    paths = [file.judged.file.path for file in served.files]
    blobs = read_blobs_in_head(plain.cwd, paths, plain.env, head)
    contents = read_contents(plain.cwd, filter(None, blobs.values()), plain.env)
    files = []
    for file in served.files:
        data = contents.get(blobs[file.judged.file.path])
        found = _keep(plain, served, file, data, head) if file.found else []
        if found:
            files.append(file._replace(found=place_lines(data, found)))
    return served._replace(files=files)


def _keep(plain: Plain, served: Served, file: ServedFile, data: bytes | None, head: str) -> list[Found]:
    judged = file.judged
    path = judged.file.path
    left = judged.find_left(data)
    if left and any(entry.verdict == "lost" for entry in left) and served.commit is not None:
        later = read_later_versions(plain.cwd, served.commit.id, path, plain.env, head)
        left = judged.find_never_back(left, later)
    keys = {key_of(entry) for entry in left or ()}
    if judged.file.result is None and served.commit is not None and data is None:
        later = read_later_versions(plain.cwd, served.commit.id, path, plain.env, head)
        return [] if later else file.found
    if judged.is_readable:
        kept = [one for one in file.found if one.entry is not None and key_of(one.entry) in keys]
        return kept + [one for one in file.found if one.entry is None and _stands(judged, one.hit, data)]
    if left == judged.harmed:
        return file.found
    parents = find_parents(judged, served.event)
    return [Found(hit_of(judged, entry, parents, False), entry) for entry in left or ()]


def _stands(judged: Judged, hit: Hit, data: bytes | None) -> bool:
    """Whether a place of the file is still as the merge made it."""
    if data is None or judged.file.result is None:
        return False
    if data == judged.file.result:
        return True
    places = [_find(version, hit.where) for version in (judged.file.result, data)]
    if places[0] is None or places[1] is None:
        return False
    return bool(places[0].value == places[1].value)


def _find(data: bytes, where: str) -> Node | None:
    try:
        node: Node | None = parse(decode(data))
    except JsonTextError:
        return None
    for key in split_pointer(where):
        members = None if node is None else node.members
        if type(members) is dict:
            node = members.get(key)
        elif type(members) is list and key.isdigit() and int(key) < len(members):
            node = members[int(key)]
        else:
            return None
    return node
