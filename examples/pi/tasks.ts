// Keeps the model at its list: as long as its answer has open boxes (`- [ ] …`), it must continue.
//
//     becket -e examples/pi/tasks.ts "Make a list of what is to do for the release, and do it"
//
// What a handler of `turn_end` returns is added to the session: `custom` for the extension alone, `custom_message` for
// the model as well. `continue` starts another turn.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const KIND = "tasks";
const ROUNDS = 5;

export default function (pi: ExtensionAPI) {
    let rounds = 0;

    pi.on("agent_start", () => {
        rounds = 0;
    });

    pi.on("turn_end", (event) => {
        if (event.message.role !== "assistant" || event.toolResults.length > 0) return;
        const words = event.message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
        const open = [...words.matchAll(/^\s*[-*] \[ \] (.+)$/gm)].map(([, task]) => task);
        if (open.length === 0 || ++rounds > ROUNDS) return;
        const tasks = open.map((task) => `- ${task}`).join("\n");
        const content = `Still open:\n${tasks}\nGo on with the first one.`;
        const list = { type: "custom" as const, customType: KIND, data: { open } };
        const word = { type: "custom_message" as const, customType: KIND, content, display: false };
        return { entries: [...event.entries, list, word], continue: true };
    });

    // `/tasks` shows what was open when the model last stopped to look.
    pi.registerCommand("tasks", {
        description: "Show the open tasks",
        handler: async (_args, ctx) => {
            const lists = ctx.sessionManager
                .getBranch()
                .filter((entry) => entry.type === "custom" && entry.customType === KIND);
            const open = (lists.at(-1) as any)?.data.open ?? [];
            ctx.ui.notify(open.length > 0 ? open.join("\n") : "nothing is open");
        },
    });
}
