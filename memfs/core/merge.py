"""Merge two edits of one text: lines that only one side changed are taken from that side, appends of both follow.

The worker calls it where a memory and its file moved away from the baseline, each elsewhere. Pure, on bytes: line ends
are part of their lines, so a CRLF stays one, and a text without a newline at its end keeps none. Only a merge in which
no line of either side is lost is given; anything else is a conflict, for which there is a copy. Merging again what is
merged already changes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile

from merge3 import Merge3

from memfs.core.limits import Limits

PAIRS = 500_000
"""Pairs of equal lines to look at: two texts with more are alike everywhere, and nothing tells what was changed."""
_MANY_LINES, _POPULAR = 200, 100
"""In a text of many lines, the matcher does not go by one that is more than a hundredth of them."""
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_ENDS = (b"\r\n", b"\n")

_Lines = list[bytes]


def merge(base: bytes, remote: bytes, local: bytes, limits: Limits) -> bytes | None:
    """Return the text with the changes of both, the remote's appended lines first; None where they overlap.

    None also where the outcome would be no memory: not UTF-8, or larger than ``limits`` allow.
    """
    if not (_is_text(remote) and _is_text(local)):
        return None
    if remote == local or base in {remote, local}:
        return local if base == remote else remote
    if base and not base.endswith(b"\n"):
        # At this point we know that whoever appends has to end the last line: where both did, alike, that is no edit.
        base = next((base + end for end in _ENDS if _begin_with(base + end, remote, local)), base)
    merged = _merge(base, remote, local)
    if merged is None or len(merged) > limits.memory_bytes or _merge(base, remote, merged) != merged:
        # The last: many equal lines were aligned one way now and would be another way next time.
        return None
    return merged


def nearest_base(bases: Sequence[bytes], remote: bytes, local: bytes) -> bytes:
    """Return the one of ``bases`` to merge by: the baseline's text first, then what else both sides may come from.

    A text that both sides begin with tells what each appended, the longest one best.
    """
    return max((one for one in bases if _begin_with(one, remote, local)), key=len, default=bases[0])


def _begin_with(text: bytes, remote: bytes, local: bytes) -> bool:
    return remote.startswith(text) and local.startswith(text)


def _merge(*texts: bytes) -> bytes | None:
    base, remote, local = (_lines(text) for text in texts)
    # What all three begin or end with needs no alignment, and cannot be taken for something else.
    head = _shared(base, remote, local)
    same, base, remote, local = base[:head], base[head:], remote[head:], local[head:]
    tail = _shared(base[::-1], remote[::-1], local[::-1])
    ends = (len(one) - tail for one in (base, remote, local))
    end = base[len(base) - tail :]
    base, remote, local = (one[:size] for one, size in zip((base, remote, local), ends, strict=True))
    if _pairs(base, remote) + _pairs(base, local) > PAIRS:
        return None
    parts = list(_parts(base, remote, local, is_end=not end))
    return None if None in parts else b"".join([*same, *(part for part in parts if part is not None), *end])


def _parts(base: _Lines, remote: _Lines, local: _Lines, *, is_end: bool) -> Iterator[bytes | None]:
    """Yield the merged text piece by piece, None for what overlaps; ``is_end``: nothing follows these lines."""
    for region in Merge3(base, remote, local).merge_regions():
        match region:
            case ("unchanged", start, end):
                yield b"".join(base[start:end])
            case ("same" | "a", start, end):
                yield b"".join(remote[start:end])
            case ("b", start, end):
                yield b"".join(local[start:end])
            case (_, start, end, *theirs_and_ours):
                first, last, our_first, our_last = theirs_and_ours
                is_append = is_end and start == end == len(base)
                yield _appended(remote[first:last], local[our_first:our_last]) if is_append else None


def _appended(remote: _Lines, local: _Lines) -> bytes:
    """Return what was appended on both sides, and once what one side has already from the other."""
    theirs, ours = b"".join(remote), b"".join(local)
    if ours.startswith(theirs):
        return ours
    if theirs.startswith(ours):
        return theirs
    if not theirs.endswith(b"\n"):
        # Without its newline the last line would run on into ours.
        theirs += b"\r\n" if local[0].endswith(b"\r\n") else b"\n"
    return theirs + ours


def _pairs(base: _Lines, other: _Lines) -> int:
    """Return how many pairs of equal lines the matcher looks at."""
    popular = len(other) // _POPULAR + 1 if len(other) >= _MANY_LINES else len(other)
    counts = Counter(other)
    return sum(counts[line] for line in base if counts[line] <= popular)


def _shared(*texts: _Lines) -> int:
    """Return how many lines all texts begin with."""
    return sum(1 for _ in takewhile(lambda lines: len(set(lines)) == 1, zip(*texts, strict=False)))


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines(content: bytes) -> _Lines:
    return _LINE.findall(content)
