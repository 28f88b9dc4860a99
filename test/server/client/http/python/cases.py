"""Runs the cases of a file, and prints what became of each as one line of JSON."""

import asyncio
import inspect
import json
import sys
import traceback

CASES = []


def case(function):
    CASES.append(function)
    return function


def run():
    base_url = sys.argv[1]
    outcomes = {}
    for function in CASES:
        try:
            result = function(base_url)
            if inspect.iscoroutine(result):
                asyncio.run(result)
            outcomes[function.__name__] = "ok"
        except BaseException:
            outcomes[function.__name__] = traceback.format_exc()[-2500:]
    print("OUTCOMES " + json.dumps(outcomes))


def equal(one, other):
    assert one == other, f"{one!r} is not {other!r}"
