// Keeps keys out of the conversation: out of tool output, the model's answers, and requests to the provider.
//
//     becket -e examples/pi/secrets.ts "Why does the login fail?"
//
// `tool_result` and `message_end` change what is stored, so that no later session finds a key either.
// `before_provider_request` is the last step: what it returns is sent.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

const KEYS = /\b(sk-[A-Za-z0-9_-]{16,}|ghp_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})/g;

const hide = (text: string): string => text.replace(KEYS, "[a key]");

function hidden<Part extends { type: string }>(content: Part[]): Part[] {
    return content.map((part: any) => (part.type === "text" ? { ...part, text: hide(part.text) } : part));
}

export default function (pi: ExtensionAPI) {
    pi.on("tool_result", (event) => ({ content: hidden(event.content) }));

    pi.on("message_end", (event) => {
        const { message } = event;
        if (message.role !== "assistant") return;
        return { message: { ...message, content: hidden(message.content) } };
    });

    // Whatever the user typed is theirs to keep, but it does not leave the machine.
    pi.on("before_provider_request", (event) => JSON.parse(hide(JSON.stringify(event.payload))));
}
