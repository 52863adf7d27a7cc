// Keeps git from opening a pager. A handler changes the arguments in place.
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    pi.on("tool_call", (event) => {
        const input = event.input as { command?: string };
        if (input.command === "git log") input.command = "git --no-pager log";
    });
}
