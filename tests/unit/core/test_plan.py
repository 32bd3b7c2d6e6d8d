"""The plan: what frees a path goes first, a directory stays where a file wants its name, circles are broken."""

from memfs.core.conflicts import conflict_path
from memfs.core.paths import StorePath
from memfs.core.plan import Decision, Plan, Rename, Side, Sides, make_plan
from memfs.core.reconcile import Action

S1, S2, S3 = "1" * 64, "2" * 64, "3" * 64


def decisions(**actions: Action) -> list[Decision]:
    return [Decision(path=path(name), action=action) for name, action in actions.items()]


def path(name: str) -> StorePath:
    """``a__b`` is /a/b: a path as a keyword."""
    return StorePath("/" + name.replace("__", "/"))


def sides(local: dict[str, str], remote: dict[str, str], directories: tuple[str, ...] = ()) -> Sides:
    return Sides(
        local={path(name): sha for name, sha in local.items()},
        remote={path(name): sha for name, sha in remote.items()},
        directories=frozenset(path(name) for name in directories),
    )


def rename(source: str, target: str, side: Side) -> Rename:
    return Rename(source=path(source), target=path(target), side=side, origin=path(source))


def names(found: list[Decision]) -> set[tuple[str, Action]]:
    return {(one.path, one.action) for one in found}


def moves(plan: Plan) -> list[set[tuple[str, str, Side]]]:
    return [{(one.source, one.target, one.side) for one in wave} for wave in plan.renames]


def test_each_action_has_its_phase() -> None:
    plan = make_plan(
        decisions(
            a=Action.NOTHING, b=Action.ADOPT, c=Action.FORGET, d=Action.PULL, e=Action.RESTORE, f=Action.PUSH,
            g=Action.CREATE, h=Action.CONFLICT, i=Action.DELETE_REMOTE, j=Action.REMOVE_LOCAL, k=Action.MERGE,
            l=Action.OVERRULE,
        ),
        [],
        sides({"f": S1, "g": S1, "h": S1, "j": S1, "k": S1, "l": S1}, dict.fromkeys("defhikl", S2)),
    )  # fmt: skip

    assert {("/b", Action.ADOPT), ("/c", Action.FORGET)} == names(plan.bookkeeping)
    assert {("/i", Action.DELETE_REMOTE), ("/j", Action.REMOVE_LOCAL)} == names(plan.removals)
    assert {"/d", "/e", "/f", "/g", "/h", "/k", "/l"} == {one.path for one in plan.contents}
    assert not plan.renames
    assert not plan.waiting


def test_a_local_file_that_became_a_directory_is_deleted_before_what_is_created_inside() -> None:
    plan = make_plan(
        decisions(a=Action.DELETE_REMOTE, a__b=Action.CREATE), [], sides({"a__b": S2}, {"a": S1}, directories=("a",))
    )

    assert {("/a", Action.DELETE_REMOTE)} == names(plan.removals)
    assert {("/a/b", Action.CREATE)} == names(plan.contents)
    assert not plan.waiting


def test_a_create_waits_for_a_deletion_that_is_not_due() -> None:
    plan = make_plan(
        decisions(a__b=Action.CREATE), [], sides({"a__b": S2}, {"a": S1}, directories=("a",)), deferred={path("a")}
    )

    assert {path("a__b")} == plan.waiting
    assert not plan.contents
    assert not plan.renames


def test_a_local_directory_that_became_a_file_waits_for_the_deletions_inside() -> None:
    plan = make_plan(
        decisions(a=Action.CREATE),
        [],
        sides({"a": S2}, {"a__b": S1, "a__c": S1}),
        deferred={path("a__b"), path("a__c")},
    )

    assert {path("a")} == plan.waiting
    assert not plan.renames


def test_a_memory_that_became_a_directory_is_removed_before_what_is_pulled_inside() -> None:
    plan = make_plan(decisions(a=Action.REMOVE_LOCAL, a__b=Action.PULL), [], sides({"a": S1}, {"a__b": S2}))

    assert {("/a", Action.REMOVE_LOCAL)} == names(plan.removals)
    assert {("/a/b", Action.PULL)} == names(plan.contents)


def test_a_directory_that_became_a_memory_is_emptied_before_the_pull() -> None:
    plan = make_plan(
        decisions(a__b=Action.REMOVE_LOCAL, a=Action.PULL), [], sides({"a__b": S1}, {"a": S2}, directories=("a",))
    )

    assert {("/a/b", Action.REMOVE_LOCAL)} == names(plan.removals)
    assert {("/a", Action.PULL)} == names(plan.contents)


def test_a_new_memory_at_a_local_directory_moves_to_its_conflict_name() -> None:
    plan = make_plan(
        decisions(a=Action.PULL, a__b=Action.CREATE), [], sides({"a__b": S1}, {"a": S2}, directories=("a",))
    )

    copy = conflict_path(path("a"), S2)
    assert [{("/a", copy, Side.REMOTE)}] == moves(plan)
    assert all(one.is_clash for wave in plan.renames for one in wave)
    assert {path("a"), path("a__b"), copy} == plan.waiting
    assert not plan.contents


def test_a_local_file_at_a_remote_directory_moves_to_its_conflict_name() -> None:
    plan = make_plan(decisions(a=Action.CREATE, a__b=Action.PULL), [], sides({"a": S1}, {"a__b": S2}))

    copy = conflict_path(path("a"), S1)
    assert [{("/a", copy, Side.LOCAL)}] == moves(plan)
    assert {path("a"), path("a__b"), copy} == plan.waiting


def test_an_empty_local_directory_keeps_its_name() -> None:
    plan = make_plan(decisions(a=Action.PULL), [], sides({}, {"a": S2}, directories=("a",)))

    assert [{("/a", conflict_path(path("a"), S2), Side.REMOTE)}] == moves(plan)


def test_a_taken_conflict_name_gets_more_digits() -> None:
    taken = conflict_path(path("a"), S2)
    plan = make_plan(decisions(a=Action.PULL), [], sides({}, {"a": S2, taken[1:]: S3}, directories=("a",)))

    assert [{("/a", conflict_path(path("a"), S2, digits=16), Side.REMOTE)}] == moves(plan)


def test_a_rename_takes_the_place_of_its_two_decisions() -> None:
    plan = make_plan(
        decisions(a=Action.DELETE_REMOTE, b=Action.CREATE),
        [rename("a", "b", Side.REMOTE)],
        sides({"b": S1}, {"a": S1}),
    )

    assert [{("/a", "/b", Side.REMOTE)}] == moves(plan)
    assert not plan.removals
    assert not plan.contents


def test_a_rename_waits_for_the_one_that_frees_its_target() -> None:
    plan = make_plan(
        [],
        [rename("x", "a__b", Side.REMOTE), rename("a", "c", Side.REMOTE)],
        sides({"a__b": S1, "c": S2}, {"x": S1, "a": S2}),
    )

    assert [{("/a", "/c", Side.REMOTE)}, {("/x", "/a/b", Side.REMOTE)}] == moves(plan)


def test_a_rename_goes_after_the_removal_of_what_is_at_its_target() -> None:
    plan = make_plan(
        decisions(a=Action.REMOVE_LOCAL), [rename("x", "a", Side.LOCAL)], sides({"x": S1, "a": S2}, {"a": S1})
    )

    assert {("/a", Action.REMOVE_LOCAL)} == names(plan.removals)
    assert [{("/x", "/a", Side.LOCAL)}] == moves(plan)


def test_renames_that_block_each_other_are_left_to_their_decisions() -> None:
    plan = make_plan(
        decisions(a=Action.DELETE_REMOTE, b=Action.DELETE_REMOTE, a__x=Action.CREATE, b__x=Action.CREATE),
        [rename("a", "b__x", Side.REMOTE), rename("b", "a__x", Side.REMOTE)],
        sides({"a__x": S2, "b__x": S1}, {"a": S1, "b": S2}),
    )

    assert not plan.renames
    assert {("/a", Action.DELETE_REMOTE), ("/b", Action.DELETE_REMOTE)} == names(plan.removals)
    assert {("/a/x", Action.CREATE), ("/b/x", Action.CREATE)} == names(plan.contents)


def test_a_memory_may_move_below_its_own_path() -> None:
    plan = make_plan([], [rename("a", "a__b", Side.REMOTE)], sides({"a__b": S1}, {"a": S1}))

    assert [{("/a", "/a/b", Side.REMOTE)}] == moves(plan)


def test_a_file_is_not_moved_onto_a_local_directory_nor_below_itself() -> None:
    plan = make_plan(
        decisions(a=Action.REMOVE_LOCAL, b=Action.REMOVE_LOCAL),
        [rename("a", "a__b", Side.LOCAL), rename("b", "d", Side.LOCAL)],
        sides({"a": S1, "b": S2}, {"a__b": S1, "d": S2}, directories=("d",)),
    )

    assert not plan.renames
    assert {("/a", Action.REMOVE_LOCAL), ("/b", Action.REMOVE_LOCAL)} == names(plan.removals)


def test_a_pull_waits_where_the_removal_that_makes_room_waits() -> None:
    """While a store is halted, a memory that became a directory, or the reverse, takes nobody's name."""
    became_directory = make_plan(decisions(a__b=Action.PULL), [], sides({"a": S1}, {"a__b": S2}), deferred={path("a")})
    became_file = make_plan(
        decisions(c=Action.PULL), [], sides({"c__d": S1}, {"c": S2}, directories=("c",)), deferred={path("c__d")}
    )

    assert [] == became_directory.renames == became_file.renames
    assert [] == became_directory.contents == became_file.contents
    assert ({"/a/b"}, {"/c"}) == (became_directory.waiting, became_file.waiting)
