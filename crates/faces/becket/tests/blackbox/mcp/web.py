"""An MCP server over HTTP, written by hand. Its first argument says how it behaves; it writes its port to a file."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

mode, port_file, log = sys.argv[1:4]
acted = []


def note(line):
    with open(log, "a") as file:
        file.write(line + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/json", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        note("GET " + self.path)
        self.answer(405)

    def do_DELETE(self):
        note("DELETE " + str(self.headers.get("Mcp-Session-Id")))
        self.answer(200)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message.get("method")
        note("%s key=%s session=%s" % (method, self.headers.get("X-Key"), self.headers.get("Mcp-Session-Id")))
        if mode == "redirects":
            return self.answer(307, Location="http://127.0.0.1:1/elsewhere?key=hunter2")
        if mode == "locked":
            return self.answer(401, b"who are you?", "text/plain")
        if mode == "page":
            return self.answer(200, b"<html>hello</html>", "text/html")
        if mode == "silent":
            time.sleep(600)
        if "id" not in message:
            return self.answer(202)
        if method == "initialize":
            info = {"name": "web", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.result(message, result, Mcp_Session_Id="s-1")
        if method == "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            return self.result(message, {"tools": [{"name": "echo", "description": "Echo.", "inputSchema": schema}]})
        return self.call(message)

    def call(self, message):
        acted.append(message)
        note("acted %d" % len(acted))
        words = message["params"]["arguments"].get("text", "")
        result = {"content": [{"type": "text", "text": "web: " + words}]}
        if mode == "broken":
            return self.answer(500, b"oh no", "text/plain")
        if mode == "hangs-in-call":
            time.sleep(600)
        if mode == "endless":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            while True:
                self.wfile.write(b"data: " + b"x" * 65536 + b"\n")
        if mode == "expires" and len(acted) == 1:
            return self.answer(404)
        if mode == "events":
            token = message["params"].get("_meta", {}).get("progressToken")
            progress = {"method": "notifications/progress",
                        "params": {"progressToken": token, "progress": 1, "message": "on the way"}}
            whole = [progress, {"id": message["id"], "result": result}]
            events = ["event: message\ndata: %s\n\n" % json.dumps({"jsonrpc": "2.0", **part}) for part in whole]
            return self.answer(200, "".join(events).encode(), "text/event-stream")
        return self.result(message, result)

    def result(self, message, result, **headers):
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.answer(200, body, **headers)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(port_file + ".new", "w") as file:
    file.write(str(server.server_address[1]))
import os
os.rename(port_file + ".new", port_file)
server.serve_forever()
