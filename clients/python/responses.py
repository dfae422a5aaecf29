"""The official OpenAI SDK, responses."""

import chat

IS_STRICT = True
connect = chat.connect


class event(Exception):
    """An error that the SDK hands over as an event of the stream, which its caller has to look at."""


def user(text):
    return [{"role": "user", "content": text}]


def results(calls, text):
    return [{"type": "function_call_output", "call_id": call["id"], "output": text} for call in calls]


def params(job, history):
    made = {"model": job["model"], "input": history, "store": False, "include": ["reasoning.encrypted_content"]}
    if "system" in job:
        made["instructions"] = job["system"]
    if job["tools"]:
        made["tools"] = [{"type": "function", "strict": False, "parameters": None, **tool} for tool in job["tools"]]
    if "limit" in job:
        made["max_output_tokens"] = job["limit"]
    if "reasons" in job:
        made["reasoning"] = {"effort": "high", "summary": "auto"}
    if "schema" in job:
        made["text"] = {"format": {"type": "json_schema", "name": "answer", "strict": True, "schema": job["schema"]}}
    return made


def ask(client, job, history):
    open_now, open_most = 0, 0
    if job["mode"] == "whole":
        response = client.responses.create(**params(job, history))
    else:
        response = None
        with client.responses.stream(**params(job, history)) as stream:
            for piece in stream:
                if piece.type in ("error", "response.failed"):
                    raise event(piece.to_json())
                open_now += {"response.output_item.added": 1, "response.output_item.done": -1}.get(piece.type, 0)
                open_most = max(open_most, open_now)
                # `get_final_response` knows of no other end.
                if piece.type == "response.incomplete":
                    response = piece.response
            response = response or stream.get_final_response()
    output = response.output
    thoughts = [part.text for item in output if item.type == "reasoning" for part in item.summary]
    turn = {
        "text": response.output_text,
        "thought": "".join(thoughts),
        "calls": [
            {"id": item.call_id, "name": item.name, "args": item.arguments}
            for item in output
            if item.type == "function_call"
        ],
        "finish": response.incomplete_details.reason if response.incomplete_details else response.status,
        "usage": [response.usage.input_tokens, response.usage.output_tokens],
        "open": open_most,
    }
    unsent = {"parsed": True, "parsed_arguments": True, "content": {"__all__": {"parsed": True}}}
    return turn, [item.model_dump(exclude_unset=True, exclude=unsent) for item in output]


def told(error):
    return {"told": True} if isinstance(error, event) else chat.told(error)
