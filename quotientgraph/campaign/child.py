"""The process in which cases are run: ``python -m quotientgraph.campaign.child module:function ARGUMENTS JOURNAL``."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from typing import Any


class Report:
    """Writes the journal that the parent process reads; unbuffered, so that a crash loses nothing."""

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def begin(self, case: str) -> None:
        """A case begins."""
        self._write({"begin": case, "at": time.time()})

    def end(self, failure: str | None) -> None:
        """The case is done; None if it was survived."""
        self._write({"failure": failure})

    def _write(self, entry: dict[str, Any]) -> None:
        os.write(self.descriptor, (json.dumps(entry) + "\n").encode("utf-8", "backslashreplace"))


def main() -> None:
    """Run the function that the command line names."""
    module, _, name = sys.argv[1].partition(":")
    function = getattr(import_module(f"quotientgraph.campaign.{module}"), name)
    function(Report(sys.argv[3]), **json.loads(sys.argv[2]))


if __name__ == "__main__":
    main()
