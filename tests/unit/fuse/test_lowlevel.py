"""Each request gets exactly one answer, whatever the operation does; nothing passes to ctypes."""

import errno
from collections.abc import Callable
from typing import NoReturn

import pytest

from memfs.core.errors import ContentTooLarge, MemfsError, StoreFull
from memfs.fuse import lowlevel
from memfs.fuse.lowlevel import Upcalls, no_reply, one_reply

REQUEST = 7


class Kernel:
    """What the kernel was answered, in order."""

    def __init__(self, status: int = 0) -> None:
        self.answers: list[object] = []
        self.status = status

    def reply_err(self, _request: int, number: int) -> int:
        self.answers.append(number)
        return 0

    def send(self, _request: int, result: object) -> int:
        self.answers.append(result)
        return self.status


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    monkeypatch.setattr(lowlevel.lib, "reply_err", kernel.reply_err)
    return kernel


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def operation(*_arguments: object) -> NoReturn:
        raise error

    return operation


def test_a_result_is_sent_once_and_counted(kernel: Kernel) -> None:
    upcalls = Upcalls()

    one_reply(lambda first, second: first + second, kernel.send, count=upcalls.cell("read"))(REQUEST, 1, 2)

    assert [3] == kernel.answers
    assert {"read": 1} == upcalls.counts()


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (FileNotFoundError(errno.ENOENT, "gone"), errno.ENOENT),
        (OSError(errno.EXDEV, "elsewhere"), errno.EXDEV),
        (TimeoutError(), errno.EIO),
        (ContentTooLarge("too much"), errno.EFBIG),
        (StoreFull("full"), errno.ENOSPC),
        (MemfsError("something"), errno.EIO),
    ],
)
def test_a_foreseen_failure_is_answered_with_its_errno(kernel: Kernel, error: Exception, number: int) -> None:
    one_reply(raising(error), kernel.send, count=[0])(REQUEST)

    assert [number] == kernel.answers


@pytest.mark.expect_log("failed")
@pytest.mark.parametrize("error", [ValueError("bug"), KeyError("bug"), KeyboardInterrupt(), SystemExit(3)])
def test_a_bug_is_answered_eio_with_its_traceback_in_the_log(
    kernel: Kernel, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    one_reply(raising(error), kernel.send, count=[0])(REQUEST)

    assert [errno.EIO] == kernel.answers
    assert caplog.records[0].exc_info is not None


@pytest.mark.expect_log("failed")
def test_an_answer_that_cannot_be_built_is_eio(kernel: Kernel) -> None:
    def send(_request: int, _result: object) -> int:
        raise TypeError

    one_reply(lambda: "no entry", send, count=[0])(REQUEST)

    assert [errno.EIO] == kernel.answers


def test_what_the_kernel_no_longer_waits_for_is_taken_back(kernel: Kernel) -> None:
    kernel.status = -errno.ENOENT
    undone: list[object] = []

    one_reply(lambda: "made", kernel.send, undone.append, count=[0])(REQUEST)

    assert ["made"] == undone
    assert ["made"] == kernel.answers


@pytest.mark.expect_log("taking back")
def test_a_failure_of_taking_back_is_no_second_answer(kernel: Kernel) -> None:
    kernel.status = -errno.ENOENT

    one_reply(lambda: "made", kernel.send, raising(ValueError("bug")), count=[0])(REQUEST)

    assert ["made"] == kernel.answers


@pytest.mark.expect_log("failed")
def test_what_wants_no_answer_raises_nothing_either() -> None:
    no_reply(raising(ValueError("bug")))(None, None)
