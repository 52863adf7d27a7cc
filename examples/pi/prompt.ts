// Prompts that say more than you typed, and a model that sees less than was said.
//
//     becket -e examples/pi/prompt.ts "?short how do I squash two commits"
//
// `input` changes or answers what the user typed, `before_agent_start` adds to the system prompt and to the
// conversation, `context` decides what the model sees of it.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

const PREFIXES: Record<string, string> = {
    "?short ": "Answer in at most three sentences: ",
    "?why ": "Explain the reasons step by step: ",
};

export default function (pi: ExtensionAPI) {
    pi.on("input", (event, ctx) => {
        if (event.text.trim() === "ping") {
            ctx.ui.notify("pong");
            return { action: "handled" };
        }
        for (const [prefix, words] of Object.entries(PREFIXES)) {
            if (event.text.startsWith(prefix)) {
                return { action: "transform", text: words + event.text.slice(prefix.length) };
            }
        }
        return { action: "continue" };
    });

    // The session began on some day and with some files; the model should know how things are now.
    pi.on("before_agent_start", async (event, ctx) => {
        const today = new Date().toDateString();
        const systemPrompt = `${event.systemPrompt}\n\nIt is ${today}. You work in ${ctx.cwd}.`;
        const status = await pi.exec("git", ["status", "--short"], { cwd: ctx.cwd, timeout: 5000 });
        if (status.code !== 0 || status.stdout === "") return { systemPrompt };
        const content = `Not committed yet:\n${status.stdout}`;
        return { systemPrompt, message: { customType: "git-status", content, display: false } };
    });

    // Old outputs of tools are long and no longer true: the model sees their first lines only.
    pi.on("context", (event) => {
        const recent = event.messages.slice(-10);
        const old = event.messages.slice(0, -10).map((message: any) => {
            if (message.role !== "toolResult") return message;
            const content = message.content.map((part: any) =>
                part.type === "text" && part.text.length > 400
                    ? { ...part, text: `${part.text.slice(0, 400)}\n[shortened]` }
                    : part,
            );
            return { ...message, content };
        });
        return { messages: [...old, ...recent] };
    });
}
