// A budget: keeps the conversation small, the model cheap and the run short.
//
//     becket -e examples/pi/budget.ts --turns 5 "Fix the tests"
//
// It looks at the session after every turn: summarises before the window is full, thinks less when it gets expensive,
// and ends the run after a number of turns.

import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent";

const FULL = 80;

export default function (pi: ExtensionAPI) {
    let compacting = false;
    let turns = 0;

    pi.registerFlag("turns", { type: "string", default: "20", description: "Turns that a prompt may take" });

    pi.on("agent_start", () => {
        turns = 0;
    });

    pi.on("turn_end", (_event, ctx) => {
        turns += 1;
        keepSmall(ctx);
        if (turns < Number(pi.getFlag("turns"))) return;
        ctx.ui.notify(`${turns} turns are enough`, "warning");
        ctx.abort();
    });

    function keepSmall(ctx: ExtensionContext): void {
        const usage = ctx.getContextUsage();
        if (compacting || usage?.percent == null || usage.percent < FULL) return;
        compacting = true;
        ctx.compact({
            customInstructions: "Keep open tasks and file names.",
            onComplete: () => { compacting = false; },
            onError: (error) => {
                compacting = false;
                ctx.ui.notify(`no summary: ${error.message}`, "warning");
            },
        });
        if (pi.getThinkingLevel() === "high") pi.setThinkingLevel("medium");
    }

    // A summary of our own where the person wants nothing but the tasks: no model is asked.
    pi.on("session_before_compact", (event) => {
        if (event.customInstructions !== "tasks") return;
        const { firstKeptEntryId, tokensBefore } = event.preparation;
        return { compaction: { summary: "Earlier talk was dropped.", firstKeptEntryId, tokensBefore } };
    });

    // `/quiet`: only tools that read, and nothing more after the next answer.
    pi.registerCommand("quiet", {
        description: "Let the model read and nothing else, then end",
        handler: async (_args, ctx) => {
            pi.setActiveTools(["read", "grep", "find", "ls"]);
            if (!ctx.isIdle() || ctx.hasPendingMessages()) {
                pi.sendMessage(
                    { customType: "budget", content: "Come to an end now.", display: true },
                    { deliverAs: "steer" },
                );
            }
            ctx.shutdown();
        },
    });

    pi.on("model_select", (event, ctx) => {
        const { output } = event.model.cost;
        const cheap = ctx.modelRegistry.getAvailable().filter((model) => model.cost.output < output);
        if (cheap.length > 0) ctx.ui.notify(`cheaper would be ${cheap[0].id}`);
    });
}
