"""The official OpenAI SDK, chat completions."""

import openai

IS_STRICT = True


def connect(url, job):
    return openai.OpenAI(
        base_url=f"{url}/v1", api_key=job["key"], max_retries=job["retries"], _strict_response_validation=job["strict"]
    )


def user(text):
    return [{"role": "user", "content": text}]


def results(calls, text):
    return [{"role": "tool", "tool_call_id": call["id"], "content": text} for call in calls]


def params(job, history):
    system = [{"role": "system", "content": job["system"]}] if "system" in job else []
    made = {"model": job["model"], "messages": system + history}
    if job["tools"]:
        made["tools"] = [{"type": "function", "function": tool} for tool in job["tools"]]
    if "limit" in job:
        made["max_completion_tokens"] = job["limit"]
    if "reasons" in job:
        made["reasoning_effort"] = "high"
    if "schema" in job:
        made["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": job["schema"]},
        }
    return made


def ask(client, job, history):
    if job["mode"] == "whole":
        completion = client.chat.completions.create(**params(job, history))
    else:
        with client.chat.completions.stream(**params(job, history), stream_options={"include_usage": True}) as stream:
            # `get_final_completion` throws where an answer ended at its limit; what was gathered is the same.
            completion = stream.until_done().current_completion_snapshot
    choice = completion.choices[0]
    calls = [
        {"id": call.id, "name": call.function.name, "args": call.function.arguments}
        for call in choice.message.tool_calls or []
    ]
    turn = {
        "text": choice.message.content or "",
        "calls": calls,
        "finish": choice.finish_reason,
        "usage": [completion.usage.prompt_tokens, completion.usage.completion_tokens],
    }
    return turn, [choice.message.model_dump(exclude_unset=True, exclude={"parsed": True})]


def models(client, name):
    return {"models": [model.id for model in client.models.list()], "model": client.models.retrieve(name).id}


def told(error):
    if not isinstance(error, openai.APIError) or isinstance(error, openai.APIConnectionError):
        return {"told": False}
    if not isinstance(error, openai.APIStatusError):
        return {"told": True, "word": error.type}
    return {
        "told": True,
        "status": error.status_code,
        "word": error.type,
        "retry_after": error.response.headers.get("retry-after"),
    }
