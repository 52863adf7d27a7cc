// Event emitters, and the events of the web.

const { coded, argument, aborted } = require("internal/errors");

const captureRejectionSymbol = Symbol.for("nodejs.rejection");
const errorMonitor = Symbol("events.errorMonitor");

type Listener = ((...values: any[]) => unknown) & { listener?: Listener };

function checked(listener: unknown): void {
    if (typeof listener !== "function") throw argument("listener", "of type function", listener);
}

function EventEmitter(this: any): void {
    EventEmitter.init.call(this);
}

EventEmitter.init = function (this: any): void {
    if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
        this._events = Object.create(null);
        this._eventsCount = 0;
    }
    this._maxListeners = this._maxListeners || undefined;
};
EventEmitter.defaultMaxListeners = 10;
EventEmitter.usingDomains = false;

const methods = {
    _events: undefined as any,
    _eventsCount: 0,
    _maxListeners: undefined as any,

    setMaxListeners(count: number) {
        if (typeof count !== "number" || count < 0 || Number.isNaN(count)) {
            throw coded(RangeError, "ERR_OUT_OF_RANGE",
                `The value of "n" is out of range. It must be a non-negative number. Received ${String(count)}`);
        }
        this._maxListeners = count;
        return this;
    },

    getMaxListeners() {
        return this._maxListeners ?? EventEmitter.defaultMaxListeners;
    },

    emit(name: string | symbol, ...values: any[]): boolean {
        const events = this._events;
        if (name === "error") {
            if (events?.[errorMonitor] !== undefined) (this as any).emit(errorMonitor, ...values);
            if (events?.error === undefined) throw unhandled(values[0], values.length);
        }
        const listeners = events?.[name];
        if (listeners === undefined) return false;
        for (const listener of typeof listeners === "function" ? [listeners] : [...listeners]) {
            Reflect.apply(listener, this, values);
        }
        return true;
    },

    on(name: string | symbol, listener: Listener) {
        return add(this, name, listener, false);
    },

    prependListener(name: string | symbol, listener: Listener) {
        return add(this, name, listener, true);
    },

    once(name: string | symbol, listener: Listener) {
        checked(listener);
        return add(this, name, onlyOnce(this, name, listener), false);
    },

    prependOnceListener(name: string | symbol, listener: Listener) {
        checked(listener);
        return add(this, name, onlyOnce(this, name, listener), true);
    },

    off(name: string | symbol, listener: Listener) {
        checked(listener);
        const events = this._events;
        const listeners = events?.[name];
        if (listeners === undefined) return this;
        const is = (known: Listener) => known === listener || known.listener === listener;
        if (typeof listeners === "function") {
            if (!is(listeners)) return this;
            forget(this, name);
        } else {
            const at = listeners.findLastIndex(is);
            if (at < 0) return this;
            listeners.splice(at, 1);
            if (listeners.length === 1) events[name] = listeners[0];
        }
        if (events.removeListener !== undefined) (this as any).emit("removeListener", name, listener);
        return this;
    },

    removeAllListeners(...names: (string | symbol)[]) {
        const events = this._events;
        if (events === undefined) return this;
        const [name] = names;
        if (events.removeListener === undefined) {
            if (names.length === 0) {
                this._events = Object.create(null);
                this._eventsCount = 0;
            } else if (events[name!] !== undefined) {
                forget(this, name!);
            }
            return this;
        }
        if (names.length === 0) {
            for (const key of Reflect.ownKeys(events)) {
                if (key !== "removeListener") this.removeAllListeners(key);
            }
            this.removeAllListeners("removeListener");
            return this;
        }
        for (const listener of this.rawListeners(name!).reverse()) this.off(name!, listener);
        return this;
    },

    listeners(name: string | symbol): Listener[] {
        return this.rawListeners(name).map((listener) => listener.listener ?? listener);
    },

    rawListeners(name: string | symbol): Listener[] {
        const listeners = this._events?.[name];
        return listeners === undefined ? [] : typeof listeners === "function" ? [listeners] : [...listeners];
    },

    listenerCount(name: string | symbol, listener?: Listener): number {
        const all = this.rawListeners(name);
        if (listener == null) return all.length;
        return all.filter((known) => known === listener || known.listener === listener).length;
    },

    eventNames(): (string | symbol)[] {
        return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
    },
};
const proto: any = EventEmitter.prototype;
for (const name of Object.keys(methods)) {
    const value = (methods as any)[name];
    Object.defineProperty(proto, name, { configurable: true, enumerable: true, writable: true, value });
}
proto.addListener = proto.on;
proto.removeListener = proto.off;

function unhandled(error: any, count: number): any {
    if (error instanceof Error) return error;
    const { inspect } = require("util");
    const words = count === 0 ? "undefined" : inspect(error);
    return coded(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${words})`, { context: error });
}

function forget(emitter: any, name: string | symbol): void {
    delete emitter._events[name];
    emitter._eventsCount--;
}

function add(emitter: any, name: string | symbol, listener: Listener, first: boolean): any {
    checked(listener);
    if (emitter._events === undefined) EventEmitter.init.call(emitter);
    const events = emitter._events;
    if (events.newListener !== undefined) emitter.emit("newListener", name, listener.listener ?? listener);
    const known = emitter._events[name];
    if (known === undefined) {
        emitter._events[name] = listener;
        emitter._eventsCount++;
        return emitter;
    }
    const all = typeof known === "function" ? [known] : known;
    if (first) all.unshift(listener);
    else all.push(listener);
    emitter._events[name] = all;
    warn(emitter, name, all);
    return emitter;
}

function warn(emitter: any, name: string | symbol, all: any): void {
    const most = emitter.getMaxListeners();
    if (most === 0 || all.length <= most || all.warned) return;
    all.warned = true;
    require("process").emitWarning(
        `Possible EventEmitter memory leak detected. ${all.length} ${String(name)} listeners added to ` +
        `[${emitter.constructor?.name}]. MaxListeners is ${most}. Use emitter.setMaxListeners() to increase limit`,
        "MaxListenersExceededWarning",
    );
}

function onlyOnce(emitter: any, name: string | symbol, listener: Listener): Listener {
    let fired = false;
    const wrapped: Listener = function (this: any, ...values: any[]) {
        if (fired) return undefined;
        fired = true;
        emitter.removeListener(name, wrapped);
        return Reflect.apply(listener, emitter, values);
    };
    wrapped.listener = listener;
    return wrapped;
}

function isTarget(emitter: any): boolean {
    return typeof emitter?.addEventListener === "function" && typeof emitter?.on !== "function";
}

function once(emitter: any, name: string | symbol, options: any = {}): Promise<any[]> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(aborted(signal));
        const done = (...values: any[]) => { clean(); resolve(values); };
        const failed = (error: unknown) => { clean(); reject(error); };
        const stop = () => { clean(); reject(aborted(signal)); };
        const clean = () => {
            if (isTarget(emitter)) emitter.removeEventListener(name, done);
            else {
                emitter.removeListener(name, done);
                if (name !== "error") emitter.removeListener("error", failed);
            }
            signal?.removeEventListener("abort", stop);
        };
        if (isTarget(emitter)) emitter.addEventListener(name, done, { once: true });
        else {
            emitter.once(name, done);
            if (name !== "error") emitter.once("error", failed);
        }
        signal?.addEventListener("abort", stop, { once: true });
    });
}

function on(emitter: any, name: string | symbol, options: any = {}): AsyncIterableIterator<any[]> {
    const { signal } = options;
    const ready: any[][] = [];
    const waiting: { resolve: (value: any) => void; reject: (error: unknown) => void }[] = [];
    let problem: { error: unknown } | undefined;
    let over = false;
    const event = (...values: any[]) => {
        const next = waiting.shift();
        if (next) next.resolve({ value: values, done: false });
        else ready.push(values);
    };
    const failed = (error: unknown) => {
        const next = waiting.shift();
        if (next) next.reject(error);
        else problem = { error };
        finish();
    };
    const stop = () => failed(aborted(signal));
    function finish() {
        over = true;
        emitter.removeListener(name, event);
        if (name !== "error") emitter.removeListener("error", failed);
        for (const end of options.close ?? []) emitter.removeListener(end, finish);
        signal?.removeEventListener("abort", stop);
        for (const next of waiting.splice(0)) next.resolve({ value: undefined, done: true });
        return Promise.resolve({ value: undefined, done: true as const });
    }
    emitter.on(name, event);
    if (name !== "error") emitter.on("error", failed);
    for (const end of options.close ?? []) emitter.on(end, finish);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    return {
        next() {
            if (ready.length > 0) return Promise.resolve({ value: ready.shift()!, done: false });
            if (problem) {
                const { error } = problem;
                problem = undefined;
                return Promise.reject(error);
            }
            if (over) return Promise.resolve({ value: undefined, done: true });
            return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
        },
        return: finish,
        throw(error: unknown) { failed(error); return Promise.resolve({ value: undefined, done: true as const }); },
        [Symbol.asyncIterator]() { return this; },
    } as any;
}

// ---------------------------------------------------------------- events of the web

const state = Symbol("state");

class Event {
    static NONE = 0;
    static CAPTURING_PHASE = 1;
    static AT_TARGET = 2;
    static BUBBLING_PHASE = 3;

    constructor(type: string, options: any = {}) {
        if (arguments.length === 0) {
            throw coded(TypeError, "ERR_MISSING_ARGS", 'The "type" argument must be specified');
        }
        const { bubbles = false, cancelable = false, composed = false } = options ?? {};
        const value = {
            type: String(type), bubbles: !!bubbles, cancelable: !!cancelable, composed: !!composed,
            target: null, prevented: false, stopped: false, at: performance.now(), busy: false,
        };
        Object.defineProperty(this, state, { value });
    }

    get type() { return (this as any)[state].type; }
    get bubbles() { return (this as any)[state].bubbles; }
    get cancelable() { return (this as any)[state].cancelable; }
    get composed() { return (this as any)[state].composed; }
    get target() { return (this as any)[state].target; }
    get srcElement() { return this.target; }
    get currentTarget() { return (this as any)[state].busy ? this.target : null; }
    get eventPhase() { return (this as any)[state].busy ? 2 : 0; }
    get defaultPrevented() { return (this as any)[state].prevented; }
    get returnValue() { return !this.defaultPrevented; }
    get cancelBubble() { return (this as any)[state].stopped; }
    get timeStamp() { return (this as any)[state].at; }
    get isTrusted() { return false; }
    composedPath() { return (this as any)[state].busy ? [this.target] : []; }
    preventDefault() { if (this.cancelable) (this as any)[state].prevented = true; }
    stopPropagation() {}
    stopImmediatePropagation() { (this as any)[state].stopped = true; }
}

class CustomEvent extends Event {
    #detail: unknown;

    constructor(type: string, options: any = {}) {
        super(type, options);
        this.#detail = options?.detail ?? null;
    }

    get detail() { return this.#detail; }
}

class EventTarget {
    #listeners = new Map<string, { run: any; once: boolean; capture: boolean }[]>();

    addEventListener(type: string, run: any, options: any = {}): void {
        if (run === null || run === undefined) return;
        const { once = false, capture = false, signal } = typeof options === "boolean"
            ? { capture: options } as any : options ?? {};
        if (signal?.aborted) return;
        const all = this.#listeners.get(type) ?? [];
        if (all.some((known) => known.run === run && known.capture === !!capture)) return;
        all.push({ run, once, capture: !!capture });
        this.#listeners.set(type, all);
        signal?.addEventListener("abort", () => this.removeEventListener(type, run, options), { once: true });
    }

    removeEventListener(type: string, run: any, options: any = {}): void {
        const capture = typeof options === "boolean" ? options : !!options?.capture;
        const all = this.#listeners.get(type);
        const at = all?.findIndex((known) => known.run === run && known.capture === capture) ?? -1;
        if (at >= 0) this.#listeners.set(type, [...all!.slice(0, at), ...all!.slice(at + 1)]);
    }

    dispatchEvent(event: any): boolean {
        if (!(event instanceof Event)) throw argument("event", "an instance of Event", event);
        const inner = (event as any)[state];
        inner.target = this;
        inner.busy = true;
        for (const listener of [...this.#listeners.get(event.type) ?? []]) {
            if (inner.stopped) break;
            if (listener.once) this.removeEventListener(event.type, listener.run, { capture: listener.capture });
            // A listener that throws does not keep the event from the others.
            try {
                if (typeof listener.run === "function") listener.run.call(this, event);
                else listener.run.handleEvent(event);
            } catch (error) {
                Promise.reject(error);
            }
        }
        inner.busy = false;
        return !event.defaultPrevented;
    }
}
for (const type of [Event, EventTarget, CustomEvent]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { configurable: true, value: type.name });
}

Object.assign(EventEmitter, {
    EventEmitter, once, on, errorMonitor, captureRejectionSymbol, captureRejections: false, Event, EventTarget,
    CustomEvent,
    getEventListeners: (emitter: any, name: string) => emitter.listeners?.(name) ?? [],
    getMaxListeners: (emitter: any) => emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners,
    setMaxListeners(count = EventEmitter.defaultMaxListeners, ...emitters: any[]) {
        if (emitters.length === 0) EventEmitter.defaultMaxListeners = count;
        for (const emitter of emitters) emitter.setMaxListeners?.(count);
    },
    listenerCount: (emitter: any, name: string) => emitter.listenerCount(name),
    addAbortListener(signal: any, listener: any) {
        if (signal.aborted) queueMicrotask(() => listener());
        else signal.addEventListener("abort", listener, { once: true });
        return { [Symbol.dispose ?? Symbol.for("dispose")]: () => signal.removeEventListener("abort", listener) };
    },
});
module.exports = EventEmitter;
