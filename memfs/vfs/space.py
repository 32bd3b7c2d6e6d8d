"""How much fits: the disk's blocks, and memories as files, so that ``df -i`` shows how full a store is."""

import os

from memfs.vfs.mounted import Mounted
from memfs.vfs.nodes import Node
from memfs.vfs.values import Statistics


def statistics(mounted: Mounted, node: Node) -> Statistics:
    """Return the figures of the node's store; at the root, of all of them."""
    stores = list(mounted.stores.values()) if node.store is None else [node.store]
    limit = mounted.policy.limits.memories
    disk = os.statvfs(mounted.layout.root)
    return Statistics(
        block_size=disk.f_frsize,
        blocks=disk.f_blocks,
        blocks_free=disk.f_bfree,
        blocks_available=disk.f_bavail,
        files=limit * len(stores),
        files_free=sum(max(0, limit - store.memories) for store in stores),
        name_max=mounted.policy.limits.segment_bytes,
    )
