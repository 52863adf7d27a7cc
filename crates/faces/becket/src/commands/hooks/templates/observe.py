"""Notes every tool that has run. The event is JSON on standard input."""

import json
import os
import sys
import tempfile

event = json.load(sys.stdin)
with open(os.path.join(tempfile.gettempdir(), "NAME.log"), "a") as log:
    log.write(event["tool_name"] + "\n")
