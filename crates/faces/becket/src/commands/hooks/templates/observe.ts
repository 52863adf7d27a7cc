// Notes every tool that has run.
import { appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    pi.on("tool_execution_end", (event) => {
        appendFileSync(`${tmpdir()}/NAME.log`, `${event.toolName}\n`);
    });
}
