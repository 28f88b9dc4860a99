"""A check of responses for Schemathesis, beside those that it has."""

import schemathesis


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
