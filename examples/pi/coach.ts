// A coach: speaks up when the model fails at the same thing again and again, and lets it look at its changes once more.
//
//     becket -e examples/pi/coach.ts "Make the build green"
//
// Words that steer reach the model before its next request, in the middle of what it does. A follow-up is said when it
// is done, as a prompt of its own.

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
