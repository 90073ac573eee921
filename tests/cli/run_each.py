"""A program that runs many command lines in one process, each with streams of its own.

Reads JSON from standard input: ``lines`` and how standard output is, ``kept`` (a file), ``closed``
(a pipe that nobody reads), ``full`` (a full disk). Writes [code, out, err] of each to ``result``.
"""

import io
import json
import os
import sys
import traceback
from pathlib import Path

from tracegraph.cli.main import main


def run(line: list[str], output: str) -> tuple[object, str, str]:
    """Run a command line with files for its streams, or what stands for them."""
    if output == "closed":
        left, out = os.pipe()
        os.close(left)
    else:
        name = "/dev/full" if output == "full" else "out"
        out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    err = os.open("err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    # The encodings are those of the locale, as they are when Python opens its streams.
    sys.stdout = io.TextIOWrapper(io.FileIO(out, "w"))
    sys.stderr = io.TextIOWrapper(io.FileIO(err, "w"), write_through=True)
    code: object = None
    try:
        main(line)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.close()
        except OSError as error:
            code = f"left to flush: {error}"
    said = Path("out").read_bytes().decode() if output == "kept" else ""
    return code, said, Path("err").read_bytes().decode()


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    done = [run(line, asked["output"]) for line in asked["lines"]]
    Path(asked["result"]).write_text(json.dumps(done), encoding="utf-8")
