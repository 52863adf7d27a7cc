// Refuses `rm -rf`. A handler that returns `{ block: true }` refuses the call; one that throws refuses as well.
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    pi.on("tool_call", (event) => {
        const { command } = event.input as { command?: string };
        if (command?.includes("rm -rf")) return { block: true, reason: "rm -rf is not allowed here" };
    });
}
