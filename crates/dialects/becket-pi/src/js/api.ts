// `pi`: what an extension's factory is given.

import { getFlag, registerCommand, registerFlag, registerShortcut } from "pi:commands";
import { on } from "pi:events";
import { ask, askLater, askUntil, inSession, mustBe, notOver, report, room } from "pi:host";
import { registerTool } from "pi:tools";

/** How things are drawn. Kept for a front that draws; elsewhere nobody asks for them. */
export const renderers = {
    messages: new Map<string, unknown>(),
    entries: new Map<string, unknown>(),
    tools: [] as Resolver[],
    markdown: [] as Transformer[],
};

/** What draws a tool; functions of pi's renderers. */
type Drawn = { renderCall?: unknown; renderResult?: unknown } | undefined;
type Resolver = (tool: string, next: () => Drawn) => Drawn;
type Transformer = (markdown: string, context: object) => unknown;

/** Says something to the model. What stands against it is reported, and not the caller's business. */
function say(event: string, call: Record<string, unknown>): void {
    inSession();
    try {
        ask(call);
    } catch (error) {
        report(event, error);
    }
}

function see(call: Parameters<typeof ask>[0]): any {
    inSession();
    return ask(call);
}

/** When a message is to be delivered; as in pi, whatever else is said means that nothing is said. */
const delivered = (how: unknown): unknown => ["steer", "followUp", "nextTurn"].find((known) => known === how);

function namesOf(names: unknown): string[] {
    if (!Array.isArray(names)) throw new TypeError("setActiveTools: a list of names is needed");
    return names.map(String);
}

/** pi's API. */
export const api: Record<string, unknown> = {
    on,
    registerTool,
    registerCommand,
    registerShortcut,
    registerFlag,
    getFlag,
    registerProvider: (name: string, config: any): void => room("pi:providers").registerProvider(name, config),
    unregisterProvider: (name: string): void => room("pi:providers").unregisterProvider(name),
    registerVirtualModel: (model: any): void => room("pi:virtual-models").registerVirtualModel(model),
    unregisterVirtualModel: (provider: string, id: string): void =>
        room("pi:virtual-models").unregisterVirtualModel(provider, id),
    get events() {
        return room("pi:bus").events;
    },
    registerMessageRenderer(type: string, renderer: unknown): void {
        notOver();
        ask({ register_renderer: { customType: String(type) } });
        renderers.messages.set(type, renderer);
    },
    registerEntryRenderer(type: string, renderer: unknown): void {
        notOver();
        renderers.entries.set(type, renderer);
    },
    registerToolRenderer(resolver: Resolver): void {
        notOver();
        if (renderers.tools.length === 0) ask("resolve_renderers");
        renderers.tools.push(resolver);
    },
    registerMarkdownTransformer(transformer: Transformer): void {
        notOver();
        if (renderers.markdown.length === 0) ask("transform_markdown");
        renderers.markdown.push(transformer);
    },
    sendMessage(message: any, options: any = {}): void {
        const { customType, content = "", display = false, details } = message ?? {};
        const deliverAs = delivered(options?.deliverAs);
        const triggerTurn = options?.triggerTurn === undefined ? undefined : Boolean(options.triggerTurn);
        const sent = { customType: String(customType), content, display: Boolean(display), details };
        say("send_message", { send_message: { message: sent, triggerTurn, deliverAs } });
    },
    sendUserMessage(content: unknown, options: any = {}): void {
        const deliverAs = delivered(options?.deliverAs);
        const expands = Boolean(options?.expandPromptTemplates);
        say("send_user_message", { send_user_message: { content, deliverAs, expandPromptTemplates: expands } });
    },
    appendEntry(customType: string, data?: unknown): void {
        mustBe("string", customType, "appendEntry: the type");
        see({ append_entry: { customType, data } });
        if (renderers.entries.has(customType)) room("pi:renderers").showEntry(customType, data);
    },
    setSessionName: (name: string): void => see({ set_session_name: { name: String(name) } }),
    getSessionName: (): string | undefined => see("session").name ?? undefined,
    setLabel: (entryId: string, label?: string): void => see({ set_label: { entryId, label } }),
    getActiveTools: (): string[] => see("get_active_tools"),
    setActiveTools: (names: string[]): void => see({ set_active_tools: { names: namesOf(names) } }),
    getAllTools: (): unknown[] => see("get_all_tools"),
    getCommands: (): unknown[] => see("get_commands"),
    async setModel(model: { provider: string; id: string }): Promise<boolean> {
        inSession();
        const { provider, id } = model ?? {};
        mustBe("string", id, "setModel: the model's id");
        return askLater({ set_model: { provider, id } });
    },
    getSettings(): unknown {
        inSession();
        const { SettingsManager } = room("pi:agent-settings");
        return SettingsManager.create().settings(ask("is_project_trusted"));
    },
    registerMcpServer(name: string, config: unknown): void {
        notOver();
        mustBe("string", name, "registerMcpServer: the name");
        ask({ register_mcp_server: { name, config } });
    },
    unregisterMcpServer(name: string): void {
        notOver();
        ask({ unregister_mcp_server: { name: String(name) } });
    },
    getMcpServers: (): unknown[] => ask("mcp_servers"),
    getThinkingLevel: (): string => see("get_thinking_level"),
    setThinkingLevel: (level: string): void => see({ set_thinking_level: { level: String(level) } }),
    async exec(command: string, args: string[] = [], options: any = {}): Promise<unknown> {
        notOver();
        mustBe("string", command, "exec: the command");
        const { cwd, timeout, signal } = options;
        return askUntil(signal, (id) => ({ exec: { id, command, args: args.map(String), cwd, timeout } }));
    },
};
