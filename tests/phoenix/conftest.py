"""A Phoenix server of the tests' own, a stand-in for px, and the command line in a folder."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli_runner import Ran, run
from environments import python_of
from shared_data import ROOT

HERE = Path(__file__).parent
START_SECONDS = 120
Fill = Callable[..., None]
Tracegraph = Callable[..., Ran]


@pytest.fixture(scope="session")
def phoenix_python() -> Path:
    """The Python of an environment with arize-phoenix, or the test is skipped."""
    return python_of(HERE / "requirements.txt")


@pytest.fixture(scope="session")
def server(phoenix_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Phoenix server on free ports, with a database of its own."""
    home = tmp_path_factory.mktemp("phoenix")
    port, grpc_port = _free_ports(2)
    address = f"http://127.0.0.1:{port}"
    variables = {
        "PHOENIX_WORKING_DIR": str(home),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(phoenix_python), "-m", "phoenix.server.main", "serve"],
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
        )
    try:
        _wait(process, address, home / "log")
        yield address
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def fill(server: str, phoenix_python: Path) -> Fill:
    """A function that sends OTLP/JSON files to a project of the server."""

    def send(project: str, *files: Path) -> None:
        command = [str(phoenix_python), str(HERE / "fill.py"), server, project, *map(str, files)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    return send


@pytest.fixture(scope="session")
def agents(fill: Fill) -> str:
    """A project with runs that end well, fail, and fail in part."""
    names = ("react_ok", "tool_error_fatal", "tool_error_recover", "parallel_tools")
    fill("agents", *(ROOT / "examples" / "traces" / f"{name}.otlp.json" for name in names))
    return "agents"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder; nothing on PATH is called px."""
    for name in list(os.environ):
        if name.startswith(("TRACEGRAPH_", "PHOENIX_", "PX_")):
            monkeypatch.delenv(name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "work"


@pytest.fixture
def px(folder: Path) -> Callable[[str], Path]:
    """A function that puts a Python script on PATH as px."""

    def install(script: str) -> Path:
        path = folder.parent / "bin" / "px"
        path.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
        path.chmod(0o755)
        return path

    return install


@pytest.fixture
def stand_in(px: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch) -> "Calls":
    """The stand-in that asks a server as the official px does; gives what it was called with."""
    px((HERE / "px").read_text(encoding="utf-8"))
    log = folder.parent / "px.log"
    monkeypatch.setenv("PX_LOG", str(log))
    return Calls(log)


@pytest.fixture
def recorded(px: Callable[[str], Path]) -> bytes:
    """A px that prints what the official one's stand-in printed of a real server."""
    path = HERE / "recorded" / "trace_list.json"
    px(ANSWERING.format(path=str(path)))
    return path.read_bytes()


@pytest.fixture
def tracegraph(folder: Path) -> Tracegraph:
    """A function that runs the command line in the folder."""

    def invoke(*arguments: str) -> Ran:
        return run(*arguments, cwd=folder)

    return invoke


ANSWERING = """
import json, sys
asked = sys.argv[1:]
traces = json.load(open({path!r}, encoding="utf-8"))
if asked == ["--version"]:
    print("px/1.2.3 (node)")
elif asked[:2] == ["project", "list"]:
    print("name  id")
elif asked[:2] == ["trace", "list"]:
    print(json.dumps(traces))
else:
    print(json.dumps(next(t for t in traces if t["traceId"].startswith(asked[2]))))
"""


class Calls:
    """What a stand-in was called with."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def __call__(self) -> list[list[str]]:
        """Return the arguments of each call, in order."""
        lines = self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []
        return [json.loads(line) for line in lines]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _wait(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the Phoenix server did not start: {log.read_text(encoding='utf-8')[-2000:]}")
