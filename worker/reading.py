"""What an action takes for the local text: the file that was observed or, under a steady writer, the one there is now.

Used by `worker.pushes` and `worker.conflicting`, in threads; changes nothing.
"""

from memfs.core.digest import check_content
from memfs.core.errors import ConcurrentChange, InvalidRequest
from memfs.core.paths import StorePath
from worker.replica import Replica
from worker.views import LocalFile


def read_local(replica: Replica, path: StorePath) -> tuple[bytes, LocalFile]:
    """Return the bytes that an action is about, and the file that has them.

    Raises:
        ConcurrentChange: The file is not what was observed any more, or changes while it is read.
    """
    observed = replica.local.files[path]
    if path not in replica.postponed:
        return replica.near.read(path, observed), observed
    # It was another one when its turn came before: one that is written all the time is taken as it is now.
    content, file = replica.near.read_now(path)
    try:
        check_content(content, replica.limits, path)
    except InvalidRequest:
        if file.content_sha256 != observed.content_sha256:
            raise ConcurrentChange(f"{path} is in the middle of being written") from None
    return content, file
