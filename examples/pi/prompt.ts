// Prompts that say more than was typed, and a model that hears less than was said.
//
//     becket -e examples/pi/prompt.ts "?short how do I squash two commits"
//
// `input` changes or answers what the person typed, `before_agent_start` adds to the system prompt, `context` decides
// what the model sees of the conversation.

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

    // The session began on some day; the model should know which one it is now.
    pi.on("before_agent_start", (event, ctx) => ({
        systemPrompt: `${event.systemPrompt}\n\nIt is ${new Date().toDateString()}. You work in ${ctx.cwd}.`,
    }));

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

    // What a request really holds, for the curious: `becket --prompt-log -e …`.
    pi.registerFlag("prompt-log", { type: "boolean", default: false, description: "Tell sizes of requests" });
    pi.on("before_provider_request", (event, ctx) => {
        if (!pi.getFlag("prompt-log")) return;
        ctx.ui.notify(`request of ${JSON.stringify(event.payload).length} characters`);
    });
    pi.on("after_provider_response", (event, ctx) => {
        if (event.status >= 400) ctx.ui.notify(`the provider answered ${event.status}`, "error");
    });
}
