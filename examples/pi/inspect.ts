// `/inspect`: what the session knows about itself. `/inspect session`, `models`, `keys` or `prompt` shows a part of it.
//
//     becket -e examples/pi/inspect.ts "/inspect"
//
// Everything here only reads. The session is a tree of entries; the branch is the path from its root to here.

import { Type } from "typebox";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

type Part = (ctx: ExtensionContext) => string[] | Promise<string[]>;

const PARTS: Record<string, Part> = {
    session(ctx) {
        const kinds = new Map<string, number>();
        for (const { type } of ctx.sessionManager.getEntries()) kinds.set(type, (kinds.get(type) ?? 0) + 1);
        const leaf = ctx.sessionManager.getLeafId();
        // Versions of pi differ in where this is.
        const context = (ctx.sessionManager as any).buildSessionContext?.();
        return [
            `session ${ctx.sessionManager.getSessionId()}`,
            `begun: ${ctx.sessionManager.getHeader()?.timestamp ?? "now"}`,
            `name: ${ctx.sessionManager.getSessionName() ?? "none"}`,
            `file: ${ctx.sessionManager.getSessionFile() ?? "none"} in ${ctx.sessionManager.getSessionDir()}`,
            `works in ${ctx.sessionManager.getCwd()}`,
            `entries: ${[...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ") || "none"}`,
            `in all: ${(ctx.sessionManager as any).getEntryCount?.()}`,
            `roots: ${ctx.sessionManager.getTree().length}, stands at ${leaf ?? "its beginning"}`,
            `last entry: ${leaf === null ? "none" : ctx.sessionManager.getEntry(leaf)?.type}`,
            `the model sees ${context?.messages.length} messages`,
            `a run can be cancelled: ${ctx.signal === undefined ? "nothing runs" : "yes"}`,
        ];
    },
    models(ctx) {
        const usable = ctx.modelRegistry.getAvailable().length;
        const { model } = ctx;
        const provider = model?.provider ?? "nobody";
        const status = model && ctx.modelRegistry.hasConfiguredAuth(model) ? "can be used" : "has no key";
        return [
            `model: ${ctx.model?.id ?? "none"}, ${status}`,
            `provider: ${ctx.modelRegistry.getProviderDisplayName(provider)}`,
            `logged in: ${model !== undefined && ctx.modelRegistry.isUsingOAuth(model)}`,
            `its key: ${JSON.stringify(ctx.modelRegistry.getProviderAuthStatus(provider))}`,
            `thinks: ${ctx.thinkingLevel}`,
            `models: ${ctx.modelRegistry.getAll().length}, ${usable} can be used`,
            `chosen from: ${ctx.scopedModels?.length || "all"}`,
            `problems: ${ctx.modelRegistry.getError() ?? "none"}`,
        ];
    },
    // Where pi shows the key itself, becket shows that there is one.
    async keys(ctx) {
        const { model } = ctx;
        if (model === undefined) return ["no model, no key"];
        await ctx.modelRegistry.refresh();
        const headers = await ctx.modelRegistry.getApiKeyAndHeaders(model);
        return [
            `the model's key: ${await (ctx.modelRegistry as any).getApiKey(model)}`,
            `its provider's: ${await ctx.modelRegistry.getApiKeyForProvider(model.provider)}`,
            `for requests: ${headers.ok ? headers.apiKey : headers.error}`,
        ];
    },
    prompt(ctx) {
        return ctx.getSystemPrompt().split("\n");
    },
};

export default function (pi: ExtensionAPI) {
    pi.registerCommand("inspect", {
        description: "Show what the session knows about itself",
        getArgumentCompletions: (prefix) => {
            const fitting = Object.keys(PARTS).filter((part) => part.startsWith(prefix));
            return fitting.map((part) => ({ value: part, label: part }));
        },
        handler: async (args, ctx) => {
            const wanted = args.trim();
            if (wanted !== "" && !(wanted in PARTS)) throw new Error(`there is no part "${wanted}"`);
            const parts = wanted === "" ? ["session", "models"] : [wanted];
            const lines = await Promise.all(parts.map((part) => PARTS[part](ctx)));
            ctx.ui.notify(lines.flat().join("\n"));
        },
    });

    // The same for the model, about itself: which tools it has.
    pi.registerTool({
        name: "my_tools",
        label: "My tools",
        description: "List the tools that you have, with the number of arguments of each.",
        parameters: Type.Object({}),
        async execute(_id, _params, _signal, _onUpdate, ctx) {
            // Newer versions of pi show tools their colleagues; older ones ask the session.
            const tools: readonly any[] = ctx.tools ?? pi.getAllTools();
            const size = (tool: any) => Object.keys(tool.parameters?.properties ?? {}).length;
            const lines = tools.map((tool) => `${tool.name}: ${size(tool)}`);
            lines.push(`cancelled: ${ctx.signal?.aborted}`);
            return { content: [{ type: "text", text: lines.join("\n") }], details: { tools: tools.length } };
        },
    });

    // Asks a model about the session, outside of it. becket adds the key, so none is needed here.
    pi.registerCommand("title", {
        description: "Let the model find a name for the session",
        handler: async (_args, ctx) => {
            const { model } = ctx;
            if (model === undefined) return ctx.ui.notify("nobody to ask", "warning");
            const content = `Find a name of three words for a session like this:\n${ctx.getSystemPrompt()}`;
            const messages = [{ role: "user" as const, content, timestamp: Date.now() }];
            const answer = await ctx.modelRegistry.complete(model, { messages }, { signal: ctx.signal });
            const words = answer.content.map((part) => (part.type === "text" ? part.text : ""));
            const name = words.join("").trim();
            if (name === "") return ctx.ui.notify(answer.errorMessage ?? "the model found none", "warning");
            pi.setSessionName(name);
            ctx.ui.notify(`the session is called ${name}`);
        },
    });
}
