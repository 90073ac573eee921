"""Random patterns as text, over the words that the random traces use."""

from random import Random

KINDS = ("TOOL", "TOOL", "LLM", "AGENT", "CHAIN", "ANY", "TOOL|LLM", "LLM|AGENT|CHAIN")
GLOBS = ('"a"', '"b*"', '"retry:*"', '"?"', '"*b"', '"none"')
CAUSES = ("->", "->", "->>", "->{2}", "->{1,3}", "->{2,4}", "->{2,}", "->{3}", "->{1,40}")
TREES = ("/", "//")
ORDERS = ("~>", "~>>")
TEXTS = ("name", "agent", "model", "error.type", "error.message", "status_source", "tool_call_id")
CODED = ("name", "agent", "model", "args", "result", "tool_call_id")
NUMBERS = ("tokens.prompt", "tokens.total", "docs", "cost", "depth", "children", "seq")
LITERALS = ('"a"', '"b"', '"p"', '"m"', '"x"', '"nothing"')
REGEXES = ("/a/", "/^a$/", "/TIME(d.?| )?out/i", "/^.*thing$/", "/b|x/", r"/\w+\s\w/")
WINDOWS = ("0.000002ms", "0.000005ms", "2 steps", "1 steps")
NEEDS = ("args", "tokens", "times", "errors", "agents", "models", "docs", "tool-call-ids")
SAME = ("name", "args", "kind", "agent")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_WORDS = {
    "text": TEXTS,
    "code": CODED,
    "digest": ("args", "result"),
    "number": NUMBERS,
    "any": CODED + NUMBERS + ("start", "end", "duration", "error.type"),
    "literal": LITERALS,
    "glob": GLOBS,
    "regex": REGEXES,
    "op": COMPARISONS,
    "equal": ("==", "!="),
    "status": ("ok", "error", "unset"),
    "kind": ("TOOL", "LLM"),
    "part": ('"a"', '"out"', '""'),
    "signal": ('"tool_error"', '"final_answer"', '"truncated"'),
    "known": ("known", "unknown"),
    "amount": ("0", "1", "2", "1.5"),
    "factor": ("2", "0.5", "3"),
    "time": ("start", "end"),
    "length": ("0s", "0.000002ms", "-0.000001ms"),
    "bool": ("true", "false"),
    "origin": ('source == "otlp"', 'agent == "p"', 'session_id != "s"', 'fidelity == "full"'),
}
_PLAIN = (
    "status {equal} {status}",
    "status == error",
    "{of}status in [{status}, {status2}]",
    "kind {equal} {kind}",
    "{text} {equal} {literal}",
    "{of}{text} in [{literal}, {literal2}]",
    "{text} like {glob}",
    "{of}{text} matches {regex}",
    "{text} contains {part}",
    "signals contains {signal}",
    "{of}{any} is {known}",
    "{number} {op} {amount}",
    "{of}tokens.prompt in [1, 2.5]",
    "duration {op} {length}",
    "lossy == {bool}",
    "trace.{origin}",
    "trace.agent like {glob}",
    "trace.status {equal} {status}",
    'id {equal} "s11"',
)
_BACK = (
    "{text} {equal} {var}{text2}",
    "{digest} {equal} {var}{digest2}",
    "{code} == {var}{code}",
    "name == {var}name",
    "status {equal} {var}status",
    "{time} {op} {var}{time2}",
    "tokens.prompt {op} {factor} * {var}tokens.prompt",
    "{factor} * tokens.total {op} {var}cost",
    "{number} {op} {var}{number2}",
    "duration {op} {var}duration",
    "name {equal} {var}model",
    "id {equal} {var}id",
    "trace.agent {equal} {var}agent",
)
_RUNS = (
    "docs {op} {run}.count",
    "name {equal} {run}.first.name",
    "{time} {op} {run}.last.{time2}",
    "status == {run}.last.status",
)
_GAPS = ("gap {op} {length}", "gap is {known}", "gap {op} duration")


class PatternMaker:
    """Writes one pattern."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick = random.choice
        self.exact = self.chance(0.3)
        self.names: list[str] = []
        self.runs: dict[str, list[str]] = {}
        self.count = 0

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    @property
    def steps(self) -> list[str]:
        """Names of single steps."""
        return [name for name in self.names if name not in self.runs]

    def pattern(self) -> str:
        """Return the text of a whole pattern."""
        parts = [self.branch()]
        if self.chance(0.15):
            kept, self.names = self.names, []
            self.count = 0  # the same names again, so that later clauses may use them
            parts.append("alternatively\n  " + self.branch())
            self.names = [name for name in self.names if name in kept]
            self.runs = {}
        for _ in range(self.pick((0, 0, 0, 1, 1, 2))):
            if self.names:
                parts.append("unless " + self.counter())
        parts += self.clauses()
        header = "scope session\n  " if self.chance(0.1) else ""
        header += f"confidence {'exact' if self.exact else 'heuristic'}"
        if self.chance(0.15):
            header += f"\n  needs {', '.join(self.random.sample(NEEDS, self.pick((1, 2))))}"
        return f"pattern p v1\n  {header}\nmatch\n  " + "\n".join(parts)

    # ------------------------------------------------------------ paths

    def branch(self) -> str:
        paths = [self.path(self.pick((1, 1, 2, 2, 2, 3)))]
        if self.names and self.chance(0.15):
            known = f"${self.pick(self.names)}"
            if self.chance(0.7):
                paths.append(f"{known} {self.edge()} {self.step(gap=True)}")
            else:
                paths.append(f"{self.step()} {self.edge()} {known}")
        return "\nalso\n  ".join(paths)

    def path(self, length: int) -> str:
        parts = [self.step()]
        for _ in range(length - 1):
            parts += [self.edge(), self.step(gap=True)]
        return " ".join(parts)

    def counter(self) -> str:
        kept = list(self.names)
        name = self.pick(kept)
        shape = self.random.randrange(6)
        if shape == 0:
            text = f"{self.step()} {self.edge()} ${name}"
        elif shape == 1 and name not in self.runs:
            text = self.step(condition=f"name == ${name}.name")
        elif shape == 2:
            further = f"{self.step(gap=True)} {self.edge()} {self.step(gap=True)}"
            text = f"${name} {self.edge()} {further}"
        elif shape == 3 and len(kept) > 1:
            other = self.pick([other for other in kept if other != name])
            text = f"${name} {self.edge()} ${other}"
        else:
            text = f"${name} {self.edge()} {self.step(gap=True)}"
        self.names = kept
        return text

    def step(self, *, gap: bool = False, condition: str = "") -> str:
        name = ""
        if self.chance(0.75):
            self.count += 1
            name = f"v{self.count}"
        text = (f"{name}: " if name else "") + self.pick(KINDS)
        if self.chance(0.15):
            text += " " + self.pick(GLOBS)
        fields: list[str] = []
        if not self.exact and self.chance(0.08):
            fields = self.random.sample(SAME, self.pick((1, 1, 2)))
            text += self.run(fields)
        conditions = [condition] if condition else []
        if self.chance(0.5):
            conditions.append(self.condition(gap=gap))
        if conditions:
            text += " where " + " and ".join(conditions)
        if name:
            self.names.append(name)
            if fields:
                self.runs[name] = fields
        return text

    def run(self, fields: list[str]) -> str:
        per = self.pick(("", "", " per scope", " per parent", " per agent"))
        period = " period 2..3" if self.chance(0.15) else ""
        return f" {{{self.pick((2, 2, 3))},}}{period} same {', '.join(fields)}{per}"

    def edge(self) -> str:
        kinds = (CAUSES, CAUSES, TREES) if self.exact else (CAUSES, CAUSES, TREES, ORDERS, ORDERS)
        edge = self.pick(self.pick(kinds))
        if edge in ("->", "/") or not self.chance(0.35):
            return edge
        amount = "no"
        if edge in ORDERS and self.chance(0.3):
            amount = f"at most {self.pick((1, 2))}"
        where = f" where {self.condition(gap=False)}" if self.chance(0.5) else ""
        return f"{edge} [{amount} {self.pick(KINDS)}{where}]"

    # ------------------------------------------------------------ conditions

    def condition(self, *, gap: bool) -> str:
        shape = self.random.random()
        if shape < 0.2:
            return f"({self.test(gap)} {self.pick(('and', 'or'))} {self.test(gap)})"
        return f"not {self.test(gap)}" if shape < 0.3 else self.test(gap)

    def test(self, gap: bool) -> str:
        steps, runs = self.steps, [name for name in self.names if name in self.runs]
        tests: tuple[str, ...] = _PLAIN
        if steps and self.chance(0.5):
            tests = _BACK
        elif runs and self.chance(0.5):
            run = self.pick(runs)
            field = self.pick(self.runs[run])
            tests = (*_RUNS, f"{field} == ${run}.{field}")
        elif gap and self.chance(0.1):
            tests = _GAPS
        words = {key: self.pick(choices) for key, choices in _WORDS.items()}
        words |= {f"{key}2": self.pick(choices) for key, choices in _WORDS.items()}
        words["var"] = f"${self.pick(steps)}." if steps else ""
        words["of"] = words["var"] if self.chance(0.3) else ""
        words["run"] = f"${self.pick(runs)}" if runs else ""
        return self.pick(tests).format(**words)

    # ------------------------------------------------------------ clauses after the paths

    def clauses(self) -> list[str]:
        clauses = []
        shape = self.random.random()
        if shape < 0.15:
            clauses.append(f"within {self.pick(WINDOWS)}")
        if 0.1 < shape < 0.25 and self.steps:
            name = self.pick(self.steps)
            fields = self.random.sample(SAME, self.pick((1, 2)))
            by = ", ".join(f"${name}.{field}" for field in fields)
            clauses += [f"having count >= {self.pick((1, 2, 2, 3))} by {by}", f"return {by}"]
        elif self.names and self.chance(0.5):
            name = self.pick(self.names)
            if name in self.runs:
                clauses.append(f"return ${name}.count, ${name}.first.name as n")
            else:
                clauses.append(f"return ${name}.name as n, ${name}.tokens.prompt as tokens")
        return clauses
