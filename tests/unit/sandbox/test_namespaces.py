"""Why a host refuses namespaces is said by its own settings."""

import errno
import os

import pytest

from memfs.sandbox import namespaces


def refused(number: int, **settings: str) -> str:
    named = {name.replace("__", "/"): value for name, value in settings.items()}
    error = OSError(number, os.strerror(number), "unshare")
    return str(namespaces.refusal(error, lambda name: named.get(name, "")))


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("kernel__unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user__max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        ("kernel__apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    ],
)
def test_a_setting_that_forbids_is_named_with_its_remedy(setting: str, value: str, remedy: str) -> None:
    told = refused(errno.EPERM, **{setting: value})

    assert f"{setting.replace('__', '.')} is {value}" in told
    assert remedy in told


def test_a_setting_that_allows_is_not_blamed() -> None:
    told = refused(errno.EPERM, kernel__unprivileged_userns_clone="1", user__max_user_namespaces="96365")

    assert "does not allow the sandbox: Operation not permitted (unshare). In a container" in told


def test_a_kernel_without_them_and_a_full_host_are_told_apart() -> None:
    assert "this kernel has no user namespaces" in refused(errno.EINVAL)
    assert "no more namespaces" in refused(errno.ENOSPC)


def test_every_id_of_this_namespace_is_itself() -> None:
    for line in namespaces.identity("uid").splitlines():
        inside, outside, _count = line.split()
        assert inside == outside
