// Every extension is the main thread of its own engine, and there is no other one.

const EventEmitter = require("events");

const kept = new Map<unknown, unknown>();

/** One end of a channel. What is posted before anybody listens waits. */
class MessagePort extends (EventEmitter as any) {
    #other?: MessagePort;
    #waiting: any[] = [];
    #listens = false;
    #handler: any = null;

    static pair(): [MessagePort, MessagePort] {
        const [one, other] = [new MessagePort(), new MessagePort()];
        [one.#other, other.#other] = [other, one];
        return [one, other];
    }
    static taken(port: MessagePort): { message: unknown } | undefined {
        return port.#waiting.length > 0 ? { message: port.#waiting.shift() } : undefined;
    }

    postMessage(value: unknown): void {
        const message = structuredClone(value);
        const other = this.#other;
        if (other === undefined) return;
        other.#waiting.push(message);
        if (other.#listens) setImmediate(() => other.#deliver());
    }
    #deliver(): void {
        for (let next = MessagePort.taken(this); next !== undefined; next = MessagePort.taken(this)) {
            this.emit("message", next.message);
        }
    }
    start(): void {
        this.#listens = true;
        setImmediate(() => this.#deliver());
    }
    on(name: string, run: any): this {
        super.on(name, run);
        if (name === "message") this.start();
        return this;
    }
    addListener(name: string, run: any): this { return this.on(name, run); }
    once(name: string, run: any): this {
        super.once(name, run);
        if (name === "message") this.start();
        return this;
    }
    addEventListener(name: string, run: any): void { this.on(name, (data: unknown) => run({ type: name, data, target: this })); }
    get onmessage(): any { return this.#handler; }
    set onmessage(run: any) {
        if (this.#handler === null) this.on("message", (data: unknown) => this.#handler?.({ type: "message", data, target: this }));
        this.#handler = run;
    }
    close(): void {
        const other = this.#other;
        if (other === undefined) return;
        this.#other = other.#other = undefined;
        for (const port of [this, other]) setImmediate(() => port.emit("close"));
    }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return false; }
}

class MessageChannel {
    readonly port1: MessagePort;
    readonly port2: MessagePort;
    constructor() { [this.port1, this.port2] = MessagePort.pair(); }
}

module.exports = {
    MessageChannel, MessagePort, receiveMessageOnPort: (port: MessagePort) => MessagePort.taken(port),
    isMainThread: true, isInternalThread: false, parentPort: null, workerData: null, threadId: 0, threadName: "",
    resourceLimits: {}, SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"), markAsUntransferable() {},
    markAsUncloneable() {}, isMarkedAsUntransferable: () => false,
    setEnvironmentData(key: unknown, value: unknown) {
        if (value === undefined) kept.delete(key);
        else kept.set(key, value);
    },
    getEnvironmentData: (key: unknown) => kept.get(key),
};
