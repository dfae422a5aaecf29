"""The official Gemini SDK. It collects no streams: callers join the parts."""

import json

from google import genai
from google.genai import errors, types

IS_STRICT = False


def connect(url, job):
    retries = types.HttpRetryOptions(attempts=job["retries"] + 1)
    return genai.Client(api_key=job["key"], http_options=types.HttpOptions(base_url=url, retry_options=retries))


def user(text):
    return [types.Content(role="user", parts=[types.Part(text=text)])]


def results(calls, text):
    answers = [types.FunctionResponse(id=call["id"], name=call["name"], response={"output": text}) for call in calls]
    return [types.Content(role="user", parts=[types.Part(function_response=answer) for answer in answers])]


def config(job):
    made = types.GenerateContentConfig(system_instruction=job.get("system"), max_output_tokens=job.get("limit"))
    if job["tools"]:
        declared = [
            types.FunctionDeclaration(
                name=tool["name"], description=tool["description"], parameters_json_schema=tool.get("parameters")
            )
            for tool in job["tools"]
        ]
        made.tools = [types.Tool(function_declarations=declared)]
    if "reasons" in job:
        made.thinking_config = types.ThinkingConfig(include_thoughts=True, thinking_budget=8192)
    if "schema" in job:
        made.response_mime_type = "application/json"
        made.response_json_schema = job["schema"]
    return made


def ask(client, job, history):
    asked = {"model": job["model"], "contents": history, "config": config(job)}
    if job["mode"] == "whole":
        chunks = [client.models.generate_content(**asked)]
    else:
        chunks = list(client.models.generate_content_stream(**asked))
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    usage = chunks[-1].usage_metadata
    finish = chunks[-1].candidates[0].finish_reason
    called = [part.function_call for part in parts if part.function_call]
    turn = {
        "text": "".join(part.text or "" for part in parts if not part.thought),
        "thought": "".join(part.text or "" for part in parts if part.thought),
        "calls": [{"id": call.id, "name": call.name, "args": json.dumps(call.args or {})} for call in called],
        "finish": finish.value if finish else None,
        "usage": [usage.prompt_token_count, (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)],
    }
    return turn, [types.Content(role="model", parts=parts)]


def models(client, name):
    listed = [model.name.removeprefix("models/") for model in client.models.list()]
    return {"models": listed, "model": client.models.get(model=name).name.removeprefix("models/")}


def told(error):
    if not isinstance(error, errors.APIError):
        return {"told": False}
    return {"told": True, "status": error.code, "word": error.status}
