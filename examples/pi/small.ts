// Keeps the conversation small: summarises before the window is full, and tells the model what it must not forget.
//
//     becket chat -e examples/pi/small.ts --full 50
//
// `session_before_compact` may refuse a summary or write one itself; `session_compact` reports that there is one.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    let compacting = false;

    pi.registerFlag("full", { type: "string", default: "80", description: "Summarise at so many percent" });

    pi.on("agent_settled", (_event, ctx) => {
        const usage = ctx.getContextUsage();
        if (usage?.percent == null) return;
        ctx.ui.setStatus("small", `${Math.round(usage.percent)}% full`);
        if (compacting || usage.percent < Number(pi.getFlag("full"))) return;
        compacting = true;
        ctx.compact({
            customInstructions: "Keep open tasks and file names.",
            onComplete: () => {
                compacting = false;
            },
            onError: (error) => {
                compacting = false;
                ctx.ui.notify(`no summary: ${error.message}`, "warning");
            },
        });
    });

    // A summary of our own where the user wants to forget: no model is asked.
    pi.on("session_before_compact", (event) => {
        if (event.customInstructions !== "forget") return;
        const { firstKeptEntryId, tokensBefore } = event.preparation;
        return { compaction: { summary: "Earlier talk was dropped.", firstKeptEntryId, tokensBefore } };
    });

    pi.on("session_compact", (event, ctx) => {
        ctx.ui.notify(`${event.compactionEntry.tokensBefore} tokens were summarised`);
        const content = "Earlier messages were summarised. Read files again before you change them.";
        pi.sendMessage({ customType: "small", content, display: false }, { deliverAs: "nextTurn" });
    });

    pi.registerCommand("forget", {
        description: "Forget what was said so far",
        handler: async (_args, ctx) => ctx.compact({ customInstructions: "forget" }),
    });
}
