"""One error tree: what went wrong, and what each edge answers for it.

A class carries its ``code`` (the stable name in logs, docs and JSON), ``errno`` (what the kernel is answered),
``http_status`` (what the server answers), ``exit_code`` (what a command exits with) and ``retryable`` (may the same
call succeed later by itself). The message names the thing; ``remedy`` says what to do about it.

MemfsError
├── UsageError                  a command was called wrongly
│   └── ConfigError             a setting is unknown or wrong
├── InvalidRequest              the far side's 400
│   ├── InvalidPath             a store path breaks a rule of its characters or segments
│   ├── PathTooLong             … of its length
│   ├── InvalidContent          the bytes are no UTF-8 text
│   ├── ContentTooLarge         more bytes than a memory may hold
│   ├── InvalidMetadata         a store's metadata pass a limit
│   └── StoreReadOnly           a read_only or archived store refuses every change
├── AuthenticationFailed        no or a wrong credential
├── PermissionRefused           the credential may not do this
│   └── SessionEnded            the session whose stores these are is over
├── NotFound                    no such store, memory or version
├── ChangeCursorExpired         what came after a cursor of the change feed is not kept
├── Conflicted                  the 409s
│   ├── PreconditionFailed      the stored digest is another one
│   ├── PathConflict            the path, an ancestor or a descendant is taken
│   ├── StoreFull               as many memories as a store may hold
│   └── ConcurrentChange        a lost race that the caller may simply repeat
├── RequestTooLarge             the body passes the server's cap
├── RemoteUnavailable           the remote did not give a usable answer
│   └── RateLimited             it asks to wait
├── AlreadyHeld                 another process holds the mount, the tree or the worker's lock
├── MountRefused                the mount cannot be made; each cause has a code of its own
│   ├── MountPointMissing · MountPointBusy · MountPointNotEmpty · StaleMount · NotMounted · StateBelowMount
│   ├── DeviceMissing · LibfuseMissing · FusermountMissing
│   └── SandboxRefused          this host does not let a command be closed in
├── BackupUnusable              a file is no whole backup that this release can restore
├── StateDamaged                what the worker knows of a store cannot be read
├── StateUnavailable            the disk does not let the worker work for now
└── Unsynced                    what was asked for is not all on the remote yet
"""

import errno
from typing import ClassVar


class MemfsError(Exception):
    """Base of every failure that memfs foresees.

    Args:
        message: One sentence that names the thing (a path, a store, a setting).
        remedy: What the reader can do, or "" where there is nothing.
    """

    code: ClassVar[str] = "internal"
    errno: ClassVar[int] = errno.EIO
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 70
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the message and, where there is one, the remedy, on one line."""
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class UsageError(MemfsError):
    """A command was called with arguments that do not go together."""

    code, errno, http_status, exit_code = "usage", errno.EINVAL, 400, 2


class ConfigError(UsageError):
    """A setting is unknown, missing or wrong; the message names file, line and key."""

    code, exit_code = "config_invalid", 3


class InvalidRequest(MemfsError):
    """The request breaks a rule of the wire contract."""

    code, errno, http_status, exit_code = "invalid_request", errno.EINVAL, 400, 10


class InvalidPath(InvalidRequest):
    """A store path has a forbidden character, an empty segment, ``.`` or ``..``, or is not NFC."""

    code, errno = "invalid_path", errno.EILSEQ


class PathTooLong(InvalidRequest):
    """A store path passes 1,024 bytes or 20 segments, or a segment passes 255 bytes."""

    code, errno = "path_too_long", errno.ENAMETOOLONG


class InvalidContent(InvalidRequest):
    """The content is not UTF-8 text."""

    code, errno = "invalid_content", errno.EILSEQ


class ContentTooLarge(InvalidRequest):
    """The content passes the limit of a memory (102,400 bytes unless configured)."""

    code, errno = "content_too_large", errno.EFBIG


class InvalidMetadata(InvalidRequest):
    """A store's metadata have too many pairs, or a key or value that is too long."""

    code = "invalid_metadata"


class StoreReadOnly(InvalidRequest):
    """The store is attached read_only, or archived."""

    code, errno = "store_read_only", errno.EROFS


class AuthenticationFailed(MemfsError):
    """The credential is missing or unknown to the remote."""

    code, errno, http_status, exit_code = "authentication_failed", errno.EACCES, 401, 5


class PermissionRefused(MemfsError):
    """The credential is known and may not do this."""

    code, errno, http_status, exit_code = "permission_refused", errno.EACCES, 403, 5


class SessionEnded(PermissionRefused):
    """The session whose stores these are was archived, terminated or deleted."""

    code = "session_ended"


class NotFound(MemfsError):
    """There is no such store, memory or version."""

    code, errno, http_status, exit_code = "not_found", errno.ENOENT, 404, 4


class ChangeCursorExpired(MemfsError):
    """The changes after a cursor of the change feed are not kept any more: a full listing is needed."""

    code, errno, http_status, exit_code = "change_cursor_expired", errno.ESTALE, 410, 6


class Conflicted(MemfsError):
    """The stored state does not allow the change."""

    code, errno, http_status, exit_code = "conflict", errno.EBUSY, 409, 6


class PreconditionFailed(Conflicted):
    """The stored content_sha256 is not the one the caller assumed."""

    code = "precondition_failed"


class PathConflict(Conflicted):
    """A memory sits at the path, at an ancestor or at a descendant of it.

    Args:
        message: What was asked for.
        conflicting_path: The store path that blocks it.
        conflicting_memory_id: The id of the memory there, "" where it cannot be told.
        remedy: See `MemfsError`.
    """

    code, errno = "path_conflict", errno.EEXIST

    def __init__(
        self, message: str, *, conflicting_path: str = "", conflicting_memory_id: str = "", remedy: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.conflicting_path = conflicting_path
        self.conflicting_memory_id = conflicting_memory_id


class StoreFull(Conflicted):
    """The store holds as many memories as it may."""

    code, errno = "store_full", errno.ENOSPC


class ConcurrentChange(Conflicted):
    """Another writer came in between; the same call may simply be repeated."""

    code, retryable = "concurrent_change", True


class RequestTooLarge(MemfsError):
    """The request body passes the server's cap."""

    code, errno, http_status, exit_code = "request_too_large", errno.EFBIG, 413, 10


class RemoteUnavailable(MemfsError):
    """The remote could not be reached, failed, or answered what is no answer.

    Args:
        message: Which remote, and what came instead of an answer.
        retry_after_s: Seconds the remote asked to wait, where it did.
        remedy: See `MemfsError`.
    """

    code, errno, http_status, exit_code, retryable = "remote_unavailable", errno.EHOSTUNREACH, 529, 7, True

    def __init__(self, message: str, *, retry_after_s: float | None = None, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after_s = retry_after_s


class RateLimited(RemoteUnavailable):
    """The remote refuses further requests for a while."""

    code, http_status = "rate_limited", 429


class AlreadyHeld(MemfsError):
    """Another process of this state directory is at work."""

    code, errno, http_status, exit_code, retryable = "already_held", errno.EBUSY, 503, 9, True


class MountRefused(MemfsError):
    """The mount cannot be made or undone on this host as it is."""

    code, errno, exit_code = "mount_refused", errno.EINVAL, 8


class MountPointMissing(MountRefused):
    """The mount point does not exist or is no directory."""

    code, errno = "mount_point_missing", errno.ENOENT


class MountPointBusy(MountRefused):
    """Something else is mounted there, or a program holds it."""

    code, errno = "mount_point_busy", errno.EBUSY


class MountPointNotEmpty(MountRefused):
    """The mount would hide files that are there."""

    code, errno = "mount_point_not_empty", errno.ENOTEMPTY


class StaleMount(MountRefused):
    """A mount without a living daemon is in the way and could not be cleared."""

    code, errno = "stale_mount", errno.ENOTCONN


class NotMounted(MountRefused):
    """Nothing of ours is mounted there."""

    code, errno = "not_mounted", errno.EINVAL


class StateBelowMount(MountRefused):
    """The state directory would be hidden by its own mount."""

    code, errno = "state_below_mount", errno.ELOOP


class DeviceMissing(MountRefused):
    """/dev/fuse is missing or may not be opened."""

    code, errno = "device_missing", errno.ENODEV


class LibfuseMissing(MountRefused):
    """libfuse 2.9 is not installed."""

    code, errno = "libfuse_missing", errno.ENOENT


class FusermountMissing(MountRefused):
    """An ordinary user needs fusermount, which is not installed."""

    code, errno = "fusermount_missing", errno.ENOENT


class SandboxRefused(MountRefused):
    """This host does not let a command have namespaces of its own, or not as they must be."""

    code, errno = "sandbox_refused", errno.EPERM


class BackupUnusable(MemfsError):
    """The file is no backup of a server, is damaged, or was made by another release; the message names it."""

    code, exit_code = "backup_unusable", 10


class StateDamaged(MemfsError):
    """A store's state.db is no database, is damaged, or was made by a newer memfs; the message names the file."""

    code, exit_code = "state_damaged", 10


class StateUnavailable(MemfsError):
    """The state directory cannot be read or written for now: the disk is full, the database locked, files exhausted."""

    code, exit_code, retryable = "state_unavailable", 10, True


class Unsynced(MemfsError):
    """Some local changes are not on the remote yet."""

    code, errno, exit_code, retryable = "unsynced", errno.EAGAIN, 1, True
