// Shows how much the provider still allows, and thinks less when that is little.
//
//     becket chat -e examples/pi/limits.ts
//
// `after_provider_response` gets the status and the headers of every answer, before its first word, and
// `thinking_level_select` every change of the level, whoever made it.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

const LEFT = ["x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining"];
const FEW = 10;

export default function (pi: ExtensionAPI) {
    pi.on("after_provider_response", (event, ctx) => {
        const left = LEFT.map((name) => event.headers[name]).find((value) => value !== undefined);
        if (left === undefined) return;
        ctx.ui.setStatus("limits", `${left} requests left`);
        if (Number(left) >= FEW || pi.getThinkingLevel() === "low") return;
        ctx.ui.notify(`thinking less: only ${left} requests are left`, "warning");
        pi.setThinkingLevel("low");
    });

    pi.on("thinking_level_select", (event, ctx) => {
        ctx.ui.setStatus("thinking", `thinking: ${event.level} (it was ${event.previousLevel})`);
    });
}
