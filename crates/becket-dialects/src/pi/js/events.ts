// `pi.on`: handlers of events. The program calls them by their numbers, with the fields of the event.

import { ask, drop, keep, messageOf, mustBe, notOver, serve, signalOfNow } from "pi:host";

type Handler = (event: any, ctx: unknown) => unknown;

/** What an event has that is no data, and what an answer holds that is none. */
type Shape = { enter?: (event: any) => void; leave?: (answer: any) => unknown };

function withSignal(event: any): void {
    Object.defineProperty(event, "signal", { configurable: true, enumerable: true, get: signalOfNow });
}

/** The tools that the model is offered, for those who write about them in the system prompt. */
function withTools(event: any): void {
    const get = (): string[] => ask("get_active_tools");
    Object.defineProperty(event.systemPromptOptions, "selectedTools", { configurable: true, enumerable: true, get });
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

const SHAPES: Record<string, Shape | undefined> = {
    tool_call: { leave: verdict },
    before_agent_start: { enter: withTools },
    session_before_compact: { enter: withSets },
    session_before_tree: { enter: withSignal },
    user_bash: { leave: withHandles },
};

/** Keeps a handler for an event. Gives back a function that ends this. */
export function on(context: unknown, name: string, handler: Handler): () => void {
    notOver();
    mustBe("string", name, "pi.on: the event");
    mustBe("function", handler, `pi.on("${name}"): the handler`);
    const { enter, leave } = SHAPES[name] ?? {};
    const id = keep((event) => {
        event.type = name;
        enter?.(event);
        const answer = handler(event, context);
        if (leave === undefined) return answer;
        return typeof (answer as any)?.then === "function" ? (answer as any).then(leave) : leave(answer);
    });
    ask({ on: { event: name, handler: id } });
    return () => {
        drop(id);
        ask({ off: { handler: id } });
    };
}

// -------------------------------------------------------------------- command lines that an extension runs

type Run = { command: string; cwd: string; timeout?: number; env?: Record<string, string> };
type Told = { onData: (data: unknown) => void; signal: AbortSignal };
type Operation = (run: Run, told: Told) => unknown;

const operations = new Map<number, Operation>();
const running = new Map<number, AbortController>();
let lastOperation = 0;

/** An answer of `user_bash` with handles in place of its functions. */
function withHandles(answer: any): unknown {
    const given = answer?.operations;
    if (given === undefined || given === null) return answer;
    const handles: Record<string, unknown> = {};
    if (typeof given.exec === "function") {
        const exec: Operation = ({ command, cwd, ...options }, told) =>
            given.exec(command, cwd, { ...options, ...told });
        handles.exec = handle(exec);
    } else if (typeof given.execute === "function") {
        handles.execute = handle(({ command }) => given.execute(command));
    }
    return { ...answer, operations: handles };
}

function handle(operation: Operation): { $function: number } {
    operations.set(++lastOperation, operation);
    return { $function: lastOperation };
}

serve("run_shell", async ({ run, function: id, command, cwd, timeout, env }) => {
    const operation = operations.get(id);
    if (operation === undefined) return { error: "there is no such operation any more" };
    const controller = new AbortController();
    running.set(run, controller);
    const decoder = new TextDecoder();
    const onData = (data: any) => {
        const text = typeof data === "string" ? data : decoder.decode(data, { stream: true });
        if (running.has(run)) ask({ shell_output: { run, text } });
    };
    const wanted = { command, cwd, timeout: timeout ?? undefined, env: env ?? undefined };
    try {
        return ended(await operation(wanted, { onData, signal: controller.signal }));
    } catch (error) {
        return { error: messageOf(error) };
    } finally {
        running.delete(run);
    }
});

serve("abort_shell", ({ run }) => running.get(run)?.abort());

/** How a command line ended: as `exec` says it, or the output that `execute` gives, alone or with a code. */
function ended(end: any): unknown {
    if (typeof end === "string") return { exitCode: 0, output: end };
    const output = end?.output ?? end?.stdout;
    const exitCode = end?.exitCode === undefined ? (end?.code ?? 0) : end.exitCode;
    return { exitCode, output: output === undefined ? undefined : String(output) };
}
