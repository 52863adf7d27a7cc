"""An MCP server in the protocol's older form over HTTP. Arguments: MODE PORT_FILE LOG."""

import json
import os
import queue
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE, PORT_FILE, LOG = sys.argv[1:4]
MESSAGES = []


def reply(message):
    method, number = message.get("method"), message.get("id")
    if number is None or method is None:
        return None
    if method == "initialize":
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stream", "version": "1"},
        }
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        result = {"tools": [{"name": "echo", "description": "echo", "inputSchema": schema}]}
    else:
        text = "stream: " + message["params"]["arguments"]["text"]
        result = {"content": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": number, "result": result}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def note(self, what):
        with open(LOG, "a") as log:
            log.write(f"{self.command} {self.path} key={self.headers.get('X-Key')} {what}\n")

    def do_GET(self):
        self.note("")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        messages = queue.Queue()
        MESSAGES.append(messages)
        own = f"/messages?id={len(MESSAGES)}"
        place = "http://127.0.0.1:1/messages" if MODE == "elsewhere" else own
        self.say(f": a comment\n\nevent: endpoint\ndata: {place}\n\n")
        while True:
            self.say(f"event: message\ndata: {json.dumps(messages.get())}\n\n")

    def say(self, text):
        self.wfile.write(text.encode())
        self.wfile.flush()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.note(message.get("method"))
        answer = reply(message)
        if answer is not None:
            MESSAGES[int(self.path.split("=")[1]) - 1].put(answer)
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(PORT_FILE + ".new", "w") as port:
    port.write(str(server.server_address[1]))
os.rename(PORT_FILE + ".new", PORT_FILE)
server.serve_forever()
