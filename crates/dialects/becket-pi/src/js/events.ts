// `pi.on`: handlers of events. The program calls them by their numbers, with the fields of the event.

import { ask, drop, keep, mustBe, notOver, room, signalOfNow } from "pi:host";

type Handler = (event: any, ctx: unknown) => unknown;

/** What an event has that is no data, and what an answer holds that is none. */
type Shape = {
    enter?: (event: any) => void;
    leave?: (answer: any, event: any) => unknown;
    fail?: (error: unknown) => never;
    context?: () => unknown;
};

function withSignal(event: any): void {
    Object.defineProperty(event, "signal", { configurable: true, enumerable: true, get: signalOfNow });
}

/** A field that is asked for when somebody looks, once. */
function onDemand(event: any, name: string, find: () => any): void {
    const set = (value: any): any => {
        Object.defineProperty(event, name, { configurable: true, enumerable: true, writable: true, value });
        return value;
    };
    Object.defineProperty(event, name, { configurable: true, enumerable: true, get: () => set(find()), set });
}

/** The options of an event as they were when its handler looked at them, in JSON. */
const looked = new WeakMap<object, string>();

/** What the system prompt is made of, for those who write about it or change it. */
function withOptions(event: any): void {
    onDemand(event, "systemPromptOptions", () => {
        const options = ask("system_prompt_options");
        looked.set(event, JSON.stringify(options));
        return options;
    });
}

/** An answer with what its handler has changed in place: more of the system prompt, or another choice of tools. */
function rewritten(answer: any, event: any): unknown {
    const before = looked.get(event);
    if (before === undefined) return answer;
    const options = event.systemPromptOptions ?? {};
    if (JSON.stringify(options) === before) return answer;
    const { selectedTools, sections = {}, appendSystemPrompt, forceSystemPrompt } = options;
    const chosen = JSON.stringify(selectedTools);
    if (chosen !== undefined && chosen !== JSON.stringify(JSON.parse(before).selectedTools)) {
        ask({ set_active_tools: { names: Array.from(selectedTools, String) } });
    }
    const tagged = Object.entries(sections).filter(([, text]) => text)
        .map(([tag, text]) => `<${tag}>\n${text}\n</${tag}>`);
    const added = appendSystemPrompt ? [appendSystemPrompt, ...tagged] : tagged;
    // A prompt that nobody has written is written anew when the tools change.
    if (added.length === 0 && forceSystemPrompt === undefined) return answer;
    const prompt = forceSystemPrompt ?? answer?.systemPrompt ?? event.systemPrompt;
    return { message: answer?.message, systemPrompt: [prompt, ...added].join("\n\n") };
}

/** The system prompt before the messages, for those who want to see all that the model does. */
function withSystem(event: any): void {
    event.messages.unshift({ role: "system", content: ask("get_system_prompt") ?? "", timestamp: 0 });
}

/** Messages without the system prompt, which is not changed here. */
function withoutSystem(answer: any, event: any): unknown {
    const others = (messages: any) => messages?.filter?.((message: any) => message?.role !== "system");
    event.messages = others(event.messages);
    return answer?.messages === undefined ? answer : { ...answer, messages: others(answer.messages) };
}

/** The conversation as it stands when a turn is over, for those who decide whether it goes on. */
function withContext(event: any): void {
    onDemand(event, "context", () => {
        const context = ask("boundary_context");
        const llmMessages = room("pi:agent-text").convertToLlm(context.contextMessages);
        return { ...context, llmMessages, canContinue: event.outcome === "completed" };
    });
}

/** pi keeps the files of a conversation in sets. */
function withSets(event: any): void {
    withSignal(event);
    const files = event.preparation?.fileOps;
    for (const kind in files) if (Array.isArray(files[kind])) files[kind] = new Set(files[kind]);
}

/**
 * What a guard says, read as pi reads it: by looking at the answer. Written as JSON, a getter, a prototype or a proxy
 * would lose a refusal on the way.
 */
function verdict(answer: any): unknown {
    if (answer instanceof Error) throw answer;
    if (answer === null || (typeof answer !== "object" && typeof answer !== "function")) return answer;
    const { block, reason } = answer;
    return { block: typeof block === "boolean" || block === undefined ? block : Boolean(block), reason };
}

/** What a guard throws is what the model reads; something that is no error says so. */
function refusal(error: unknown): never {
    if (error instanceof Error) throw error;
    throw new Error(`Extension failed, blocking execution: ${String(error)}`);
}

/** An answer of `user_bash` with handles in place of its functions. */
function withHandles(answer: any): unknown {
    return answer?.operations ? room("pi:run-shell").withHandles(answer) : answer;
}

/** What a handler of `project_trust` sees: there is no session yet, and nobody who could be asked. */
function beforeSession(): unknown {
    const { cwd, mode } = room("pi:context").about;
    const nothing = async (): Promise<undefined> => undefined;
    const ui = {
        select: nothing,
        input: nothing,
        confirm: async () => false,
        notify: (text: unknown, kind?: string) => room("pi:ui").ui.notify(text, kind),
    };
    return { cwd, mode, hasUI: false, ui };
}

const SHAPES: Record<string, Shape | undefined> = {
    tool_call: { leave: verdict, fail: refusal },
    before_agent_start: { enter: withOptions, leave: rewritten },
    context_with_system: { enter: withSystem, leave: withoutSystem },
    project_trust: { context: beforeSession },
    turn_end: { enter: withContext },
    agent_before_settle: { enter: withContext },
    session_before_compact: { enter: withSets },
    session_before_tree: { enter: withSignal },
    user_bash: { leave: withHandles },
};

/** Keeps a handler for an event. Gives back a function that ends this. */
export function on(name: string, handler: Handler): () => void {
    notOver();
    mustBe("string", name, "pi.on: the event");
    const { enter, leave, fail, context = () => room("pi:context").context } = SHAPES[name] ?? {};
    const run = (event: any) => {
        event.type = name;
        enter?.(event);
        // As in pi, this is only found out when the event comes; a guard refuses by it.
        if (typeof handler !== "function") throw new TypeError("handler is not a function");
        const answer: any = handler(event, context());
        if (leave === undefined) return answer;
        if (typeof answer?.then !== "function") return leave(answer, event);
        return answer.then((said: any) => leave(said, event));
    };
    const id = keep(fail === undefined ? run : (event) => {
        try {
            const answer = run(event);
            return typeof answer?.then === "function" ? answer.then(undefined, fail) : answer;
        } catch (error) {
            fail(error);
        }
    });
    ask({ on: { event: name, handler: id } });
    return () => {
        drop(id);
        ask({ off: { handler: id } });
    };
}
