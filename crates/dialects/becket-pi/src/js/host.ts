// The way out of pi's API: what it asks of the program, and when it may.
//
// Everything goes through two functions of the engine, one that answers at once and one that takes its time. What can
// be asked is listed in `host_call.rs`, what the program calls here in `services.rs`.

declare const __becket: {
    host: { call(name: string, value: unknown): any; callAsync(name: string, value: unknown): Promise<any> };
    keep(handler: (event: any) => unknown): number;
    drop(id: number): void;
    services: Map<string, (value: any) => unknown>;
    load(name: string): any;
    native: { described(error: unknown): string };
};

const { host, services } = __becket;
export const { keep, drop } = __becket;

/** A call with its fields, or the bare name of one that has none. */
type Call = string | Record<string, unknown>;

/** Asks the program, which answers at once. Where it says nothing the answer is `undefined`. */
export function ask(call: Call): any {
    return host.call("pi", call) ?? undefined;
}

/** Asks the program, which takes its time. */
export async function askLater(call: Call): Promise<any> {
    return (await host.callAsync("pi", call)) ?? undefined;
}

/** Offers a function to the program. */
export function serve(name: string, run: (value: any) => unknown): void {
    services.set(name, run);
}

const rooms: Record<string, any> = {};

/** Another module of this API, loaded on the first touch: every extension has an engine of its own, and needs few. */
export function room(name: string): any {
    return (rooms[name] ??= __becket.load(name));
}

// -------------------------------------------------------------------- when something may be asked

const LOADING =
    "Extension runtime not initialized. Action methods cannot be called during extension loading.";
const STALE =
    "This extension ctx is stale after session replacement or reload. Do not use a captured pi or command" +
    " ctx after ctx.newSession(), ctx.fork(), ctx.switchSession(), or ctx.reload(). For newSession, fork, and" +
    " switchSession, move post-replacement work into withSession and use the ctx passed to withSession. For" +
    " reload, do not use the old ctx after await ctx.reload().";

let phase: "loading" | "bound" | "over" = "loading";

/** How many sessions this extension has seen the end of: its own, and those that its commands have gone on in. */
let ends = 0;

/** How many were over when the session began whose context is used right now. */
let now = 0;

serve("bind", () => {
    phase = "bound";
});

serve("end", end);

/** The session is over. Whatever belongs to it refuses from now on. */
export function end(): void {
    phase = "over";
    ends += 1;
}

/** Throws when the session is over that this API, or the context in use, belongs to. */
export function notOver(): void {
    if (now !== ends) throw new Error(STALE);
}

/**
 * The same object for the session that has just begun in the place of the extension's own. The extension itself has
 * begun anew for that session; only a command that caused it goes on here, and whatever it uses asks at once whether it
 * may.
 */
export function renewed<T extends object>(given: T, began: number = ends): T {
    const within = (use: () => any): any => {
        const before = now;
        now = began;
        try {
            return use();
        } finally {
            now = before;
        }
    };
    return new Proxy(given, {
        get(target, name) {
            const found = within(() => Reflect.get(target, name));
            if (typeof found === "function") {
                return (...values: unknown[]) => within(() => found.apply(target, values));
            }
            return OBJECTS.includes(name as string) ? renewed(found, began) : found;
        },
    });
}

/** The objects of a context that ask whether they may. */
const OBJECTS = ["ui", "sessionManager", "modelRegistry"];

/** Throws unless there is a session to act on. */
export function inSession(): void {
    notOver();
    if (phase === "loading") throw new Error(LOADING);
}

// -------------------------------------------------------------------- small things

/** A member that some pi has and becket has not. */
export function later(name: string): (...values: unknown[]) => never {
    return () => {
        throw new Error(`not supported by becket yet: ${name}`);
    };
}

export function messageOf(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}

/** An error for the user: what it says, the author's line, and its causes. */
export function described(error: unknown): string {
    return __becket.native.described(error);
}

/** Tells what has failed where no caller sees it. */
export function report(event: string, error: unknown): void {
    ask({ report: { event, error: described(error) } });
}

/** A text or a number as a text; whatever else is none. */
export function textOf(value: unknown): string | undefined {
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

export function mustBe(kind: "function" | "string", value: unknown, what: string): void {
    if (typeof value !== kind || value === "") {
        throw new TypeError(`${what} must be a ${kind}${kind === "string" ? " that is not empty" : ""}`);
    }
}

// -------------------------------------------------------------------- cancelling

let lastId = 0;

/** Asks for something that can be cancelled. `call` is given the id that the call needs. */
export async function askUntil(signal: AbortSignal | undefined, call: (id: number) => Call): Promise<any> {
    const id = ++lastId;
    const cancel = () => ask({ cancel: { id } });
    const answer = askLater(call(id));
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    try {
        return await answer;
    } finally {
        signal?.removeEventListener("abort", cancel);
    }
}

let current: AbortController | undefined;

/** Aborted when what the agent does now is. */
export function signalOfNow(): AbortSignal {
    if (current === undefined) {
        const controller = new AbortController();
        const over = (aborted: boolean) => {
            if (current === controller) current = undefined;
            if (aborted) controller.abort();
        };
        current = controller;
        askLater("wait_for_abort").then(over, () => over(false));
    }
    return current.signal;
}
