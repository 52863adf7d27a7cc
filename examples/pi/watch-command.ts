// A tool that shows what it does while it does it: it runs a command again and again until its output holds a text.
//
//     becket -e examples/pi/watch-command.ts "Wait until the server on port 8080 answers"
//
// `onUpdate` shows parts of a result, `signal` tells when nobody wants it any more, `details` are for programs and
// never for the model. A tool fails by throwing.

import { Type } from "@sinclair/typebox";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    pi.registerTool({
        name: "watch_command",
        label: "Watch a command",
        description: "Run a program every second until its output contains a text, and return that output.",
        promptSnippet: "wait for a program to print something",
        promptGuidelines: ["Use watch_command instead of a shell loop with sleep."],
        parameters: Type.Object({
            program: Type.String({ description: "The program to run" }),
            arguments: Type.Optional(Type.Array(Type.String())),
            until: Type.String({ description: "The text to wait for" }),
            attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 })),
        }),
        executionMode: "parallel",
        // Models that saw an earlier version of this tool write `command` for `program`.
        prepareArguments: (args: any) => ({ ...args, program: args.program ?? args.command }),

        async execute(toolCallId, params, signal, onUpdate, ctx) {
            const attempts = params.attempts ?? 10;
            for (let attempt = 1; attempt <= attempts; attempt++) {
                if (signal?.aborted) throw new Error("cancelled");
                const run = await pi.exec(params.program, params.arguments ?? [], {
                    signal, timeout: 30_000, cwd: ctx.cwd,
                });
                const output = run.stdout + run.stderr;
                const details = { attempt, code: run.code, call: toolCallId };
                if (output.includes(params.until)) {
                    return { content: [{ type: "text", text: output }], details };
                }
                onUpdate?.({ content: [{ type: "text", text: `attempt ${attempt}: not yet` }], details });
                await new Promise((resolve) => setTimeout(resolve, 1000));
            }
            throw new Error(`after ${attempts} attempts there was still no "${params.until}"`);
        },
    });

    // What a tool gave can be changed on its way to the model, failures too.
    pi.on("tool_result", (event) => {
        if (event.toolName !== "watch_command" || !event.isError) return;
        const advice = { type: "text" as const, text: "Ask the user whether the program runs at all." };
        return { content: [...event.content, advice] };
    });
}
