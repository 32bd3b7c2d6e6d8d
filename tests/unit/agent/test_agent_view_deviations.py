"""Ways 1 to 10 in which the SDK's own local memory tool departs from its documentation: those of `view`."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

Ask = Callable[..., tuple[object, bool]]


def listed(ask: Ask, path: str = "/memories") -> list[str]:
    content, is_error = ask("view", path=path)
    assert not is_error
    return str(content).split("\n")


def body(ask: Ask, path: str, **fields: object) -> list[str]:
    content, is_error = ask("view", path=path, **fields)
    assert not is_error
    return str(content).split("\n")[1:]


def test_01_the_listing_header_names_node_modules(ask: Ask) -> None:
    assert listed(ask)[0] == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"
    )


def test_02_node_modules_is_left_out_and_not_descended_into(ask: Ask, root: Path) -> None:
    (root / "node_modules").mkdir()
    (root / "node_modules" / "a.md").write_bytes(b"x" * 9_000)
    (root / "sub" / "node_modules").mkdir(parents=True)

    assert listed(ask)[1:] == ["1.0K\t/memories", "0.5K\t/memories/sub"]


def test_03_sizes_always_have_one_decimal(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"x" * 4096)
    (root / "b.md").write_bytes(b"x" * 1_258_291)

    assert listed(ask)[2:] == ["4.0K\t/memories/a.md", "1.2M\t/memories/b.md"]


def test_04_a_directory_has_the_size_of_its_contents_and_a_plain_name(ask: Ask, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "a.md").write_bytes(b"x" * 2048)

    assert listed(ask)[1:] == ["3.0K\t/memories", "2.5K\t/memories/sub", "2.0K\t/memories/sub/a.md"]


def test_05_a_trailing_slash_is_not_echoed(ask: Ask, root: Path) -> None:
    (root / "d1" / "d2").mkdir(parents=True)

    assert listed(ask, "/memories/d1/")[1:] == ["1.0K\t/memories/d1", "0.5K\t/memories/d1/d2"]


def test_06_a_final_newline_opens_no_line(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"one\ntwo\n")

    assert body(ask, "/memories/a.md") == ["     1\tone", "     2\ttwo"]


def test_07_exactly_999999_lines_are_viewed_and_one_more_is_not(ask: Ask, root: Path) -> None:
    (root / "most.md").write_bytes(b"\n" * 999_999)
    (root / "more.md").write_bytes(b"\n" * 1_000_000)

    assert body(ask, "/memories/most.md", view_range=[999_999, -1]) == ["999999\t"]
    assert ask("view", path="/memories/more.md") == (
        "File /memories/more.md exceeds maximum line limit of 999,999 lines.",
        True,
    )


@pytest.mark.parametrize(
    ("view_range", "text"),
    [
        ([4, 5], "Its first line should be within the lines of the file: [1, 3]"),
        ([4, -1], "Its first line should be within the lines of the file: [1, 3]"),
        ([0, 2], "Its first line should be within the lines of the file: [1, 3]"),
        ([-1, -1], "Its first line should be within the lines of the file: [1, 3]"),
        ([3, 2], "Its last line should be -1 (the end) or not before its first line"),
        ([1, 0], "Its last line should be -1 (the end) or not before its first line"),
        ([1, -2], "Its last line should be -1 (the end) or not before its first line"),
    ],
)
def test_08_a_range_outside_the_file_or_reversed_is_an_error(
    ask: Ask, root: Path, view_range: list[int], text: str
) -> None:
    (root / "a.md").write_bytes(b"1\n2\n3\n")

    assert ask("view", path="/memories/a.md", view_range=view_range) == (
        f"Error: Invalid `view_range` parameter: {view_range}. {text}",
        True,
    )


def test_08_a_range_that_ends_past_the_file_ends_with_it(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"1\n2\n3\n")

    assert body(ask, "/memories/a.md", view_range=[2, 99]) == ["     2\t2", "     3\t3"]


def test_09_a_long_text_is_cut_at_16000_characters_and_says_how_to_read_on(ask: Ask, root: Path) -> None:
    lines = [f"{number:099}" for number in range(1, 1001)]
    (root / "a.md").write_text("\n".join(lines) + "\n")

    shown = body(ask, "/memories/a.md")

    assert shown[:160] == [f"{number:6}\t{line}" for number, line in enumerate(lines[:160], 1)]
    assert shown[160:] == [
        "",
        (
            "[Cut at 16,000 characters: lines 1-160 of 1000 are shown. "
            "To read on, view /memories/a.md with view_range [161, 1000].]"
        ),
    ]


def test_09_following_the_hints_shows_every_line_once(ask: Ask, root: Path) -> None:
    lines = [str(number) * (number % 7_000) for number in range(1, 200)]
    (root / "a.md").write_text("\n".join(lines))
    seen: list[str] = []
    view_range: list[int] | None = [1, -1]
    while view_range:
        *shown, hint = [line for line in body(ask, "/memories/a.md", view_range=view_range) if line]
        numbers = [line for line in [*shown, hint] if not line.startswith("[")]
        seen += [line.partition("\t")[0].strip() for line in numbers]
        view_range = json.loads(hint.partition("view_range ")[2].removesuffix(".]") or "null")

    assert [str(number) for number in range(1, 200)] == seen


def test_09_a_single_endless_line_is_cut_within_itself(ask: Ask, root: Path) -> None:
    (root / "a.md").write_text("x" * 50_000 + "\nnext\n")

    assert body(ask, "/memories/a.md") == [
        "     1\t" + "x" * 16_000,
        "",
        (
            "[Line 1 is longer than 16,000 characters: only its beginning is shown. "
            "Cut at 16,000 characters: lines 1-1 of 2 are shown. "
            "To read on, view /memories/a.md with view_range [2, 2].]"
        ),
    ]


def test_09_a_long_listing_is_cut_and_paged_too(ask: Ask, root: Path) -> None:
    for number in range(1_500):
        (root / f"{number:04}.md").write_bytes(b"")

    first = listed(ask)
    rest = body(ask, "/memories", view_range=[1_401, -1])

    assert sum(map(len, first)) < 16_500
    assert first[-1].startswith("[Cut at 16,000 characters: entries 1-")
    assert rest[-1] == "0.0K\t/memories/1499.md"


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\x00\x01", "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0\x00", "image/jpeg"),
        ("a.JPEG", b"\xff\xd8\xff\xe1\x00", "image/jpeg"),
    ],
)
def test_10_an_image_is_shown_as_an_image(ask: Ask, root: Path, name: str, content: bytes, media_type: str) -> None:
    (root / name).write_bytes(content)

    blocks, is_error = ask("view", path=f"/memories/{name}")

    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(content).decode()}
    assert blocks == [{"type": "image", "source": source}]
    assert not is_error


def test_10_an_image_too_large_to_send_is_told(ask: Ask, root: Path) -> None:
    (root / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\x00" * 3_750_000)

    assert ask("view", path="/memories/a.png") == (
        "Error: /memories/a.png cannot be viewed: the image is larger than 3.75 MB",
        True,
    )


@pytest.mark.parametrize("name", ["a.png", "a.md"])
def test_10_bytes_that_are_no_text_are_told_in_words(ask: Ask, root: Path, name: str) -> None:
    (root / name).write_bytes(b"\xff\xfe\x00")
    told = (f"Error: /memories/{name} is not UTF-8 text; the memory tool reads and edits text only", True)

    assert told == ask("view", path=f"/memories/{name}")
    assert told == ask("str_replace", path=f"/memories/{name}", old_str="a", new_str="b")
    assert told == ask("insert", path=f"/memories/{name}", insert_line=0, insert_text="b")
    assert (root / name).read_bytes() == b"\xff\xfe\x00"


def test_the_first_view_of_an_empty_store_is_no_error(ask: Ask) -> None:
    assert listed(ask)[1:] == ["0.5K\t/memories"]


def test_an_empty_file_shows_one_empty_line(ask: Ask, root: Path) -> None:
    (root / "a.md").write_bytes(b"")

    assert body(ask, "/memories/a.md") == ["     1\t"]
