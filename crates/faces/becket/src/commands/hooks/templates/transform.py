"""Keeps git from opening a pager. The reply holds the new arguments; without output nothing changes."""

import json
import sys

arguments = json.load(sys.stdin)["arguments"]
if arguments.get("command") == "git log":
    print(json.dumps({"arguments": arguments | {"command": "git --no-pager log"}}))
