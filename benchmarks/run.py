"""All benchmarks: `make bench`, or `python benchmarks/run.py expressions` for some of them."""

from __future__ import annotations

import sys
from importlib import import_module

from table import show

BENCHMARKS = {
    "expressions": "Expressions: against asteval, simpleeval and CPython's compiled eval",
    "bombs": "Expressions that want to hang or fill the memory: against what is promised",
    "scale": "freeze and verify: times reading the same files",
    "rounds": "Criteria: a first verification, and one after a single change",
    "report_numbers": "Numbers: a report against its sources, linear in each",
    "sandbox": "Sandbox: the fixed cost of running a program in it",
    "blinding": "Blinded workspace: copied and hashed, against cp -a",
    "mcp_server": "MCP server: against a bare one of the same SDK",
    "startup": "Start-up",
    "hooks": "Hooks of a client, on a project of 2,000 files: against their bound of 300 ms",
}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        show(BENCHMARKS[name], import_module(name).main())
