// Several calls in one: the model reads five files in one turn instead of five. `/batch` shows what else a session
// offers.
//
//     becket -e examples/pi/batch.ts "/batch"
//
// A call within a call goes through the same guards as any other; a refusal is a result, like a failure.

import { Type } from "typebox";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const call = Type.Object({
    tool: Type.String({ description: "The tool's name" }),
    arguments: Type.Any({ description: "Its arguments" }),
});

export default function (pi: ExtensionAPI) {
    let told = 0;

    pi.registerTool({
        name: "batch",
        label: "Batch",
        description: "Make several calls of other tools one after the other, and read all results at once.",
        parameters: Type.Object({ calls: Type.Array(call) }),
        async execute(_id, { calls }, signal, _onUpdate, ctx) {
            const results: string[] = [];
            for (const { tool, arguments: args } of calls) {
                const { result, isError } = await ctx.executeTool(tool, args, { signal });
                const text = result.content.map((part: any) => part.text ?? "").join("\n");
                results.push(`${tool}${isError ? " failed" : ""}:\n${text}`);
            }
            return { content: [{ type: "text", text: results.join("\n\n") }], details: { calls: calls.length } };
        },
    });

    pi.on("context_with_system", (event) => {
        const isSystem = (message: any) => message.role === "system";
        told = JSON.stringify(event.messages.filter(isSystem)).length;
    });

    /** The words of an answer as they arrive. */
    async function words(stream: AsyncIterable<any>): Promise<string> {
        let text = "";
        for await (const event of stream) if (event.type === "text_delta") text += event.delta;
        return text;
    }

    pi.registerCommand("batch", {
        description: "Show what there is to work with",
        handler: async (_args, ctx) => {
            const { model } = ctx;
            const registry = ctx.modelRegistry as any;
            const lines = [`theme: ${pi.getSettings().theme ?? "none"}`];
            const names = () => pi.getMcpServers().map((server) => server.name).join(", ") || "none";
            pi.registerMcpServer("notes", { command: "notes-server" });
            lines.push(`servers: ${names()}`);
            pi.unregisterMcpServer("notes");
            lines.push(`servers then: ${names()}`);

            registry.registerVirtualModel({ provider: "batch", id: "same", route: () => ({ model }) });
            const { models } = registry.getRegisteredProviderConfig("batch") ?? { models: [] };
            lines.push(`own models: ${models.length} of ${registry.getRegisteredProviderIds().join(", ")}`);
            registry.unregisterVirtualModel("batch", "same");
            lines.push(`own models then: ${registry.getRegisteredProviderIds().length}`);

            const { provider = "", id = "" } = model ?? {};
            lines.push(`requests carry: ${(await registry.getProviderAuth(provider))?.auth.apiKey ?? "no key"}`);
            lines.push(`its provider's models: ${registry.getProvider(provider)?.getModels().length}`);
            const found = [registry.findOfType("chat", provider, id), registry.getModelOfType("chat", provider, id)];
            lines.push(`found: ${found.map((one) => one?.id === id).join(" and ")}`);
            const chats = registry.getModelsOfType("chat", provider);
            const usable = await registry.getAvailableOfType("chat", provider);
            lines.push(`chat models: ${chats.length}, ${usable.length} can be used`);
            pi.registerProvider({ id: "echo", name: "Echo", auth: {}, getModels: () => [], streamSimple() {} } as any);
            lines.push(`as a whole: ${registry.getRegisteredNativeProvider("echo")?.name}`);
            pi.unregisterProvider("echo");

            const entries = (ctx.sessionManager as any).buildContextEntries?.() ?? [];
            lines.push(`the model sees ${entries.length} entries and ${told > 0 ? "a" : "no"} system prompt`);
            lines.push(`there is a key: ${model !== undefined && registry.authStorage?.hasAuth(model.provider)}`);
            if (entries.length > 0) {
                const messages = [{ role: "user", content: "Say one word.", timestamp: Date.now() }];
                lines.push(`one word: ${await words(registry.stream(model, { messages }))}`);
                lines.push(`another: ${await words(registry.streamSimple(model, { messages }))}`);
            }
            ctx.ui.notify(lines.join("\n"));
        },
    });
}
