"""The directory name of a store: section 7 of the Memory Stores API."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfs.core.slug import slug, slugs

STORE_ID = "memstore_01AbCdEf"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("notes", "notes"),
        ("Project Notes", "project-notes"),
        ("  Team / Shared  ", "team-shared"),
        ("a_b.c", "a-b-c"),
        ("--x--", "x"),
        ("Café Münster", "caf-m-nster"),
        ("\u212aelvin \u0130", "elvin"),  # letters whose lower case would be ASCII
        ("2026", "2026"),
        ("日本語", "01abcdef"),
        ("!!!", "01abcdef"),
        ("..", "01abcdef"),
    ],
)
def test_the_slug_of_a_name(name: str, expected: str) -> None:
    assert expected == slug(name, STORE_ID)


def test_a_store_without_any_usable_letter_still_has_a_directory() -> None:
    assert "store" == slug("日本語", "memstore_")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Notes", "notes", "NOTES!"], ["notes", "notes-2", "notes-3"]),
        (["a", "a-2", "a"], ["a", "a-2", "a-3"]),
        (["a", "a", "a-2"], ["a", "a-2", "a-2-2"]),
        (["x" * 255, "x" * 255], ["x" * 255, "x" * 253 + "-2"]),
    ],
)
def test_clashes_are_numbered_in_order(names: list[str], expected: list[str]) -> None:
    assert expected == slugs([(name, STORE_ID) for name in names])


@given(st.lists(st.text(alphabet="aB2-é ", min_size=1, max_size=255), max_size=8))
def test_slugs_are_unique_names_of_directories(names: list[str]) -> None:
    found = slugs([(name, f"memstore_0{number}") for number, name in enumerate(names)])

    assert len(names) == len(set(found))
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", one) and len(one) <= 255 for one in found)
