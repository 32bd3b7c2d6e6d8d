"""Where else a path shows: from the kernel's table, without a look at any file."""

from memfs.sandbox import mounts

TABLE = mounts.parse(
    rb"""27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 254:1 / /data rw - ext4 /dev/vdb rw
29 27 254:0 / /host\040root rw shared:1 - ext4 /dev/vda rw
30 27 254:0 /var/lib /srv/lib rw - ext4 /dev/vda rw
31 27 254:0 /var/lib/memfs/default/stores /srv/stores rw - ext4 /dev/vda rw
32 27 0:50 / /mnt/memory rw - fuse.memfs memfs rw
"""
)


def test_a_path_shows_wherever_its_file_system_is_mounted() -> None:
    expected = ["/var/lib/memfs", "/host root/var/lib/memfs", "/srv/lib/memfs", "/srv/stores"]

    assert expected == mounts.places("/var/lib/memfs", TABLE)


def test_a_path_on_a_file_system_of_its_own_shows_there_only() -> None:
    assert ["/data/u/.local"] == mounts.places("/data/u/.local", TABLE)
    assert ["/data"] == mounts.places("/data", TABLE)


def test_a_neighbour_that_begins_with_the_same_letters_is_another_path() -> None:
    assert "/srv/stores" not in mounts.places("/var/lib/memfs/default/sto", TABLE)
    assert ["/datum/u", "/host root/datum/u"] == mounts.places("/datum/u", TABLE)


def test_what_lies_on_top_counts() -> None:
    over = [*TABLE, mounts.Mounted("0:60", "/", "/var", "tmpfs")]

    assert ["/var/lib/memfs"] == mounts.places("/var/lib/memfs", over)
