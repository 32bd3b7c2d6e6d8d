"""A mount takes all the descriptors that it may have, however few it was started with."""

import os
import resource
from collections.abc import Callable
from typing import Any

FILES = 200


def test_hundreds_of_files_without_a_name_are_open_at_once(prepared: Callable[..., Any]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    mounted = prepared()
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        mounted.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert mounted.is_ready, mounted.told()

    descriptors = []
    for number in range(FILES):
        descriptors.append(os.open(mounted.root / "a.md", os.O_CREAT | os.O_EXCL | os.O_RDWR))
        os.write(descriptors[-1], b"%d" % number)
        (mounted.root / "a.md").unlink()

    assert [b"%d" % number for number in range(FILES)] == [os.pread(one, 9, 0) for one in descriptors]
    for one in descriptors:
        os.close(one)
