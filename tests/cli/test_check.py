"""``tracegraph check``: exit codes, forms, inputs, the contract."""

import copy
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from analysis.diff.runs import Made, run
from cli_runner import Invoke, Ran
from shared_data import ROOT, fixture
from tracegraph.export.artifact import write_artifact

V1 = str(fixture("otlp/openinference_regression_v1.json"))
V2 = str(fixture("otlp/openinference_regression_v2.json"))
OK = "examples/traces/react_ok.otlp.json"
FATAL = "examples/traces/tool_error_fatal.otlp.json"
FAILURES = "failures-not-increased"
RULES = [
    FAILURES,
    "pattern-not-increased:tool-retry-failure",
    "pattern-not-increased:tool-failure",
    "topology-unchanged",
    "topology-unchanged:shape",
    "max-tokens:+10%",
    "max-cost:0.5",
    "max-duration:10m",
    "max-steps:40",
]
Rules = Sequence[str]
P, F, I = 0, 1, 3  # noqa: E741 - as short as the others


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    path = ROOT / "contracts" / "check.v1.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def check(invoke: Invoke, current: str, baseline: str, *more: str, rules: Rules = ()) -> Ran:
    """Run the command; without rules that for failures is asked."""
    asked = [part for rule in rules or [FAILURES] for part in ("--rule", rule)]
    return invoke("check", current, "--baseline", baseline, *asked, *more)


def answer(invoke: Invoke, *arguments: str, rules: Rules = ()) -> Any:
    """Return the JSON answer."""
    ran = check(invoke, *arguments, "--format", "json", rules=rules)
    assert ran.code in {P, F, I}, ran.err
    found = json.loads(ran.out)
    assert {"PASS": P, "FAIL": F, "INSUFFICIENT_EVIDENCE": I}[found["verdict"]] == ran.code
    return found


def write(name: str, *steps: Made, **header: Any) -> str:
    """Write a run as an artifact into the working folder and return its name."""
    Path(name).write_bytes(write_artifact(run(steps, **header)))
    return name


GOOD, BAD, OPEN = (Made("search", status=status) for status in ("ok", "error", "unset"))


def test_the_exit_code_is_the_verdict(invoke: Invoke) -> None:
    good, bad, unknown = write("g.json", GOOD), write("b.json", BAD), write("u.json", OPEN)
    assert check(invoke, good, good).code == P
    assert check(invoke, bad, good).code == F
    assert check(invoke, unknown, good).code == I
    assert check(invoke, bad, unknown).code == I
    assert check(invoke, bad, good, rules=["max-steps:1"]).code == P
    assert check(invoke, unknown, good, rules=[FAILURES, "max-steps:0"]).code == F


def test_the_line_of_the_readme(invoke: Invoke) -> None:
    Path("current.json").write_bytes(Path(V2).read_bytes())
    Path("baseline.json").write_bytes(Path(V1).read_bytes())
    ran = invoke(
        *"check current.json --baseline baseline.json --rule failures-not-increased".split(),
        *"--rule pattern-not-increased:tool-retry-failure --json-out check.json".split(),
    )
    assert (ran.code, ran.out) == (F, "")
    report = json.loads(Path("check.json").read_text(encoding="utf-8"))
    assert [rule["outcome"] for rule in report["rules"]] == ["FAIL", "PASS"]


def test_a_regression_is_named_and_its_repair_passes(invoke: Invoke) -> None:
    ran = check(invoke, V2, V1, rules=RULES[:1])
    assert ran.code == F
    assert ran.out.startswith("FAIL\n")
    assert "TOOL fetch_page: 0 -> 2 (@" in ran.out
    assert check(invoke, V1, V2, rules=[FAILURES]).code == P


def test_both_artifacts_are_bound_by_the_digest_of_their_bytes(invoke: Invoke) -> None:
    report = answer(invoke, V2, V1)
    for side, path in (("current", V2), ("baseline", V1)):
        assert invoke("ingest", path, "-o", f"{side}.artifact.json").code == 0
        ran = invoke("digest", f"{side}.artifact.json")
        assert report[side]["artifact_digest"] in ran.out
        told = answer(invoke, f"{side}.artifact.json", V1)
        assert told["current"]["artifact_digest"] == report[side]["artifact_digest"]


def test_one_run_against_one_run(invoke: Invoke) -> None:
    good = write("g.json", GOOD)
    for current, baseline in (("examples/traces", good), (good, "examples/traces")):
        ran = check(invoke, current, baseline)
        assert (ran.code, ran.out) == (2, "")
        assert "examples/traces: is a folder; check takes one run" in ran.err
        assert "of a folder, examples/traces#session=ID" in ran.err
    assert check(invoke, "examples/traces#6f3d", good).code == 2
    assert "may be many files" in check(invoke, "examples/traces/*.json", good).err
    assert invoke("ingest", "examples/traces", "--into", "corpus").code == 0
    whole = check(invoke, "corpus", good)
    assert whole.code == 2
    assert "is a corpus; check takes one run: name it as corpus#ID or corpus#session=" in whole.err
    assert check(invoke, "corpus#6f3d", OK).code == F
    assert "standard input can be read once" in check(invoke, "-", "-").err
    both = Path("both.jsonl")
    both.write_text(
        "".join(json.dumps(json.loads(Path(p).read_text())) + "\n" for p in (OK, FATAL)),
        encoding="utf-8",
    )
    assert "holds 2 traces, name one" in check(invoke, str(both), good).err


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("failure-not-increased", "did you mean 'failures-not-increased'"),
        ("pattern-not-increased:no-such", "no preset 'no-such'"),
        ("pattern-not-increased:none.tgp", "none.tgp: cannot be read"),
        ("max-tokens:110%", "write it as max-tokens:5000 or max-tokens:+10%"),
    ],
)
def test_a_rule_that_is_none_is_refused_before_anything_is_read(
    invoke: Invoke, rule: str, said: str
) -> None:
    ran = check(invoke, "no-such-file.json", "nor-this.json", rules=[FAILURES, rule])
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_rule_and_a_baseline_must_be_named(invoke: Invoke) -> None:
    assert invoke("check", OK, "--baseline", OK).code == 2
    assert invoke("check", OK, "--rule", FAILURES).code == 2


def test_a_pattern_of_ones_own_is_a_rule(invoke: Invoke) -> None:
    text = 'pattern slow-search v3\nmatch\n  TOOL "search" where status == error\n'
    Path("own.tgp").write_text(text, encoding="utf-8")
    report = answer(
        invoke, write("b.json", BAD), write("g.json", GOOD), rules=["pattern-not-increased:own.tgp"]
    )
    (rule,) = report["rules"]
    assert (rule["outcome"], rule["params"]["pattern"]) == ("FAIL", "slow-search")
    assert rule["params"]["pattern_version"] == 3
    assert rule["evidence"][1]["steps"] == [["s0"]]
    ran = check(
        invoke, "b.json", "g.json", "-o", "own.tgp", rules=["pattern-not-increased:own.tgp"]
    )
    assert (ran.code, Path("own.tgp").read_text(encoding="utf-8")) == (2, text)


def test_a_pattern_that_reads_what_is_not_kept_says_so(invoke: Invoke) -> None:
    text = 'pattern leak v1\nmatch\n  TOOL where output contains "x"\n'
    Path("leak.tgp").write_text(text, encoding="utf-8")
    ran = check(invoke, OK, OK, rules=["pattern-not-increased:leak.tgp"])
    assert (ran.code, "--keep content keeps it" in ran.err) == (I, True)
    again = check(invoke, OK, OK, "--keep", "content", rules=["pattern-not-increased:leak.tgp"])
    assert (again.code, again.err) == (P, "")


def test_an_output_never_replaces_an_input(invoke: Invoke) -> None:
    good, bad = write("g.json", GOOD), write("b.json", BAD)
    before = Path(good).read_bytes()
    assert check(invoke, bad, good, "-o", good).code == 2
    assert check(invoke, bad, good, "--json-out", good).code == 2
    assert Path(good).read_bytes() == before
    ran = check(invoke, bad, good, "--json-out", "x.json", "--format", "sarif")
    assert ran.code == 2


def test_the_suffix_of_the_output_chooses_the_form(invoke: Invoke) -> None:
    good = write("g.json", GOOD)
    for name, start in (
        ("a.json", "{\n"),
        ("a.xml", "<?xml"),
        ("a.sarif", '{"$schema"'),
        ("a.md", "**PASS**"),
        ("a.csv", "outcome,rule"),
        ("a.jsonl", '{"rule"'),
        ("a.txt", "PASS\n"),
    ):
        ran = check(invoke, good, good, "-o", name)
        assert (ran.code, ran.out) == (P, "")
        assert Path(name).read_text(encoding="utf-8").startswith(start)


def test_github_gets_annotations_and_a_summary(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = write("g.json", GOOD), write("b.json", BAD)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    ran = check(invoke, bad, good, "--format", "github")
    assert ran.code == F
    assert ran.out.startswith("::error title=FAIL failures-not-increased::")
    summary = Path("summary.md")
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert check(invoke, bad, good, "--format", "github").out == ran.out
    written = summary.read_text(encoding="utf-8")
    assert written.startswith("before\n### tracegraph check\n\n**FAIL**\n")
    check(invoke, bad, good, "--format", "json")
    assert summary.read_text(encoding="utf-8") == written, "other forms write no summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", os.path.join("no", "such", "folder"))
    ran = check(invoke, bad, good, "--format", "github")
    assert (ran.code, "GITHUB_STEP_SUMMARY: cannot be written" in ran.err) == (F, True)


def test_losses_of_the_file_may_have_been_steps_of_the_run(invoke: Invoke) -> None:
    lines = Path("torn.jsonl")
    lines.write_text(json.dumps(json.loads(Path(OK).read_text())) + '\n{"resou\n', encoding="utf-8")
    report = answer(invoke, str(lines), OK)
    (rule,) = report["rules"]
    assert rule["outcome"] == "INSUFFICIENT_EVIDENCE"
    assert {reason["code"] for reason in rule["reasons"]} == {"hidden_steps"}


def test_the_limit_bounds_lists_and_not_counts(invoke: Invoke) -> None:
    bad = write("b.json", *([BAD] * 60))
    good = write("g.json", GOOD)
    assert "and 10 more)" in check(invoke, bad, good).out
    report = answer(invoke, bad, good, "--limit", "2")
    assert report["limit"] == 2
    assert report["rules"][0]["evidence"][1]["current"] == 60
    assert len(report["rules"][0]["evidence"][1]["steps"]) == 2
    assert len(answer(invoke, bad, good)["rules"][0]["evidence"][1]["steps"]) == 60


def test_the_same_check_is_the_same_bytes(invoke: Invoke) -> None:
    for form in ("table", "json", "jsonl", "csv", "md", "junit", "sarif", "github"):
        first = check(invoke, V2, V1, "--format", form, rules=RULES)
        assert first.out == check(invoke, V2, V1, "--format", form, "--no-cache", rules=RULES).out


# ---------------------------------------------------------------- the contract


@pytest.fixture
def documents(invoke: Invoke) -> dict[str, Any]:
    join = [Made("a"), Made("b", parent=0), Made("c", parent=0, causes=((1, "span_link"),))]
    nameless = Made(None, status="error")
    return {
        "regression": answer(invoke, V2, V1, rules=RULES),
        "repair": answer(invoke, V1, V2, rules=RULES),
        "unknown": answer(invoke, write("u.json", OPEN, nameless), OK, rules=RULES),
        "gaps": answer(
            invoke, write("gap.json", BAD, gaps={"a.lost": 2}), write("g.json", GOOD), rules=RULES
        ),
        "join": answer(
            invoke,
            write("j.json", *join[:2], Made("c", parent=0)),
            write("k.json", *join),
            rules=RULES[3:5],
        ),
        "budgets": answer(
            invoke, V2, V1, rules=["max-cost:+1%", "max-duration:+1.5%", "max-steps:+0%"]
        ),
    }


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from _paths(item, (*path, key))


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def test_the_report_holds_its_contract(
    documents: dict[str, Any], validator: Draft202012Validator
) -> None:
    for name, document in documents.items():
        errors = [
            f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)
        ]
        assert errors == [], name
    rules = [rule for document in documents.values() for rule in document["rules"]]
    types = {found["type"] for rule in rules for found in rule["evidence"]}
    assert types == {"count", "place", "join", "measure"}


def test_a_mutated_report_does_not(
    documents: dict[str, Any], validator: Draft202012Validator
) -> None:
    for name in ("regression", "gaps", "join"):
        document = documents[name]
        for path in _paths(document):
            if isinstance(_at(document, path), list):
                other = copy.deepcopy(document)
                _at(other, path).append(1.5)
                assert not validator.is_valid(other), f"{name}: {path} with one more"
                continue
            for key in _at(document, path):
                less, mistyped = copy.deepcopy(document), copy.deepcopy(document)
                del _at(less, path)[key]
                assert not validator.is_valid(less), f"{name}: {path} without {key}"
                _at(mistyped, path)[key] = [[True]]
                assert not validator.is_valid(mistyped), f"{name}: {path}.{key} mistyped"
            more = copy.deepcopy(document)
            _at(more, path)["unheard_of"] = 1
            assert not validator.is_valid(more), f"{name}: {path} with one more"


def test_an_outcome_has_reasons_unless_it_is_pass(
    documents: dict[str, Any], validator: Draft202012Validator
) -> None:
    for document in documents.values():
        for number, rule in enumerate(document["rules"]):
            other = copy.deepcopy(document)
            other["rules"][number]["outcome"] = "FAIL" if rule["outcome"] == "PASS" else "PASS"
            assert not validator.is_valid(other)
