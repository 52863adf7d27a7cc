// `ctx`: what handlers, tools and commands see of the session. Its members are asked for when somebody looks.

import { ask, askLater, inSession, laterAsync, later, notOver, report, signalOfNow } from "pi:host";
import { modelRegistry } from "pi:models";
import { sessionManager } from "pi:session";
import { ui } from "pi:ui";

type About = { path: string; cwd: string; mode: string; hasUI: boolean };
type CompactOptions = {
    customInstructions?: string;
    onComplete?: (result: unknown) => void;
    onError?: (error: Error) => void;
};

/** Summarises without being waited for: its end is told to one of the two functions. */
async function compact(options: CompactOptions): Promise<void> {
    const { customInstructions, onComplete, onError } = options;
    try {
        const result = await askLater({ compact: { customInstructions } });
        onComplete?.(result);
    } catch (error) {
        if (onError === undefined) return report("compact", error);
        onError(error instanceof Error ? error : new Error(String(error)));
    }
}

/** What the program answers to a bare question, while there is a session. */
function see(call: string): any {
    inSession();
    return ask(call);
}

const base = {
    get ui() {
        notOver();
        return ui;
    },
    get sessionManager() {
        notOver();
        return sessionManager;
    },
    get modelRegistry() {
        notOver();
        return modelRegistry;
    },
    get model() {
        return see("model");
    },
    get thinkingLevel() {
        return see("get_thinking_level");
    },
    get signal() {
        return see("is_idle") ? undefined : signalOfNow();
    },
    get scopedModels() {
        notOver();
        // Empty means in pi that nothing narrows down which models can be chosen.
        return [];
    },
    isIdle: (): boolean => see("is_idle"),
    isProjectTrusted: (): boolean => see("is_project_trusted"),
    abort: (): void => see("abort"),
    shutdown: (): void => see("shutdown"),
    hasPendingMessages: (): boolean => see("has_pending_messages"),
    getContextUsage: (): unknown => see("get_context_usage"),
    getSystemPrompt: (): string => see("get_system_prompt"),
    compact(options: CompactOptions = {}): void {
        inSession();
        void compact(options);
    },
};

const forTools = {
    get tools() {
        return see("get_all_tools");
    },
    executeTool: laterAsync("ctx.executeTool"),
};

const forCommands = {
    waitForIdle: async (): Promise<void> => {
        inSession();
        await askLater("wait_for_idle");
    },
    newSession: laterAsync("ctx.newSession"),
    fork: laterAsync("ctx.fork"),
    navigateTree: laterAsync("ctx.navigateTree"),
    switchSession: laterAsync("ctx.switchSession"),
    reload: laterAsync("ctx.reload"),
    getSystemPromptOptions: later("ctx.getSystemPromptOptions"),
};

/** An object with the members of several, getters as they are. */
function joined(...parts: object[]): any {
    const all = {};
    for (const part of parts) Object.defineProperties(all, Object.getOwnPropertyDescriptors(part));
    return all;
}

/** The three kinds of context that one extension is given. */
export function contexts(about: About) {
    const place = {
        get hasUI() {
            notOver();
            return about.hasUI;
        },
        get mode() {
            notOver();
            return about.mode;
        },
        get cwd() {
            notOver();
            return about.cwd;
        },
    };
    const event = joined(base, place);
    return { event, tool: joined(event, forTools), command: joined(event, forCommands) };
}
