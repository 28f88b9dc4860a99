"""Starts a run of an agent and waits for its answer, with the standard library alone. The same key is the same run."""

import json
import sys
import urllib.parse
import urllib.request


def request(base, key, method, path, body=None, headers=None):
    sent = urllib.request.Request(
        base + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", **(headers or {})},
    )
    with urllib.request.urlopen(sent, timeout=70) as response:
        return response.status, json.load(response)


def rate(base, key, order_id, text):
    # A repeated request, after a timeout or a crash of this program, finds the run of the first one.
    _, started = request(base, key, "POST", "/v1/runs", {"agent": "rater", "input": text}, {"Idempotency-Key": order_id})
    run = "/v1/runs/" + urllib.parse.quote(started["runId"], safe="")
    while True:
        # 202: the run continues, for as long as it needs. A wait is at most 60 seconds.
        status, result = request(base, key, "GET", run + "/result?wait=60s")
        if status == 200:
            return result["status"], result["output"]


if __name__ == "__main__":
    print(json.dumps(rate(*sys.argv[1:])))
