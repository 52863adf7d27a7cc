// `ctx`: what handlers, tools and commands see of the session. Its members are asked for when somebody looks.

import { ask, askLater, inSession, notOver, report, room, signalOfNow } from "pi:host";

type About = { path: string; cwd: string; mode: string; hasUI: boolean; life: number };
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
export function see(call: string): any {
    inSession();
    return ask(call);
}

/** What the program says about the extension. */
export const about: About = ask("about");

/** The context that handlers are given. */
export const context = {
    get hasUI() {
        notOver();
        return ask("about").hasUI;
    },
    get mode() {
        notOver();
        return ask("about").mode;
    },
    get cwd() {
        notOver();
        return about.cwd;
    },
    get ui() {
        notOver();
        return room("pi:ui").ui;
    },
    get sessionManager() {
        notOver();
        return room("pi:session").sessionManager;
    },
    get modelRegistry() {
        notOver();
        return room("pi:models").modelRegistry;
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

/** A context with more members, getters as they are. */
export function extended(given: object, more: object): any {
    const all = Object.defineProperties({}, Object.getOwnPropertyDescriptors(given));
    return Object.defineProperties(all, Object.getOwnPropertyDescriptors(more));
}
