"""What `view` answers: numbered text, a listing, and how to read on where it was cut.

Used by `tool`. A view shows at most 16,000 characters of a file or of a listing, in whole lines, and names the
view_range that continues it. A range may end past the last line; it may not begin there. Pure.
"""

from collections.abc import Sequence

from memfs.agent.paths import MemoryPath
from memfs.agent.refusal import ToolFailure
from memfs.agent.text import MAX_CHARACTERS, MAX_LINES, Page, count_lines, lines_of, numbered, page

Range = tuple[int, int] | None


def file_view(path: MemoryPath, text: str, view_range: Range) -> str:
    """Return the text with line numbers.

    Raises:
        ToolFailure: The range is not one of this file, or the file has too many lines.
    """
    if count_lines(text) > MAX_LINES:
        raise ToolFailure(f"File {path} exceeds maximum line limit of 999,999 lines.")
    lines = lines_of(text)
    first, last = _window(view_range, len(lines), "file")
    shown = page(lines, first, last)
    body = numbered(shown.lines, shown.first)
    return f"Here's the content of {path} with line numbers:\n{body}{_remark(path, shown, last, len(lines), 'lines')}"


def directory_view(path: MemoryPath, lines: Sequence[str], view_range: Range) -> str:
    """Return the listing; a range chooses among its lines, of which the first is the directory itself.

    Raises:
        ToolFailure: The range is not one of this listing.
    """
    first, last = _window(view_range, len(lines), "listing")
    shown = page(lines, first, last)
    header = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:"
    )
    body = "\n".join(shown.lines)
    return f"{header}\n{body}{_remark(path, shown, last, len(lines), 'entries')}"


def _window(view_range: Range, count: int, what: str) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    first, last = view_range
    invalid = f"Error: Invalid `view_range` parameter: [{first}, {last}]."
    if not 1 <= first <= count:
        raise ToolFailure(f"{invalid} Its first line should be within the lines of the {what}: [1, {count}]")
    if last == -1:
        return first, count
    if last < first:
        raise ToolFailure(f"{invalid} Its last line should be -1 (the end) or not before its first line")
    return first, min(last, count)


def _remark(path: MemoryPath, shown: Page, wanted: int, count: int, unit: str) -> str:
    remarks = []
    if shown.cut_line:
        remarks.append(f"Line {shown.last} is longer than {MAX_CHARACTERS:,} characters: only its beginning is shown.")
    if shown.last < wanted:
        remarks.append(
            f"Cut at {MAX_CHARACTERS:,} characters: {unit} {shown.first}-{shown.last} of {count} are shown. "
            f"To read on, view {path} with view_range [{shown.last + 1}, {wanted}]."
        )
    return f"\n\n[{' '.join(remarks)}]" if remarks else ""
