"""An MCP server over standard input and output, written by hand. Its first argument says how it behaves."""

import json
import os
import subprocess
import sys
import time

mode = sys.argv[1] if len(sys.argv) > 1 else "well"
log = os.environ.get("SERVER_LOG", os.devnull)


def note(line):
    with open(log, "a") as file:
        file.write(line + "\n")


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def hear():
    line = sys.stdin.readline()
    if not line:
        note("input closed")
        sys.exit(0)
    message = json.loads(line)
    note("heard " + str(message.get("method", "answer")) + " " + json.dumps(message.get("params", message)))
    return message


def tools():
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    hints = {"readOnlyHint": True, "destructiveHint": False}
    found = [
        {"name": "echo", "description": "Says it again.", "inputSchema": schema, "annotations": hints},
        {"name": "act.now", "description": "Does something.", "inputSchema": {"type": "object"}},
    ]
    if mode == "odd-schema":
        found.append({"name": "odd", "inputSchema": {"type": "string"}})
    if mode == "changes" and os.path.exists(log + ".changed"):
        found.append({"name": "late", "inputSchema": {"type": "object"}})
    if mode == "takes-names":
        found.append({"name": "ro_echo", "inputSchema": {"type": "object"}})
    if mode == "tells-secrets":
        found[0]["description"] = "Knows " + os.environ.get("LICENCE", "")
    if mode == "clash":
        found.append({"name": "exec", "inputSchema": {"type": "object"}})
        found.append({"name": "act/now", "inputSchema": {"type": "object"}})
    return found


def kinds():
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    return {
        "content": [
            {"type": "text", "text": "some words"},
            {"type": "image", "mimeType": "image/png", "data": picture},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "memo:1", "text": "a memo"}},
            {"type": "resource_link", "uri": "memo:2", "name": "two"},
        ],
        "structuredContent": {"answer": 42},
    }


def ask(method, params):
    """Asks the client something in the middle of a call, and waits for its answer."""
    say({"id": "mine", "method": method, "params": params})
    while True:
        message = hear()
        if message.get("id") == "mine" and "method" not in message:
            return message


def call(message):
    """Behaves as the mode says. Returns the result, or None if there is none."""
    arguments = message["params"].get("arguments", {})
    token = message["params"].get("_meta", {}).get("progressToken")
    if mode == "hangs-in-call":
        time.sleep(600)
    if mode == "dies-in-call":
        note("acted")
        sys.stderr.write("the disk is on fire\n")
        sys.exit(7)
    if mode == "rubbish-in-call":
        print("this is no JSON", flush=True)
        return {"neither": "fish nor meat"}
    if mode == "error-in-call":
        say({"id": message["id"], "error": {"code": -32602, "message": "the text is missing"}})
        return None
    if mode == "large-line":
        sys.stdout.write('{"jsonrpc":"2.0","id":%s,"result":"' % json.dumps(message["id"]))
        for _ in range(20):
            sys.stdout.write("x" * 1024 * 1024)
        sys.stdout.flush()
        time.sleep(600)
    if mode == "noise-in-call":
        while True:
            sys.stdout.write("noise\n")
    if mode == "floods-in-call":
        number = 0
        while True:
            number += 1
            say({"id": number, "method": "roots/list"})
    if mode == "loud":
        sys.stderr.write("noise " * 200_000)
    if mode == "tells-secrets":
        return text("The key is " + os.environ.get("LICENCE", ""), isError=True)
    if mode == "fails":
        return text("it did not work", isError=True)
    if mode == "kinds":
        return kinds()
    if mode == "large":
        return text("\n".join("line %d of a long result" % number for number in range(10_000)))
    if mode == "asks":
        found = [ask(method, params) for method, params in [
            ("roots/list", {}),
            ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
            ("elicitation/create", {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}),
        ]]
        return text(json.dumps([answer.get("result", answer.get("error")) for answer in found]))
    if mode == "progress":
        say({"method": "notifications/progress",
             "params": {"progressToken": token, "progress": 1, "total": 2, "message": "half done"}})
    if mode == "changes":
        open(log + ".changed", "w").close()
        say({"method": "notifications/tools/list_changed"})
    if mode == "waits":
        note("waiting")
        while True:
            if hear().get("method") == "notifications/cancelled":
                note("cancelled")
                return None
    if mode == "leaves-once":
        return text("last words")
    if mode == "environment":
        return text(json.dumps({name: os.environ.get(name) for name in arguments["names"]} | {"cwd": os.getcwd()}))
    return text(arguments.get("text", "done"))


def main():
    note("pid %d" % os.getpid())
    note("started")
    if mode == "silent":
        time.sleep(600)
    if mode == "exits":
        sys.stderr.write("no licence found " + os.environ.get("LICENCE", "") + "\n")
        sys.exit(3)
    if mode == "rubbish":
        while True:
            print("no JSON at all", flush=True)
            time.sleep(0.01)
    if mode == "loud":
        subprocess.Popen([sys.executable, "-c", "import sys\nwhile True: sys.stderr.write('noise ' * 1000)"])
    if mode == "child":
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        note("child %d" % child.pid)
    while True:
        message = hear()
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            if mode == "wrong-greeting":
                say({"id": id, "result": {"welcome": True}})
                continue
            capabilities = {"tools": {"listChanged": True}}
            info = {"name": "test", "version": "1"}
            version = message["params"]["protocolVersion"]
            say({"id": id, "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}})
        elif method == "tools/list":
            if mode == "silent-list":
                time.sleep(600)
            if mode == "endless-list":
                say({"id": id, "result": {"tools": tools(), "nextCursor": "again"}})
                continue
            if mode == "rubbish-list":
                say({"id": id, "result": {"tools": [{"name": 3}]}})
                continue
            say({"id": id, "result": {"tools": tools()}})
        elif method == "tools/call":
            result = call(message)
            if result is not None:
                say({"id": id, "result": result})
            if mode == "leaves-once" and not os.path.exists(log + ".left"):
                with open(log + ".left", "w") as file:
                    file.write(str(os.getpid()))
                sys.exit(0)
        elif method == "ping":
            say({"id": id, "result": {}})


main()
