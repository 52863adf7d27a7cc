// A provider that plays a script, and a tool, for pi and for becket: what the model sees is written down.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";

export default function (pi: any) {
    const turns = JSON.parse(readFileSync("script.json", "utf8"));
    let next = 0;
    const streamSimple = (model: any, context: any, options: any) => {
        const stream = createAssistantMessageEventStream();
        const seen = context.messages.map((message: any) => [message.role, message.content]);
        appendFileSync("seen.jsonl", `${JSON.stringify(seen)}\n`);
        const turn = turns[Math.min(next++, turns.length - 1)];
        const output: any = {
            role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id,
            usage: {
                input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15,
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
            },
            stopReason: "stop", timestamp: Date.now(),
        };
        (async () => {
            stream.push({ type: "start", partial: output });
            if (options?.signal?.aborted) {
                output.stopReason = "aborted"; output.errorMessage = "Request was aborted";
                stream.push({ type: "error", reason: "aborted", error: output }); stream.end(); return;
            }
            if (turn.error) {
                output.stopReason = "error"; output.errorMessage = turn.error;
                stream.push({ type: "error", reason: "error", error: output }); stream.end(); return;
            }
            if (turn.say) {
                output.content.push({ type: "text", text: "" });
                stream.push({ type: "text_start", contentIndex: 0, partial: output });
                for (const piece of turn.say.match(/.{1,4}/g)) {
                    output.content[0].text += piece;
                    stream.push({ type: "text_delta", contentIndex: 0, delta: piece, partial: output });
                }
                stream.push({ type: "text_end", contentIndex: 0, content: turn.say, partial: output });
            }
            if (turn.hang) {
                // Until somebody ends it.
                await new Promise((ended) => options.signal.addEventListener("abort", ended));
                output.stopReason = "aborted"; output.errorMessage = "Request was aborted";
                stream.push({ type: "error", reason: "aborted", error: output }); stream.end(); return;
            }
            for (const call of turn.calls ?? []) {
                const at = output.content.length;
                const toolCall = { type: "toolCall", id: call.id, name: call.name, arguments: call.arguments };
                output.content.push(toolCall);
                stream.push({ type: "toolcall_start", contentIndex: at, partial: output });
                const delta = JSON.stringify(call.arguments);
                stream.push({ type: "toolcall_delta", contentIndex: at, delta, partial: output });
                stream.push({ type: "toolcall_end", contentIndex: at, toolCall, partial: output });
                output.stopReason = "toolUse";
            }
            stream.push({ type: "done", reason: output.stopReason, message: output });
            stream.end();
        })();
        return stream;
    };
    pi.registerProvider("lab", {
        baseUrl: "http://127.0.0.1:9", apiKey: "key", api: "lab-api", streamSimple,
        models: ["one", "two"].map((id) => ({
            id, name: id, reasoning: true, input: ["text"], contextWindow: 100000, maxTokens: 1000,
            cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        })),
    });
    pi.registerTool({
        name: "shout", label: "Shout", description: "Shouts.",
        parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        async execute(_id: string, params: any, _signal: any, onUpdate: any) {
            onUpdate?.({ content: [{ type: "text", text: "deep breath" }], details: { part: 1 } });
            while (params.text === "wait" && !existsSync("go")) await new Promise((done) => setTimeout(done, 20));
            const { text } = params;
            return { content: [{ type: "text", text: text.toUpperCase() }], details: { length: text.length } };
        },
    });
}
