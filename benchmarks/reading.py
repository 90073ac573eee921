"""Measure in a process of its own what reading a folder costs; prints CPU seconds.

``python reading.py orjson FOLDER`` reads the files and decodes each document or line with orjson:
the floor that no reader of JSON can beat. ``python reading.py columns FOLDER`` reads the same files
into columns, from the files' bytes to what is stored and matched.
"""

import sys
import time
from pathlib import Path


def main() -> None:
    """Print the CPU seconds of one way of reading a folder."""
    way, folder = sys.argv[1], Path(sys.argv[2])
    files = sorted(path for path in folder.iterdir() if path.suffix in {".json", ".jsonl"})
    read = {"orjson": _decode, "columns": _columns}[way]
    read(files[:1])  # what is imported or set up once is no cost of reading
    begun = time.process_time()
    read(files)
    print(time.process_time() - begun)


def _decode(files: list[Path]) -> None:
    import orjson

    for path in files:
        data = path.read_bytes()
        if path.suffix == ".json":
            orjson.loads(data)
        else:
            for line in data.splitlines():
                orjson.loads(line)


def _columns(files: list[Path]) -> None:
    from tracegraph.ingest.adapter import ReadOptions
    from tracegraph.ingest.reader import read_file
    from tracegraph.ingest.source import Source
    from tracegraph.model.draft import Draft
    from tracegraph.model.seal import seal
    from tracegraph.workflows.gather import SEAL_STEPS

    gathered = Draft()
    for path in files:
        for draft in read_file(Source.open(path, path.name), ReadOptions()):
            gathered.extend(draft)
            if len(gathered.steps.step_id) >= SEAL_STEPS:
                seal(gathered)
                gathered = Draft()
    seal(gathered)


if __name__ == "__main__":
    main()
