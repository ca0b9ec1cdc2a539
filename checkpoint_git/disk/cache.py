"""What need not be found out again: a file that may be lost, damaged or unwritable at no harm. Nothing here raises."""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from checkpoint_git import version
from checkpoint_git.core import jsontext
from checkpoint_git.disk.atomic import remove_stray_files
from checkpoint_git.disk.read import read_plain
from checkpoint_git.disk.replace import remove_quietly, write_temporary

_MOST_BYTES = 16 * 1024 * 1024


def load_cache(path: str, rules: str) -> Any:
    """What write_cache wrote under the same rules, else None. rules: one word; another makes the value worthless."""
    with suppress(OSError, ValueError, jsontext.JsonTextError):
        header, _, body = read_plain(path, _MOST_BYTES).partition(b"\n")
        return jsontext.load(body.decode()) if header == _header(rules, body) else None
    return None


def write_cache(path: str, rules: str, value: Any) -> None:
    import json  # to read needs none of it

    # whole or not at all; of two processes at once the later wins
    body = json.dumps(value, separators=(",", ":")).encode()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        remove_stray_files(os.path.dirname(path))
        temporary = write_temporary(path, _header(rules, body) + b"\n" + body, None, sync=False)
    except OSError:
        return
    try:
        os.replace(temporary, path)
    except OSError:
        remove_quietly(temporary)


def _header(rules: str, body: bytes) -> bytes:
    return f"checkpoint-git cache 1 {rules} {make_digest([], body)}".encode()


def package_digest(folder: str = "") -> str:
    """A digest of the Python files of this package as it is installed, or of another copy of it in a folder."""
    folder = folder or os.path.dirname(os.path.abspath(version.__file__))
    words = [version.__version__]
    for above, _, names in sorted(os.walk(folder)):
        words += [mark_file(os.path.join(above, name)) for name in sorted(names) if name.endswith((".py", ".json"))]
    return make_digest(words)


def mark_file(path: str) -> str:
    # time and size change with the content, and cost no reading
    with suppress(OSError):
        status = os.stat(path)
        return f"{path} {status.st_mtime_ns} {status.st_size}"
    return path


def make_digest(words: Iterable[str], data: bytes = b"") -> str:
    try:
        from _blake2 import blake2b  # hashlib brings OpenSSL along, a tenth of all the memory that the doctor takes
    except ImportError:
        from hashlib import blake2b
    digest = blake2b("\n".join(words).encode("utf-8", "surrogateescape"), digest_size=12)
    digest.update(data)
    return digest.hexdigest()
