"""What programs lately wrote to a store's files, by backing inode: who is in the middle of it, and who only appends.

With no open upcall nobody knows who is between a truncate and a write; the time since the last write that was no
append stands for it. Lost knowledge (a restart) costs a second look, never bytes. Pure; used under the mutation lock.
"""

from typing import NamedTuple

from memfs.core.tree_requests import Identity, Outcome

QUIET_NS = 1_000_000_000
"""How long a file must not have been written, but by appends, before a pull may replace it."""
_REMEMBERED = 4096


class _Record(NamedTuple):
    changed_ns: int | None
    """When it was last written other than by an append."""
    appended_since: Identity | None
    """What the file was before the appends that are all that was written to it since."""


class Writes:
    """The writes to the files of one store."""

    def __init__(self) -> None:
        self._records: dict[int, _Record] = {}

    def changed(self, inode: int, now_ns: int) -> None:
        """Note a write that was no append, a truncate or a create."""
        self._note(inode, _Record(now_ns, None))

    def is_new(self, inode: int) -> None:
        """Note that the inode is now a pulled file's, which nobody wrote to yet."""
        self._records.pop(inode, None)

    def appending(self, before: Identity) -> None:
        """Note that bytes are about to be appended to a file that is ``before``."""
        record = self._records.get(before.inode)
        if record is None:
            self._note(before.inode, _Record(None, before))
        elif record.appended_since is None:
            self._note(before.inode, _Record(record.changed_ns, before))

    def judge(self, expected: Identity, found: Identity, now_ns: int) -> Outcome:
        """Decide whether a pull that observed ``expected`` may displace what is ``found``."""
        record = self._records.get(found.inode)
        if expected != found and not _only_appended(record, expected, found):
            return Outcome.CHANGED
        if record is not None and record.changed_ns is not None and 0 <= now_ns - record.changed_ns < QUIET_NS:
            return Outcome.BUSY
        return Outcome.APPLIED

    def _note(self, inode: int, record: _Record) -> None:
        self._records.pop(inode, None)
        self._records[inode] = record
        if len(self._records) > _REMEMBERED:
            for oldest in list(self._records)[: _REMEMBERED // 2]:
                del self._records[oldest]


def _only_appended(record: _Record | None, expected: Identity, found: Identity) -> bool:
    """Tell whether nothing but appends made ``found`` of ``expected``.

    Since ``appended_since`` every write was an append. The worker saw the file either exactly so, or later: then its
    ctime is later (two states of one clock tick cannot be told apart, and count as changed).
    """
    if record is None or record.appended_since is None or expected.inode != found.inode:
        return False
    since = record.appended_since
    seen_since = expected == since or (expected.ctime_ns > since.ctime_ns and expected.size >= since.size)
    return seen_since and expected.size <= found.size
