"""Task ids are recomputed as each generation of LangGraph computed them.

The ids were written by langgraph 0.1.19, 0.2.3, 0.2.76 and 1.2.24; node, step and triggers are what
LangGraph told the node itself.
"""

import pytest

from langgraph_files import key
from tracegraph.ingest.langgraph.ids import (
    Path,
    handler_id,
    is_update_path,
    place_of,
    pull_ids,
    push_ids,
    read_path,
    update_ids,
)

_PULLS = [  # v, namespace, checkpoint, its step, node, triggers, task
    (
        1,
        "",
        "1f1ec51f-32f9-6a7b-8000-1770e59c4dd7",
        0,
        "plan",
        ("start:plan",),
        "a550ce23-6288-5d6c-9c51-af33e48370b0",
    ),
    (
        1,
        "",
        "1f1ec51f-3309-6e2a-8002-ccb0f1cf5c39",
        2,
        "join",
        ("join:a+b+c:join",),
        "a2ae541b-8fb8-557b-965c-c6ee91119dab",
    ),
    (
        1,
        "",
        "1f1ec51f-1156-61e2-8000-9f9a1b65361c",
        0,
        "plan",
        ("start:plan",),
        "8d1c7806-0d41-5efc-8bff-d2f20191c244",
    ),
    (
        1,
        "",
        "1f1ec51f-1159-6e6d-8001-5eeb69fbf3d2",
        1,
        "c",
        ("plan",),
        "31b310ac-6f62-535a-aa9a-edb8afce3160",
    ),
    (
        2,
        "",
        "1f1ec51e-cef6-659b-8001-a16c2502a9c1",
        1,
        "a",
        ("plan",),
        "9e470e52-a683-9d36-6c3c-8165c3a7981e",
    ),
    (
        2,
        "sub:6c788c45-ba78-157b-6bd3-465b3b6b8e9b",
        "1f1ec51e-dd88-6b5e-8001-b5f56fc4a97f",
        1,
        "inner_two",
        ("inner_one",),
        "09cf7614-db96-968f-0b9a-c10a366f95e7",
    ),
    (
        4,
        "",
        "1f1ec51e-a9f4-6c0b-bfff-0cc38feb44c2",
        -1,
        "__start__",
        ("__start__",),
        "67002643-4aa1-7437-cb19-f7d25dc08856",
    ),
    (
        4,
        "",
        "1f1ec51e-a9fe-69b8-8002-665e8d88e99b",
        2,
        "join",
        ("branch:to:join", "join:a+b+c:join"),
        "820cee2b-e5b3-1df1-f244-d49143e591d6",
    ),
]


@pytest.mark.parametrize(
    ("version", "namespace", "checkpoint", "step", "node", "triggers", "task"), _PULLS
)
def test_the_id_of_a_task_that_channels_triggered(
    version: int,
    namespace: str,
    checkpoint: str,
    step: int,
    node: str,
    triggers: tuple[str, ...],
    task: str,
) -> None:
    place = place_of(checkpoint, version, namespace, step)
    assert place is not None
    assert task in pull_ids(place, node, triggers, range(3))
    assert task not in pull_ids(place, "other", triggers, range(3))
    assert task not in pull_ids(place, node, ("branch:to:other",), range(3))
    elsewhere = place_of(checkpoint, version, namespace, step + 1)
    assert elsewhere is not None
    assert task not in pull_ids(elsewhere, node, triggers, range(3))


@pytest.mark.parametrize(
    ("version", "checkpoint", "task"),
    [
        (2, "1f1ec51e-d517-6ab2-8001-6258feaeb908", "2547b081-748b-4941-d370-6ca80074cfeb"),
        (4, "1f1ec51e-b030-675b-8001-273505769aa1", "1a8f812b-a5cc-b895-d4e7-cb40c58eb734"),
        (1, "1f1ec51f-3972-6b72-8001-552a929622d3", "3e27cd36-d7e4-5c7e-a146-098c983d46c0"),
        (1, "1f1ec51f-17bc-6087-8001-49c2ca1fb169", "0e616846-8856-5f6f-b30b-32ed449cf6da"),
    ],
)
def test_the_id_of_a_task_that_a_packet_scheduled(version: int, checkpoint: str, task: str) -> None:
    place = place_of(checkpoint, version, "", 1)
    assert place is not None
    ids = [set(push_ids(place, "work", index, range(index, index + 1))) for index in range(4)]
    of = [index for index in range(4) if task in ids[index]]
    assert len(of) == 1
    assert task not in push_ids(place, "other", of[0], range(4))


def test_the_id_of_a_task_that_handles_a_failure() -> None:
    place = place_of("1f1ec51e-b6b7-63e9-8001-a6fa1e5eebd2", 4, "", 1)
    assert place is not None
    failed = "c87f4ee1-90c4-fdfd-28ab-a672cf020e35"
    found = handler_id(place, "__error_handler__breaks", "breaks", failed)
    assert found == "cdfbd7b2-b3ee-ceb9-8f26-96122b876a45"


def test_the_id_under_which_an_update_wrote() -> None:
    assert "bf9c34c5-5053-5cb9-a3ce-cb88de24b695" in update_ids(
        "1f1ec51e-dbb1-6179-8002-ff60f8b4611a"
    )
    assert update_ids("no uuid") == frozenset()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", Path()),
        ("~", Path()),
        ("~__pregel_pull, agent", Path(node="agent")),
        ("~__pregel_pull, a, b: ~c", Path(node="a, b: ~c")),
        ("~__pregel_push, 0000000002, 0000000000", Path(packet=2)),
        ("~__pregel_push, 99999999999999999999, 0000000000", Path()),
        ("~__pregel_push, x, 0000000000", Path()),
        (
            "~__pregel_push, ~__pregel_pull, flow, 0000000003, 0000000001",
            Path(caller="~__pregel_pull, flow"),
        ),
        (
            "~__pregel_push, ~__pregel_push, ~__pregel_pull, flow, 0000000000, 0000000001, "
            "0000000002, 0000000001",
            Path(caller="~__pregel_push, ~__pregel_pull, flow, 0000000000, 0000000001"),
        ),
        (
            "~__pregel_pull, breaks, node_error_handler, 0000000000",
            Path(failed="~__pregel_pull, breaks"),
        ),
        ("something else", Path()),
    ],
)
def test_recorded_paths(text: str, path: Path) -> None:
    assert read_path(text) == path


def test_paths_of_update_state() -> None:
    assert is_update_path("~")
    assert is_update_path("~__interrupt__, 0000000000")
    assert not is_update_path("")
    assert not is_update_path("~__pregel_pull, __interrupt__")


@pytest.mark.parametrize(
    ("checkpoint", "version", "step"),
    [("no uuid", 4, 0), (key(1), "4", 0), (key(1), 4, None), (key(1), 4, True), (key(1), None, 1)],
)
def test_a_place_that_cannot_be_told(checkpoint: str, version: object, step: object) -> None:
    assert place_of(checkpoint, version, "", step) is None
