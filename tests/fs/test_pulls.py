"""Pulls: the worker changes files under programs' feet, by compare-and-swap, and nobody reads or writes a mixture."""

import errno
import os

from fs.files import Files, refuses
from fs.worlds import World, until

from memfs.core.tree_requests import Answer, Outcome, Ping, Replace


def test_a_pulled_file_appears_with_its_directories(world: World, files: Files, home: str) -> None:
    assert not files.exists(f"{home}/a/b/c.md")
    assert files.listdir(home) == []
    below = home.removeprefix("notes")

    answer = world.pull(f"{home}/a/b/c.md", b"pulled")

    assert answer.identity == world.observe(f"{home}/a/b/c.md")
    assert answer.made == (f"{below}/a", f"{below}/a/b")
    until(lambda: files.exists(f"{home}/a/b/c.md"))
    until(lambda: files.listdir(home) == ["a"])
    assert files.read(f"{home}/a/b/c.md") == b"pulled"


def test_a_pulled_edit_is_seen_and_old_readers_keep_what_they_read(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"old text")
    with files.open(f"{home}/a.md", os.O_RDONLY) as reader:
        assert reader.read(3) == b"old"

        world.pull(f"{home}/a.md", b"new and longer")

        until(lambda: files.read(f"{home}/a.md") == b"new and longer")
        assert reader.read(100, 3) == b" text"
        assert reader.stat().size == 8
    assert files.stat(f"{home}/a.md").size == 14
    assert files.stat(f"{home}/a.md").inode == world.tree(f"{home}/a.md").stat().st_ino


def test_a_pull_keeps_the_bits_of_the_file(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"old")
    files.chmod(f"{home}/a.md", 0o440)

    world.pull(f"{home}/a.md", b"new")

    until(lambda: files.read(f"{home}/a.md") == b"new")
    assert files.stat(f"{home}/a.md").mode & 0o777 == 0o440


def test_a_file_that_changed_since_is_left_alone(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"observed")
    expect = world.observe(f"{home}/a.md")
    files.write(f"{home}/a.md", b"edited since")

    answer = world.replace(f"{home}/a.md", b"pulled", expect, force=True)

    assert Answer(outcome=Outcome.CHANGED) == answer
    assert files.read(f"{home}/a.md") == b"edited since"


def test_a_file_that_is_being_written_is_busy_until_it_is_quiet(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"just written")

    answer = world.replace(f"{home}/a.md", b"pulled", world.observe(f"{home}/a.md"))

    assert Answer(outcome=Outcome.BUSY) == answer
    assert files.read(f"{home}/a.md") == b"just written"
    world.pull_quietly(f"{home}/a.md", b"pulled")
    until(lambda: files.read(f"{home}/a.md") == b"pulled")


def test_a_pull_that_is_forced_keeps_the_displaced_bytes(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/forced.md", b"just written")

    answer = world.replace(f"{home}/forced.md", b"pulled", world.observe(f"{home}/forced.md"), force=True)

    assert answer.outcome is Outcome.APPLIED
    assert list(world.trash(f"{home}/forced.md").values()) == [b"just written"]
    until(lambda: files.read(f"{home}/forced.md") == b"pulled")


def test_appended_lines_follow_the_pulled_bytes(world: World, files: Files, home: str) -> None:
    world.pull(f"{home}/log.md", b"one\n")
    until(lambda: files.exists(f"{home}/log.md"))
    expect = world.observe(f"{home}/log.md")
    with files.open(f"{home}/log.md", os.O_WRONLY | os.O_APPEND) as log:
        log.write(b"two\n")
        log.write(b"three\n")

        answer = world.replace(f"{home}/log.md", b"ONE\n", expect)

        assert (Outcome.APPLIED, 10) == (answer.outcome, answer.appended_bytes)
        log.write(b"four\n")
    until(lambda: files.read(f"{home}/log.md") == b"ONE\ntwo\nthree\nfour\n")
    assert files.stat(f"{home}/log.md").size == 19


def test_an_appender_goes_on_at_the_end_of_what_was_pulled(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/log.md", b"one\n")
    with files.open(f"{home}/log.md", os.O_WRONLY | os.O_APPEND) as log:
        world.pull(f"{home}/log.md", b"a longer first line\n")
        until(lambda: files.read(f"{home}/log.md") == b"a longer first line\n")

        log.write(b"two\n")
        world.pull(f"{home}/log.md", b"short\n")
        log.write(b"three\n")

    until(lambda: files.read(f"{home}/log.md") == b"short\nthree\n")
    assert world.tree(f"{home}/log.md").read_bytes() == b"short\nthree\n"


def test_an_appender_is_held_to_the_size_of_a_memory(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/log.md", b"one\n")
    with files.open(f"{home}/log.md", os.O_WRONLY | os.O_APPEND) as log:
        world.pull(f"{home}/log.md", b"x" * 102_400)

        with refuses(errno.EFBIG):
            log.write(b"two\n")


def test_any_other_late_write_is_refused_and_its_bytes_are_kept(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/late.md", b"0123456789")
    with files.open(f"{home}/late.md", os.O_RDWR) as file:
        world.pull_quietly(f"{home}/late.md", b"pulled")

        with refuses(errno.ESTALE):
            file.write(b"abc", 3)
        with refuses(errno.ESTALE):
            file.write(b"xyz", 10)
        with refuses(errno.ESTALE):
            file.truncate(0)

        assert file.read(10) == b"0123456789"
    until(lambda: files.read(f"{home}/late.md") == b"pulled")
    assert list(world.trash(f"{home}/late.md").values()) == [b"012abc6789xyz"]


def test_late_writes_over_each_other_are_kept_each(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/over.md", b"0123456789")
    with files.open(f"{home}/over.md", os.O_RDWR) as file:
        world.pull_quietly(f"{home}/over.md", b"pulled")

        for content in (b"abc", b"abc", b"xyz"):
            with refuses(errno.ESTALE):
                file.write(content, 3)
        with refuses(errno.ESTALE):
            file.write(b"789", 7)

    assert sorted(world.trash(f"{home}/over.md").values()) == [b"012abc6789", b"012xyz6789"]


def test_bits_and_times_set_a_moment_after_a_pull_are_those_of_the_pulled_file(
    world: World, files: Files, home: str
) -> None:
    """What names the path may still reach the old file, before the kernel was told of the new one."""
    files.write(f"{home}/a.md", b"old")
    with files.open(f"{home}/a.md", os.O_RDWR) as file:
        world.pull(f"{home}/a.md", b"new")
        until(lambda: files.read(f"{home}/a.md") == b"new")

        file.set_mode(0o640)
        file.set_times(0, 1_555_555_555_666_777_888)

        assert (file.stat().mode & 0o777, file.stat().mtime_ns) == (0o640, 1_555_555_555_666_777_888)
        until(lambda: files.stat(f"{home}/a.md").mode & 0o777 == 0o640)
        until(lambda: files.stat(f"{home}/a.md").mtime_ns == 1_555_555_555_666_777_888)
    assert world.tree(f"{home}/a.md").stat().st_mtime_ns == 1_555_555_555_666_777_888


def test_a_superseded_file_can_be_superseded_again(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"first")
    with files.open(f"{home}/a.md", os.O_RDONLY) as one:
        world.pull(f"{home}/a.md", b"second")
        until(lambda: files.read(f"{home}/a.md") == b"second")
        with files.open(f"{home}/a.md", os.O_RDONLY) as two:
            world.pull(f"{home}/a.md", b"third")

            until(lambda: files.read(f"{home}/a.md") == b"third")
            assert [one.read(), two.read()] == [b"first", b"second"]


def test_a_pulled_file_can_be_renamed_and_removed_at_once(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"old")
    assert files.read(f"{home}/a.md") == b"old"
    world.pull(f"{home}/a.md", b"new")

    files.rename(f"{home}/a.md", f"{home}/b.md")

    until(lambda: files.read(f"{home}/b.md") == b"new")
    assert files.listdir(home) == ["b.md"]
    world.pull(f"{home}/b.md", b"newer")
    files.unlink(f"{home}/b.md")
    assert files.listdir(home) == []
    assert list(world.tree(home).iterdir()) == []


def test_an_appender_follows_a_renamed_log_as_programs_expect(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/log", b"one\n")
    with files.open(f"{home}/log", os.O_WRONLY | os.O_APPEND) as log:
        world.pull(f"{home}/log", b"ONE\n")
        files.rename(f"{home}/log", f"{home}/log.1")
        files.write(f"{home}/log", b"")

        log.write(b"two\n")

    until(lambda: files.read(f"{home}/log.1") == b"ONE\ntwo\n")
    assert files.read(f"{home}/log") == b""


def test_a_removed_file_is_gone_and_its_readers_keep_it(world: World, files: Files, home: str) -> None:
    world.pull(f"{home}/d/removed.md", b"text")
    until(lambda: files.exists(f"{home}/d/removed.md"))
    with files.open(f"{home}/d/removed.md", os.O_RDONLY) as reader:
        answer = world.remove(f"{home}/d/removed.md", prune=(f"{home.removeprefix('notes')}/d",))

        assert answer.outcome is Outcome.APPLIED
        until(lambda: not files.exists(f"{home}/d/removed.md"))
        until(lambda: files.listdir(home) == [])
        assert reader.read() == b"text"
    assert world.trash(f"{home}/removed.md") == {"removed-removed.md": b"text"}


def test_a_moved_file_keeps_its_identity(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"text")
    assert not files.exists(f"{home}/d")
    inode = files.stat(f"{home}/a.md").inode
    with files.open(f"{home}/a.md", os.O_RDWR) as file:
        answer = world.move(f"{home}/a.md", f"{home.removeprefix('notes/')}/d/b.md")

        assert answer.outcome is Outcome.APPLIED
        assert answer.made == (f"{home.removeprefix('notes')}/d",)
        until(lambda: not files.exists(f"{home}/a.md") and files.exists(f"{home}/d/b.md"))
        file.write(b"TEXT", 0)
    assert files.read(f"{home}/d/b.md") == b"TEXT"
    assert files.stat(f"{home}/d/b.md").inode == inode


def test_a_file_is_never_moved_onto_another(world: World, files: Files, home: str) -> None:
    files.write(f"{home}/a.md", b"one")
    files.write(f"{home}/b.md", b"two")

    answer = world.move(f"{home}/a.md", f"{home.removeprefix('notes/')}/b.md")

    assert answer.outcome is Outcome.CHANGED
    assert files.read(f"{home}/b.md") == b"two"


def test_pulls_into_a_read_only_store_are_applied(world: World, files: Files) -> None:
    world.pull("manual/pulled.md", b"text")

    until(lambda: files.exists("manual/pulled.md"))
    assert files.read("manual/pulled.md") == b"text"
    world.remove("manual/pulled.md")
    until(lambda: files.listdir("manual") == ["d", "guide.md"])


def test_a_pull_counts_as_a_memory(world: World, files: Files, home: str) -> None:
    before = files.statfs(home).files_free
    world.pull(f"{home}/a.md", b"text")
    after_pull = files.statfs(home).files_free
    world.remove(f"{home}/a.md", mark="counted-")

    assert (after_pull, files.statfs(home).files_free) == (before - 1, before)


def test_what_cannot_be_done_is_an_answer(world: World) -> None:
    unknown = world.ask(Replace(store_id="memstore_unknown", path="/a.md", staged="s", expect=None))
    outside = world.ask(Replace(store_id="memstore_notes", path="/../a.md", staged="s", expect=None))
    escaping = world.ask(Replace(store_id="memstore_notes", path="/a.md", staged="../state.db", expect=None))
    missing = world.ask(Replace(store_id="memstore_notes", path="/a.md", staged="s", expect=None))

    assert [one.errno for one in (unknown, outside, escaping, missing)] == [2, 84, 22, 2]
    assert world.observe("notes/a.md") is None


def test_a_ping_tells_who_serves_what(world: World) -> None:
    facts = world.ask(Ping()).facts

    assert facts["stores"] == [f"memstore_{slug}" for slug in ("notes", "other", "manual", "old", "full")]
    assert facts["pid"] > 0
