"""What Schemathesis does beside what it has: names that exist, short waits, and further checks of responses."""

import json
import os
import random
import re

import schemathesis
from schemathesis import GenerationMode

KNOWN = json.loads(os.environ["FUZZ_KNOWN"])

DURATION = re.compile(r"\d+(?:\.\d+)?(?:ms|s|m)")


def is_positive(part):
    return part is None or part.mode is GenerationMode.POSITIVE


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Half of the requests that may succeed are about what exists, and none waits for long. The choices depend on the request alone."""
    chance = random.Random(repr((ctx.operation.label, case.path_parameters, case.query, case.body)))
    parts = {location.value: part for location, part in case.meta.components.items()} if case.meta else {}
    if case.path_parameters and is_positive(parts.get("path")):
        for name, names in KNOWN.items():
            if name in case.path_parameters and chance.random() < 0.5:
                case.path_parameters[name] = chance.choice(names)
    if isinstance(case.body, dict) and isinstance(case.body.get("agent"), str) and is_positive(parts.get("body")):
        if chance.random() < 0.8:
            case.body["agent"] = chance.choice(KNOWN["agent"])
    for name in ("wait", "grace"):
        given = (case.query or {}).get(name)
        if isinstance(given, str) and DURATION.fullmatch(given):
            case.query[name] = "100ms"


@schemathesis.check
def takes_what_its_schema_takes(ctx, response, case):
    """A request that fits the document is never refused for its shape: other refusals are about rules that its descriptions name."""
    mode = case.meta.generation.mode if case.meta else None
    if mode is None or not mode.is_positive or response.status_code != 422:
        return None
    detail = response.json().get("detail", "")
    if "does not fit the route" in detail:
        raise AssertionError(f"The schema takes the request, and the service does not: {response.text[:1000]}")
    return None


# The dev server shares the processors with the fuzzers: it may leave a call without an answer until its time limit. More than a few of a
# group of routes are a defect of the service.
unanswered_calls_left = 3


@schemathesis.check
def says_when_to_come_back(ctx, response, case):
    """A run may be unable to take a request now: the service itself, and but for a few calls the server behind it, are able to answer."""
    global unanswered_calls_left
    if response.status_code != 503:
        return None
    code = response.json().get("code")
    if code == "server_unreachable" and response.headers.get("retry-after") and unanswered_calls_left > 0:
        unanswered_calls_left -= 1
        return None
    if code not in ("busy", "wait_timeout") or not response.headers.get("retry-after"):
        raise AssertionError(f"503 with the code {code}, and the header Retry-After {response.headers.get('retry-after')}")
    return None
