"""The official Anthropic SDK."""

import json

import anthropic

IS_STRICT = True


def connect(url, job):
    return anthropic.Anthropic(
        base_url=url, api_key=job["key"], max_retries=job["retries"], _strict_response_validation=job["strict"]
    )


def user(text):
    return [{"role": "user", "content": text}]


def results(calls, text):
    return [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": text} for call in calls],
        }
    ]


def params(job, history):
    made = {"model": job["model"], "max_tokens": job.get("limit", 16_000), "messages": history}
    if "system" in job:
        made["system"] = job["system"]
    if job["tools"]:
        made["tools"] = [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool.get("parameters", {"type": "object"}),
            }
            for tool in job["tools"]
        ]
    if "reasons" in job:
        made["thinking"] = {"type": "enabled", "budget_tokens": 8192}
    if "schema" in job:
        made["output_config"] = {"format": {"type": "json_schema", "schema": job["schema"]}}
    return made


def ask(client, job, history):
    open_now, open_most = 0, 0
    if job["mode"] == "whole":
        message = client.messages.create(**params(job, history))
    else:
        with client.messages.stream(**params(job, history)) as stream:
            for event in stream:
                open_now += {"content_block_start": 1, "content_block_stop": -1}.get(event.type, 0)
                open_most = max(open_most, open_now)
            message = stream.get_final_message()
    content = message.content
    turn = {
        "text": "".join(block.text for block in content if block.type == "text"),
        "thought": "".join(block.thinking for block in content if block.type == "thinking"),
        "calls": [
            {"id": block.id, "name": block.name, "args": json.dumps(block.input)}
            for block in content
            if block.type == "tool_use"
        ],
        "finish": message.stop_reason,
        "usage": [message.usage.input_tokens, message.usage.output_tokens],
        "open": open_most,
    }
    said = [block.model_dump(exclude_unset=True, exclude={"parsed_output": True}) for block in content]
    return turn, [{"role": "assistant", "content": said}]


def models(client, name):
    return {"models": [model.id for model in client.models.list()], "model": client.models.retrieve(name).id}


def told(error):
    if not isinstance(error, anthropic.APIStatusError):
        return {"told": False}
    return {
        "told": True,
        "status": error.status_code,
        "word": error.type,
        "retry_after": error.response.headers.get("retry-after"),
    }
