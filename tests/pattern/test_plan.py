from tracegraph.pattern.ast import Compare, Edge, Field, Of, Run
from tracegraph.pattern.load import load_adhoc
from tracegraph.pattern.plan import CounterPlan, Link, PatternPlan, Slot, plan


def plan_of(text: str) -> PatternPlan:
    return plan(load_adhoc(text))


def test_slots_follow_the_text_over_all_paths() -> None:
    ((branch, counters),) = plan_of(
        'a: TOOL "x*" -> LLM|TOOL -> b: ANY where name == $a.name also $a / c: CHAIN'
    ).branches
    assert counters == ()
    where = Compare(Field("name"), "==", Of("a", "name"))
    assert branch.slots == (
        Slot(0, "a", ("TOOL",), "x*", None, None, None),
        Slot(1, None, ("LLM", "TOOL"), None, None, None, 0),
        Slot(2, "b", None, None, None, where, 1),
        Slot(3, "c", ("CHAIN",), None, None, None, 0),
    )
    assert branch.links == (
        Link(0, 1, Edge("cause")),
        Link(1, 2, Edge("cause")),
        Link(0, 3, Edge("child")),
    )
    assert branch.variables == {"a": 0, "b": 2, "c": 3}


def test_any_among_kinds_is_every_kind() -> None:
    ((branch, _),) = plan_of("TOOL|ANY").branches
    assert branch.slots[0].kinds is None


def test_reused_step_is_one_slot() -> None:
    ((branch, _),) = plan_of("a: TOOL -> b: LLM -> $a also $b -> $a").branches
    assert [slot.index for slot in branch.slots] == [0, 1]
    assert [(link.left, link.right) for link in branch.links] == [(0, 1), (1, 0), (1, 0)]


def test_left_of_a_step_behind_a_reused_one() -> None:
    ((branch, _),) = plan_of("a: TOOL -> LLM also $a ~> c: TOOL where gap > 1s").branches
    assert branch.slots[2].left == 0


def test_run_is_one_slot() -> None:
    ((branch, _),) = plan_of("xs: TOOL {3,} same name per agent -> LLM").branches
    assert branch.slots[0].run == Run(3, ("name",), None, "agent")
    assert branch.links == (Link(0, 1, Edge("cause")),)


def test_counter_slots_continue_after_the_branch() -> None:
    ((branch, counters),) = plan_of(
        "a: TOOL -> b: TOOL unless $b ~>> c: TOOL -> d: LLM where name == $a.name unless LLM / $a"
    ).branches
    assert len(branch.slots) == 2
    first, second = counters
    assert [slot.index for slot in first.slots] == [2, 3]
    assert [slot.left for slot in first.slots] == [1, 2]
    assert first.links == (Link(1, 2, Edge("trace")), Link(2, 3, Edge("cause")))
    assert first.outer == (0, 1)
    assert first.variables == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert second == CounterPlan(
        (Slot(2, None, ("LLM",), None, None, None, None),),
        (Link(2, 0, Edge("child")),),
        (0,),
        {"a": 0, "b": 1},
    )


def test_name_in_a_filter_counts_as_named_by_the_counter_path() -> None:
    ((_, (counter,)),) = plan_of(
        "a: TOOL -> b: TOOL unless $b ~> [no LLM where name == $a.name] TOOL"
    ).branches
    assert counter.outer == (0, 1)


def test_counter_plans_are_made_per_branch() -> None:
    (first, second) = plan_of("a: TOOL alternatively LLM -> a: TOOL unless $a -> TOOL").branches
    assert first[1][0].outer == (0,)
    assert first[1][0].links == (Link(0, 1, Edge("cause")),)
    assert second[1][0].outer == (1,)
    assert second[1][0].links == (Link(1, 2, Edge("cause")),)
