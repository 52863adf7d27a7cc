// A transcript that is written while things happen: `tail -f` it in another window.
//
//     becket -e examples/pi/transcript.ts --transcript session.md "Say hello"
//
// These events only observe: what their handlers return has no effect.

import { appendFileSync } from "node:fs";
import { resolve } from "node:path";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

function wordsOf(content: any): string {
    if (typeof content === "string") return content;
    return content.map((part: any) => part.text ?? `[${part.type}]`).join("");
}

export default function (pi: ExtensionAPI) {
    let file: string | undefined;
    const printed = new Map<string, string>();
    const write = (text: string) => {
        if (file !== undefined) appendFileSync(file, text);
    };

    pi.registerFlag("transcript", { type: "string", description: "Write what happens into this file" });

    pi.on("session_start", (event, ctx) => {
        const wanted = pi.getFlag("transcript");
        if (typeof wanted === "string") file = resolve(ctx.cwd, wanted);
        write(`# A session (${event.reason})\n`);
    });
    // Versions of pi since 0.80 have this one.
    pi.on("session_info_changed" as any, (event: any) => write(`\n# ${event.name}\n`));
    // Versions of pi before 0.65 have this one instead of a new `session_start`.
    pi.on("session_switch" as any, (event: any) => write(`\n# Another session (${event.reason})\n`));

    pi.on("turn_start", (event) => write(`\n## Turn ${event.turnIndex + 1}\n`));

    pi.on("message_start", ({ message }) => {
        if (message.role === "user" || message.role === "assistant") write(`\n**${message.role}**: `);
    });
    pi.on("message_update", ({ assistantMessageEvent: update }) => {
        if (update.type === "text_delta") write(update.delta);
    });
    pi.on("message_end", ({ message }) => {
        if (message.role === "user") write(wordsOf(message.content));
        if (message.role === "user" || message.role === "assistant") write("\n");
    });

    pi.on("tool_execution_start", (event) => {
        write(`\n- \`${event.toolName}\` ${JSON.stringify(event.args)}\n`);
    });
    pi.on("tool_execution_update", (event) => {
        printed.set(event.toolCallId, wordsOf(event.partialResult.content));
    });
    pi.on("tool_execution_end", (event) => {
        const lines = (printed.get(event.toolCallId) ?? "").trimEnd().split("\n");
        printed.delete(event.toolCallId);
        write(`  ${event.isError ? "failed" : "done"}; printed: ${lines.at(-1) || "nothing"}\n`);
    });

    pi.on("session_shutdown", (event) => write(`\nThe session ended (${event.reason}).\n`));
}
