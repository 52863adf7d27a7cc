// What every extension finds before its first line: the two host functions, promises of host calls, timers, the
// console, and the way in which Rust calls handlers.
//
// It is a script, not a module: it runs once in each engine, and leaves one object, `__becket`, behind. It keeps the
// functions that it needs for itself, so that an extension that changes them later breaks only its own code.

((native) => {
    const { parse, stringify } = JSON;
    const { defineProperty, keys, assign } = Object;

    // ---------------------------------------------------------------- host calls

    type Waiting = { resolve: (value: unknown) => void; reject: (error: unknown) => void };
    const waiting = new Map<number, Waiting>();

    function read(text: string | undefined): unknown {
        return text === undefined || text === "" ? undefined : parse(text);
    }

    function failure(text: string): Error {
        const { message, ...properties } = parse(text);
        return assign(new Error(message), properties);
    }

    const host = {
        call(name: string, value?: unknown): unknown {
            const [answered, text] = native.call(name, value === undefined ? "null" : stringify(value));
            if (!answered) throw failure(text);
            return read(text);
        },
        callAsync(name: string, value?: unknown): Promise<unknown> {
            return new Promise((resolve, reject) => {
                const id = native.callAsync(name, value === undefined ? "null" : stringify(value));
                waiting.set(id, { resolve, reject });
            });
        },
    };

    function settle(id: number, answered: boolean, text: string): void {
        const call = waiting.get(id);
        waiting.delete(id);
        if (answered) call?.resolve(read(text));
        else call?.reject(failure(text));
    }

    // ---------------------------------------------------------------- handlers

    const handlers = new Map<number, (event: unknown) => unknown>();
    let lastHandler = 0;

    /** Keeps a function that answers events; Rust calls it by the number. */
    function keep(handler: (event: unknown) => unknown): number {
        handlers.set(++lastHandler, handler);
        return lastHandler;
    }

    function drop(id: number): void {
        handlers.delete(id);
    }

    /** A field that is read when somebody looks at it. */
    function lazy(event: object, name: string, json: string): void {
        defineProperty(event, name, {
            configurable: true,
            enumerable: true,
            get() {
                const value = parse(json);
                defineProperty(event, name, { configurable: true, enumerable: true, writable: true, value });
                return value;
            },
            set(value) {
                defineProperty(event, name, { configurable: true, enumerable: true, writable: true, value });
            },
        });
    }

    /** Calls a handler. `mutable` holds names and texts of the fields whose changes count. */
    function fire(id: number, event: any, lazies: string[], mutable: string[]): unknown {
        for (let at = 0; at < lazies.length; at += 2) lazy(event, lazies[at], lazies[at + 1]);
        const handler = handlers.get(id);
        if (handler === undefined) return undefined;
        const returned = handler(event);
        if (returned instanceof Promise || typeof (returned as any)?.then === "function") {
            return (returned as Promise<unknown>).then((value) => answer(value, event, mutable));
        }
        return answer(returned, event, mutable);
    }

    /** What Rust reads: nothing, or a list of the returned JSON and of changed fields with their JSON. */
    function answer(returned: unknown, event: any, mutable: string[]): (string | undefined)[] | undefined {
        const changes: string[] = [];
        for (let at = 0; at < mutable.length; at += 2) {
            const [name, before] = [mutable[at], mutable[at + 1]];
            const field = Object.getOwnPropertyDescriptor(event, name);
            if (field?.get !== undefined) continue;
            const now = stringify(field?.value) ?? "null";
            if (now !== before && now !== stringify(parse(before))) changes.push(name, now);
        }
        if (returned === undefined && changes.length === 0) return undefined;
        return [stringify(returned), ...changes];
    }

    // ---------------------------------------------------------------- functions that Rust calls by name

    const services = new Map<string, (value: any) => unknown>();

    function invoke(name: string, text: string): unknown {
        const service = services.get(name);
        if (service === undefined) throw new Error(`there is no function ${name}`);
        const returned = service(read(text));
        if (returned instanceof Promise) return returned.then((value) => stringify(value));
        return stringify(returned);
    }

    // ---------------------------------------------------------------- promises without a catch

    const floating = new Map<Promise<unknown>, unknown>();

    function rejected(promise: Promise<unknown>, reason: unknown, handled: boolean): void {
        if (handled) floating.delete(promise);
        else floating.set(promise, reason);
    }

    function takeFloating(): unknown[] {
        const reasons = [...floating.values()];
        floating.clear();
        return reasons;
    }

    // ---------------------------------------------------------------- timers

    const timers = new Map<number, { run: () => void; again: boolean }>();

    class Timeout {
        constructor(readonly id: number, readonly delay: number) {}
        ref() { return this; }
        unref() { return this; }
        hasRef() { return true; }
        refresh() { native.timer(this.id, this.delay); return this; }
        close() { clear(this); }
        [Symbol.toPrimitive]() { return this.id; }
    }

    let lastTimer = 0;

    function start(run: unknown, delay: unknown, again: boolean, values: unknown[]): Timeout {
        if (typeof run !== "function") throw new TypeError("a timer needs a function");
        const id = ++lastTimer;
        // As in Node: at least a millisecond, and what is no sensible number counts as one.
        const wanted = Number(delay);
        const milliseconds = wanted >= 1 && wanted <= 2147483647 ? wanted : 1;
        timers.set(id, { run: () => run(...values), again });
        native.timer(id, milliseconds);
        return new Timeout(id, milliseconds);
    }

    function clear(timer: unknown): void {
        const id = Number(timer);
        if (timers.delete(id)) native.clearTimer(id);
    }

    /** A timer is over. Gives back whether it wants to be started again. */
    function ring(id: number): boolean {
        const timer = timers.get(id);
        if (timer === undefined) return false;
        if (!timer.again) timers.delete(id);
        timer.run();
        return timers.has(id);
    }

    const globals = {
        setTimeout: (run: unknown, delay?: unknown, ...values: unknown[]) => start(run, delay, false, values),
        setInterval: (run: unknown, delay?: unknown, ...values: unknown[]) => start(run, delay, true, values),
        setImmediate: (run: unknown, ...values: unknown[]) => start(run, 0, false, values),
        clearTimeout: clear,
        clearInterval: clear,
        clearImmediate: clear,
        queueMicrotask: (run: () => void) => { Promise.resolve().then(run); },
        global: globalThis,
    };
    for (const name of keys(globals)) {
        defineProperty(globalThis, name, {
            configurable: true, writable: true, enumerable: false, value: globals[name as keyof typeof globals],
        });
    }

    /** Loads an extension: the prelude is given all that its module exports. */
    async function begin(prelude: string, file: string): Promise<void> {
        const { default: load } = await import(prelude);
        await load(await import(file));
    }

    const becket = {
        host, keep, drop, services, native, begin, fire, invoke, settle, rejected, takeFloating, ring,
    };
    defineProperty(globalThis, "__becket", { value: becket });
})(globalThis.__native);
