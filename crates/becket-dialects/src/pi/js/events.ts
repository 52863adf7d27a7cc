// `pi.on`: handlers of events. The program calls them by their numbers, with the fields of the event.

import { ask, drop, keep, mustBe, notOver, room, signalOfNow } from "pi:host";

type Handler = (event: any, ctx: unknown) => unknown;

/** What an event has that is no data, and what an answer holds that is none. */
type Shape = {
    enter?: (event: any) => void;
    leave?: (answer: any) => unknown;
    fail?: (error: unknown) => never;
};

function withSignal(event: any): void {
    Object.defineProperty(event, "signal", { configurable: true, enumerable: true, get: signalOfNow });
}

/** The tools that the model is offered, for those who write about them in the system prompt. */
function withTools(event: any): void {
    const get = (): string[] => ask("get_active_tools");
    Object.defineProperty((event.systemPromptOptions ??= {}), "selectedTools", { configurable: true, enumerable: true, get });
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

const SHAPES: Record<string, Shape | undefined> = {
    tool_call: { leave: verdict, fail: refusal },
    before_agent_start: { enter: withTools },
    session_before_compact: { enter: withSets },
    session_before_tree: { enter: withSignal },
    user_bash: { leave: withHandles },
};

/** Keeps a handler for an event. Gives back a function that ends this. */
export function on(name: string, handler: Handler): () => void {
    notOver();
    mustBe("string", name, "pi.on: the event");
    mustBe("function", handler, `pi.on("${name}"): the handler`);
    const { enter, leave, fail } = SHAPES[name] ?? {};
    const run = (event: any) => {
        event.type = name;
        enter?.(event);
        const answer: any = handler(event, room("pi:context").context);
        if (leave === undefined) return answer;
        return typeof answer?.then === "function" ? answer.then(leave) : leave(answer);
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
