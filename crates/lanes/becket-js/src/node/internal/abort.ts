// Signals by which one part of a program tells another to stop.

const { EventTarget, Event } = require("events");
const { coded } = require("internal/errors");

const make = Symbol("make");
const stop = Symbol("stop");

class AbortSignal extends EventTarget {
    #reason: any;
    #aborted = false;
    onabort: any = null;

    constructor(key?: any) {
        super();
        if (key !== make) throw coded(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
    }

    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }

    [stop](reason: any) {
        if (this.#aborted) return;
        this.#aborted = true;
        this.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
        const event = new Event("abort");
        if (typeof this.onabort === "function") this.onabort(event);
        this.dispatchEvent(event);
    }

    static abort(reason?: any) {
        const signal: any = new AbortSignal(make);
        signal[stop](reason);
        return signal;
    }

    static timeout(milliseconds: number) {
        const signal: any = new AbortSignal(make);
        setTimeout(() => signal[stop](new DOMException("The operation was aborted due to timeout", "TimeoutError")),
            milliseconds);
        return signal;
    }

    static any(signals: Iterable<any>) {
        const all = [...signals];
        const signal: any = new AbortSignal(make);
        const done = all.find((one) => one.aborted);
        if (done) signal[stop](done.reason);
        else for (const one of all) one.addEventListener("abort", () => signal[stop](one.reason), { once: true });
        return signal;
    }
}

class AbortController {
    #signal: any = new AbortSignal(make);
    get signal() { return this.#signal; }
    abort(reason?: any) { this.#signal[stop](reason); }
}
for (const type of [AbortSignal, AbortController]) {
    Object.defineProperty(type.prototype, Symbol.toStringTag, { configurable: true, value: type.name });
}

module.exports = { AbortSignal, AbortController };
