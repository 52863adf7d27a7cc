#!/usr/bin/env python3
"""A guard: reads one event as JSON, prints a reply as JSON."""

import json
import os
import sys

event = json.load(sys.stdin)
name = os.path.basename(event["path"])

if name == ".env" or name.endswith((".pem", ".key")):
    reply = {"verdict": {"deny": f"{name} may hold secrets"}}
elif name.endswith(".lock") or name == "package-lock.json":
    reply = {"verdict": {"insist": f"{name} is written by a tool, not by hand"}}
else:
    reply = {}

print(json.dumps(reply))
