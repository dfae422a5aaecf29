"""Executes each job with the SDK of its dialect, and prints the SDK's view of the answer: a line of JSON for each job."""

import json
import os
import sys

import chat
import generate
import messages
import responses

SDKS = {"chat": chat, "messages": messages, "generate": generate, "responses": responses}
URL = os.environ["BASE_URL"]


def talk(sdk, client, job):
    history = sdk.user(job["text"] + "x" * job.get("padding", 0))
    turns = []
    while True:
        turn, said = sdk.ask(client, job, history)
        turns.append(turn)
        if not turn["calls"] or "result" not in job or len(turns) == 2:
            return {"turns": turns}
        history = history + said + sdk.results(turn["calls"], job["result"])


def run(job):
    sdk = SDKS[job["dialect"]]
    if job["strict"] and not sdk.IS_STRICT:
        return {"skipped": f"types, {job['dialect']}: the SDK has no strict decoding to turn on"}
    try:
        client = sdk.connect(URL, job)
        return sdk.models(client, job["model"]) if job["does"] == "models" else talk(sdk, client, job)
    except Exception as error:
        return {"error": {"class": type(error).__name__, "message": str(error)[:500], **sdk.told(error)}}


for job in json.load(sys.stdin):
    print(json.dumps({"id": job["id"], **run(job)}), flush=True)
