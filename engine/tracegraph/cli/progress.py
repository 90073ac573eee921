"""The bar that shows how far reading has come."""

from typing import Self


class ReadingBar:
    """A progress bar on standard error, gone when reading has ended."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("reading"),
            BarColumn(),
            DownloadColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("reading", total=None, start=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def start(self, total_bytes: int) -> None:
        """Show the bar, if there is anything to read."""
        if total_bytes:
            self._bar.start()
            self._bar.start_task(self._task)
            self._bar.update(self._task, total=total_bytes)

    def advance(self, read_bytes: int) -> None:
        """Move the bar on."""
        self._bar.advance(self._task, read_bytes)
