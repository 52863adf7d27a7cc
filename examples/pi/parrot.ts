// A provider of models without a network: a parrot that says what it was told.
//
//     becket -e examples/pi/parrot.ts --model parrot/polly "hello there"
//
// `streamSimple` gets the model, the conversation and the options, and returns a stream of events. A real provider
// does the same with `fetch` in the middle, and calls `onPayload` before it sends, so that hooks see the body.

import { type AssistantMessage, createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import type { ExtensionAPI, ProviderConfig } from "@mariozechner/pi-coding-agent";

function wordsOf(content: any): string {
    if (typeof content === "string") return content;
    return content.filter((part: any) => part.type === "text").map((part: any) => part.text).join(" ");
}

/** A bird that repeats what it hears, after a word of its own. */
function bird(id: string, first: string): ProviderConfig {
    return {
        baseUrl: "parrot://perch",
        apiKey: "a-cracker",
        api: "parrot-speech" as any,
        models: [
            {
                id,
                name: id,
                reasoning: false,
                input: ["text"],
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
                contextWindow: 8000,
                maxTokens: 1000,
            },
        ],
        streamSimple(model, context, options) {
            const stream = createAssistantMessageEventStream();
            const message: AssistantMessage = {
                role: "assistant",
                content: [],
                api: model.api,
                provider: model.provider,
                model: model.id,
                usage: {
                    input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0,
                    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
                },
                stopReason: "stop",
                timestamp: Date.now(),
            };
            void speak();
            return stream;

            async function speak(): Promise<void> {
                const heard = [...context.messages].reverse().find((said) => said.role === "user");
                const payload: any = { say: heard ? wordsOf(heard.content) : "nothing" };
                const sent: any = (await options?.onPayload?.(payload, model)) ?? payload;
                const text = { type: "text" as const, text: "" };
                message.content.push(text);
                stream.push({ type: "start", partial: message });
                stream.push({ type: "text_start", contentIndex: 0, partial: message });
                for (const word of `${first}: ${sent.say}`.split(/(?<= )/)) {
                    if (options?.signal?.aborted) {
                        message.stopReason = "aborted";
                        stream.push({ type: "error", reason: "aborted", error: message });
                        return stream.end();
                    }
                    text.text += word;
                    stream.push({ type: "text_delta", contentIndex: 0, delta: word, partial: message });
                }
                stream.push({ type: "text_end", contentIndex: 0, content: text.text, partial: message });
                stream.push({ type: "done", reason: "stop", message });
                stream.end();
            }
        },
    };
}

export default function (pi: ExtensionAPI) {
    pi.registerProvider("parrot", bird("polly", "You said"));

    // `/parrot` changes to it in the middle of a session.
    pi.registerCommand("parrot", {
        description: "Let the parrot answer from now on",
        handler: async (_args, ctx) => {
            const polly = ctx.modelRegistry.find("parrot", "polly");
            const chosen = polly !== undefined && (await pi.setModel(polly));
            if (chosen) ctx.ui.notify("the parrot answers");
            else ctx.ui.notify("the parrot has flown away", "error");
        },
    });

    // A parrot has no hands: while it answers, no tools are offered.
    pi.on("model_select", (event) => {
        const was = event.previousModel?.provider;
        if (event.model.provider === "parrot") pi.setActiveTools([]);
        else if (was === "parrot") pi.setActiveTools(["read", "bash", "edit", "write"]);
    });

    // `/hatch NAME` brings another one, `/release` opens the cage. Only the one that is speaking says its last words.
    pi.registerCommand("hatch", {
        description: "Get a young parrot",
        handler: async (args, ctx) => {
            const name = args.trim() || "chick";
            ctx.modelRegistry.registerProvider("nest", bird(name, "Squeak"));
            const young = ctx.modelRegistry.find("nest", name);
            if (young !== undefined) await pi.setModel(young);
        },
    });
    pi.registerCommand("release", {
        description: "Let the parrots fly",
        handler: async (_args, ctx) => {
            pi.unregisterProvider("parrot");
            ctx.modelRegistry.unregisterProvider("nest");
            const birds = ["parrot", "nest"];
            const left = ctx.modelRegistry.getAll().filter((model) => birds.includes(model.provider));
            ctx.ui.notify(`parrots left: ${left.map((model) => model.id).join(", ") || "none"}`);
        },
    });
}
