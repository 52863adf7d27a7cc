// What every extension finds before its first line: the two host functions, promises of host calls, timers, the
// console, and the way in which Rust calls handlers.
//
// It keeps the functions that it needs for itself, and its tables have a prototype that nobody else can reach: an
// extension that changes what is built in breaks its own code, and neither this file nor what guards decide.

type Table<V> = Map<number, V>;

export default (native: any) => {
    const { parse, stringify } = JSON;
    const { create, defineProperty, freeze, getOwnPropertyDescriptor, getOwnPropertyNames, keys, setPrototypeOf } = Object;
    const { apply } = Reflect;
    const { then } = Promise.prototype;
    const { toWellFormed } = String.prototype;
    const [RealError, RealPromise, RealMap] = [Error, Promise, Map];

    const tableMethods = create(null);
    for (const name of getOwnPropertyNames(Map.prototype)) {
        if (name !== "size") tableMethods[name] = (Map.prototype as any)[name];
    }

    function table<V>(): Table<V> {
        return setPrototypeOf(new RealMap(), tableMethods);
    }

    /** Puts a value under a name where it can be replaced, but not seen by a loop over names. */
    function offer(target: object, name: string, value: unknown): void {
        defineProperty(target, name, { __proto__: null, configurable: true, writable: true, value } as any);
    }

    // ---------------------------------------------------------------- stacks

    // The engine keeps where an error was made, in places of the code that it runs. Whoever looks is told as Node tells
    // it: the error first, then the places as the author wrote them. Nobody else pays for that.
    const framesOf = getOwnPropertyDescriptor(Error.prototype, "stack")!.get!;
    const { captureStackTrace } = Error as any;
    const { toString } = Error.prototype;

    function told(error: object, frames: unknown): unknown {
        // Who prepares stacks on his own gets what he has made.
        if (typeof frames !== "string") return frames;
        let head = "Error";
        try {
            head = apply(toString, error, []);
        } catch {
            // Its name or its message throws.
        }
        const places: string = native.placed(frames);
        return places === "" ? head : `${head}\n${places}`;
    }

    /** Puts a stack on an object; `find` says what it is when somebody looks. */
    function offerStack(target: object, find: (self: any) => unknown): void {
        defineProperty(target, "stack", {
            __proto__: null,
            configurable: true,
            get() { return find(this); },
            set(value: unknown) { offer(this, "stack", value); },
        } as any);
    }

    offerStack(Error.prototype, (error) => told(error, apply(framesOf, error, [])));
    offer(Error, "captureStackTrace", function capture(target: object, above?: unknown) {
        const kept: any = {};
        captureStackTrace(kept, typeof above === "function" ? above : capture);
        const frames = kept.stack;
        offerStack(target, () => told(target, frames));
    });

    // ---------------------------------------------------------------- host calls

    type Waiting = { resolve: (value: unknown) => void; reject: (error: unknown) => void; error: Error };
    const waiting = table<Waiting>();

    function read(text: string | undefined): unknown {
        return text === undefined || text === "" ? undefined : parse(text);
    }

    function write(value: unknown): string {
        return (value === undefined ? undefined : stringify(value)) ?? "null";
    }

    /** Fills an error with what the host says. It was made where the author's code asked, so it names that line. */
    function failure(error: any, text: string): Error {
        const properties = parse(text);
        for (const name of keys(properties)) {
            if (name === "message") offer(error, name, properties[name]);
            else error[name] = properties[name];
        }
        return error;
    }

    const host = freeze({
        call(name: string, value?: unknown): unknown {
            const answer = native.call(name, write(value));
            if (!answer[0]) throw failure(new RealError(), answer[1]);
            return read(answer[1]);
        },
        callAsync(name: string, value?: unknown): Promise<unknown> {
            const error = new RealError();
            return new RealPromise((resolve, reject) => {
                const id = native.callAsync(name, write(value));
                waiting.set(id, { resolve, reject, error });
            });
        },
    });

    function settle(id: number, answered: boolean, text: string): void {
        const call = waiting.get(id);
        if (call === undefined) return;
        waiting.delete(id);
        if (answered) call.resolve(read(text));
        else call.reject(failure(call.error, text));
    }

    // ---------------------------------------------------------------- handlers

    const handlers = table<(event: unknown) => unknown>();
    let lastHandler = 0;

    /** Keeps a function that answers events; Rust calls it by the number. */
    function keep(handler: (event: unknown) => unknown): number {
        if (typeof handler !== "function") throw new TypeError("a handler must be a function");
        handlers.set(++lastHandler, handler);
        return lastHandler;
    }

    function drop(id: number): void {
        handlers.delete(id);
    }

    /** A field that is read when somebody looks at it. */
    function lazy(event: object, name: string, load: (looked: boolean) => unknown): void {
        const become = (value: unknown) => {
            defineProperty(event, name, {
                __proto__: null, configurable: true, enumerable: true, writable: true, value,
            } as any);
            return value;
        };
        defineProperty(event, name, {
            __proto__: null,
            configurable: true,
            enumerable: true,
            get: () => become(load(true)),
            set: (value: unknown) => { load(false); become(value); },
        } as any);
    }

    function fire(id: number, event: unknown): unknown {
        const handler = handlers.get(id);
        return handler === undefined ? undefined : handler(event);
    }

    /** A promise of the engine's own for an object that only looks like one; everything else stays what it is. */
    function promised(value: any): unknown {
        const step = value.then;
        if (typeof step !== "function") return value;
        return new RealPromise((resolve, reject) => apply(step, value, [resolve, reject]));
    }

    /** Tells Rust when a promise is settled. `kept` is given back to it then. */
    async function attach(promise: Promise<unknown>, kept: unknown, tell: any): Promise<void> {
        let value: unknown;
        try {
            value = await promise;
        } catch (reason) {
            return tell(false, reason, kept);
        }
        tell(true, value, kept);
    }

    // ---------------------------------------------------------------- functions that Rust calls by name

    const services = table<(value: any) => unknown>() as unknown as Map<string, (value: any) => unknown>;

    function invoke(name: string, text: string): unknown {
        const service = services.get(name);
        if (service === undefined) throw new RealError(`there is no function ${name}`);
        return service(read(text));
    }

    // ---------------------------------------------------------------- errors that nobody catches

    /** Whether the extension itself listens for such errors (`process.on`), and has been told. */
    function heard(event: string, error: unknown, source: unknown): boolean {
        const process = (becket.made as any)("process");
        if (process === undefined || process.listenerCount(event) === 0) return false;
        process.emit(event, error, source);
        return true;
    }

    const floating = table<unknown>() as unknown as Map<Promise<unknown>, unknown>;

    function rejected(promise: Promise<unknown>, reason: unknown, handled: boolean): void {
        if (handled) floating.delete(promise);
        else floating.set(promise, reason);
    }

    /** The reasons of all rejections that nobody has caught or listens for. */
    function takeFloating(): unknown[] {
        const reasons: unknown[] = [];
        let count = 0;
        floating.forEach((reason, promise) => {
            if (heard("unhandledRejection", reason, promise)) return;
            defineProperty(reasons, count++, { __proto__: null, enumerable: true, value: reason } as any);
        });
        floating.clear();
        return reasons;
    }

    // ---------------------------------------------------------------- timers

    type Timer = { run: () => void; delay: number; again: boolean; cleared: boolean };
    const timers = table<Timer>();

    class Timeout {
        #timer: Timer;
        #counts = true;
        constructor(readonly id: number, timer: Timer) { this.#timer = timer; }
        ref() { this.#counts = true; return this; }
        unref() { this.#counts = false; return this; }
        hasRef() { return this.#counts; }
        /** Starts again from the beginning, also when it has rung already. */
        refresh() {
            if (!this.#timer.cleared) begin(this.id, this.#timer);
            return this;
        }
        close() { clear(this); }
        [Symbol.toPrimitive]() { return this.id; }
    }

    let lastTimer = 0;

    function start(run: any, delay: unknown, again: boolean, values: unknown[]): Timeout {
        if (typeof run !== "function") throw new TypeError("a timer needs a function");
        const id = ++lastTimer;
        const wanted = Number(delay);
        const milliseconds = wanted >= 1 && wanted <= 2147483647 ? wanted : 1;
        const timer = { run: () => apply(run, undefined, values), delay: milliseconds, again, cleared: false };
        begin(id, timer);
        return new Timeout(id, timer);
    }

    function begin(id: number, timer: Timer): void {
        native.timer(id, timer.delay);
        timers.set(id, timer);
    }

    function clear(timer: any): void {
        const id = timer instanceof Timeout ? timer.id : typeof timer === "symbol" ? 0 : Number(timer);
        const known = timers.get(id);
        if (known === undefined) return;
        known.cleared = true;
        timers.delete(id);
        native.clearTimer(id);
    }

    /** A timer is over. Gives back whether it wants to be started again. */
    function ring(id: number): boolean {
        const timer = timers.get(id);
        if (timer === undefined) return false;
        if (!timer.again) timers.delete(id);
        try {
            timer.run();
        } catch (error) {
            if (!heard("uncaughtException", error, "uncaughtException")) throw error;
        }
        return timers.has(id);
    }

    // ---------------------------------------------------------------- globals

    const globals: Record<string, unknown> = {
        setTimeout: (run: unknown, delay?: unknown, ...values: unknown[]) => start(run, delay, false, values),
        setInterval: (run: unknown, delay?: unknown, ...values: unknown[]) => start(run, delay, true, values),
        setImmediate: (run: unknown, ...values: unknown[]) => start(run, 0, false, values),
        clearTimeout: clear,
        clearInterval: clear,
        clearImmediate: clear,
        queueMicrotask: (run: any) => {
            if (typeof run !== "function") throw new TypeError("queueMicrotask needs a function");
            apply(then, RealPromise.resolve(), [() => run()]);
        },
        global: globalThis,
    };
    for (const name of keys(globals)) offer(globalThis, name, globals[name]);
    // What `promisify` makes of them.
    for (const name of ["setTimeout", "setImmediate"]) {
        defineProperty(globals[name], Symbol.for("nodejs.util.promisify.custom"), {
            __proto__: null, configurable: true, get: () => (becket.builtin as any)("timers/promises")[name],
        } as any);
    }

    /** A global that is made when somebody asks for it. */
    function offerLazily(name: string, make: () => unknown): void {
        const become = (value: unknown) => {
            offer(globalThis, name, value);
            return value;
        };
        const get = () => become(make());
        defineProperty(globalThis, name, { __proto__: null, configurable: true, get, set: become } as any);
    }
    offerLazily("console", () => native.console()(becket));

    /** Prints a text; `error` for what is a warning or worse. */
    function print(error: boolean, text: string): void {
        native.print(error, apply(toWellFormed, text, []));
    }

    /** Loads an extension: the prelude is given all that its module exports. */
    async function load(prelude: string, file: string): Promise<void> {
        const { default: start } = await import(prelude);
        await start(await import(file));
    }

    const becket: Record<string, unknown> = { host, keep, drop, services, native, print, offerLazily };
    defineProperty(globalThis, "__becket", { __proto__: null, value: becket } as any);

    /** Nobody adds to it after this. */
    function seal(): void {
        freeze(native);
        freeze(becket);
    }

    return { load, fire, lazy, promised, attach, invoke, settle, rejected, takeFloating, ring, seal };
};
