// A coach: speaks up when the model keeps failing at the same thing, and has it review its changes.
//
//     becket -e examples/pi/coach.ts "Make the build green"
//
// A message that steers reaches the model before its next request, while it works. A follow-up is sent when the model
// is done, as a separate prompt.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

const MOST_FAILURES = 3;

export default function (pi: ExtensionAPI) {
    let failures = 0;
    let reviewing = false;

    pi.on("tool_execution_end", (event) => {
        failures = event.isError ? failures + 1 : 0;
        if (failures !== MOST_FAILURES) return;
        const words = `${MOST_FAILURES} failures in a row. Stop and think: what do all of them have in common?`;
        pi.sendUserMessage(words, { deliverAs: "steer" });
    });

    pi.on("agent_end", (event) => {
        const changed = event.messages.some(
            (message) => message.role === "toolResult" && ["edit", "write"].includes(message.toolName),
        );
        // What the review itself changes is not reviewed again.
        reviewing = changed && !reviewing;
        if (!reviewing) return;
        pi.sendUserMessage("Look at your changes once more, as a reviewer would.", { deliverAs: "followUp" });
    });
}
