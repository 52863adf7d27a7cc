#!/usr/bin/env python3
"""A worker: started once, then one JSON line in and one JSON line out for every event. See docs/guide/workers.md."""

import json
import re
import sys

SECRET = re.compile(r"(?i)\b([\w-]*(?:key|token|password|secret))(\s*[=:]\s*)\S+")


def answer(event):
    content = event["content"]
    changed = False
    for part in content:
        if part.get("type") == "text":
            redacted = SECRET.sub(r"\1\2[redacted]", part["text"])
            changed = changed or redacted != part["text"]
            part["text"] = redacted
    return {"content": content} if changed else {}


for line in sys.stdin:
    request = json.loads(line)
    try:
        response = {"id": request["id"], "reply": answer(request["event"])}
    except Exception as problem:
        response = {"id": request["id"], "error": repr(problem)}
    print(json.dumps(response), flush=True)
