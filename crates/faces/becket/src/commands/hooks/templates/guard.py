"""Refuses `rm -rf`. The event is JSON on standard input, the reply JSON on standard output."""

import json
import sys

event = json.load(sys.stdin)
if "rm -rf" in event["arguments"].get("command", ""):
    print(json.dumps({"verdict": {"deny": "rm -rf is not allowed here"}}))
