// A budget: limits the turns of a prompt and the tokens of a session.
//
//     becket -e examples/pi/budget.ts --turns 5 --tokens 50000 "Fix the tests"
//
// It counts after every turn and every run. `ctx.abort()` ends a run as if the user had cancelled it; a prompt that
// `input` handles never reaches the model.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    let turns = 0;
    let spent = 0;

    pi.registerFlag("turns", { type: "string", default: "20", description: "Turns that a prompt may take" });
    pi.registerFlag("tokens", { type: "string", description: "Tokens that the session may use" });

    pi.on("input", (_event, ctx) => {
        const limit = Number(pi.getFlag("tokens") ?? Infinity);
        if (spent < limit) return { action: "continue" };
        ctx.ui.notify(`the budget is used up: ${spent} of ${limit} tokens`, "error");
        return { action: "handled" };
    });

    pi.on("agent_start", () => {
        turns = 0;
    });
    pi.on("turn_end", (event, ctx) => {
        turns += 1;
        // A turn without calls is the last one anyway.
        if (event.toolResults.length === 0 || turns < Number(pi.getFlag("turns"))) return;
        ctx.ui.notify(`${turns} turns are enough`, "warning");
        ctx.abort();
    });
    pi.on("agent_end", (event) => {
        for (const message of event.messages) {
            if (message.role === "assistant") spent += message.usage.totalTokens;
        }
    });

    // `/quiet`: only tools that read, and nothing more after what is being done.
    pi.registerCommand("quiet", {
        description: "Let the model read and nothing else, then end",
        handler: async (_args, ctx) => {
            pi.setActiveTools(["read", "grep", "find", "ls"]);
            if (ctx.isIdle() && !ctx.hasPendingMessages()) {
                ctx.ui.notify("nothing is being done: the session ends");
            } else {
                const content = "Come to an end now.";
                pi.sendMessage({ customType: "budget", content, display: true }, { deliverAs: "steer" });
            }
            ctx.shutdown();
        },
    });
}
