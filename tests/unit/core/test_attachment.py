"""Which stores are attached, and with which access."""

import pytest

from memfs.core.attachment import Access, Attachment, WantedStore, check_wanted, parse_wanted
from memfs.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "store", "access"),
    [
        ("notes", "notes", Access.READ_WRITE),
        ("notes:rw", "notes", Access.READ_WRITE),
        ("notes:ro", "notes", Access.READ_ONLY),
        ("memstore_01ab:ro", "memstore_01ab", Access.READ_ONLY),
        ("team: notes", "team: notes", Access.READ_WRITE),
        ("team:rw:ro", "team:rw", Access.READ_ONLY),
        ("ro", "ro", Access.READ_WRITE),
    ],
)
def test_a_store_is_named_with_its_access(text: str, store: str, access: Access) -> None:
    assert WantedStore(store=store, access=access) == parse_wanted(text)


@pytest.mark.parametrize("text", ["", " ", ":ro", " :rw"])
def test_a_store_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="has no name"):
        parse_wanted(text)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "no store is named"),
        (["a", "b", "a"], "the store 'a' is named twice"),
        (list("abcdefghi"), "9 stores are named; an attachment holds at most 8"),
    ],
)
def test_a_set_of_stores_that_cannot_be_attached_is_refused(names: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_wanted([WantedStore(store=name) for name in names])


def test_eight_stores_may_be_attached() -> None:
    check_wanted([WantedStore(store=name) for name in "abcdefgh"])


@pytest.mark.parametrize(
    ("access", "archived", "writable"),
    [
        (Access.READ_WRITE, False, True),
        (Access.READ_WRITE, True, False),
        (Access.READ_ONLY, False, False),
        (Access.READ_ONLY, True, False),
    ],
)
def test_only_a_living_read_write_store_is_writable(access: Access, archived: bool, writable: bool) -> None:
    store = Attachment(store_id="memstore_1", name="Notes", slug="notes", access=access, archived=archived)

    assert writable == store.is_writable
