// Lines of a stream.

const EventEmitter = require("events");
const { coded, aborted } = require("internal/errors");

class Interface extends (EventEmitter as any) {
    terminal = false;
    line = "";
    cursor = 0;
    closed = false;
    history: string[] = [];
    #rest = "";
    #paused = false;
    #prompt = "> ";
    #question: any;
    #decoder: any;

    constructor(input: any, output?: any) {
        super();
        const options = input?.input ? input : { input, output };
        this.input = options.input;
        this.output = options.output;
        if (options.prompt !== undefined) this.#prompt = options.prompt;
        this.#decoder = new (require("string_decoder").StringDecoder)("utf8");
        this.input.on("data", (chunk: any) => this.#read(this.#decoder.write(chunk)));
        this.input.on("end", () => {
            this.#read(this.#decoder.end());
            if (this.#rest !== "") this.#line(this.#rest);
            this.#rest = "";
            this.close();
        });
        this.input.on("error", (error: any) => { if (this.listenerCount("error") > 0) this.emit("error", error); });
        const { signal } = options;
        if (signal?.aborted) queueMicrotask(() => this.close());
        else signal?.addEventListener("abort", () => this.close(), { once: true });
    }

    #read(text: string): void {
        const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)|\u2028|\u2029/);
        this.#rest = lines.pop()!;
        for (const line of lines) this.#line(line);
    }

    #line(line: string): void {
        if (this.closed) return;
        const question = this.#question;
        this.#question = undefined;
        if (question) question(line);
        else this.emit("line", line);
    }

    question(query: string, options?: any, callback?: any): void {
        if (typeof options === "function") [options, callback] = [{}, options];
        if (this.closed) throw coded(Error, "ERR_USE_AFTER_CLOSE", "readline was closed");
        if (options?.signal?.aborted) return;
        this.output?.write(query);
        this.#question = callback;
        options?.signal?.addEventListener("abort", () => { this.#question = undefined; }, { once: true });
        this.resume();
    }

    setPrompt(prompt: string) { this.#prompt = prompt; }
    getPrompt() { return this.#prompt; }
    prompt() { this.output?.write(this.#prompt); this.resume(); }
    write(data: any) { if (data !== null && data !== undefined) this.#read(String(data)); }
    pause() {
        if (!this.#paused) { this.#paused = true; this.input.pause(); this.emit("pause"); }
        return this;
    }
    resume() {
        if (this.#paused) { this.#paused = false; this.input.resume(); this.emit("resume"); }
        return this;
    }
    close() {
        if (this.closed) return;
        this.pause();
        this.closed = true;
        this.emit("close");
    }
    getCursorPos() { return { rows: 0, cols: this.cursor }; }
    async *[Symbol.asyncIterator]() {
        const lines: string[] = [];
        let wake = () => {};
        this.on("line", (line: string) => { lines.push(line); wake(); });
        this.on("close", () => wake());
        try {
            for (;;) {
                if (lines.length > 0) yield lines.shift()!;
                else if (this.closed) return;
                else await new Promise<void>((done) => { wake = done; });
            }
        } finally {
            this.close();
        }
    }
    [Symbol.dispose ?? Symbol.for("dispose")]() { this.close(); }
}
Object.defineProperty(Interface.prototype.question, Symbol.for("nodejs.util.promisify.custom"), {
    value(this: any, query: string, options?: any) {
        return new Promise((resolve, reject) => {
            if (options?.signal?.aborted) return reject(aborted(options.signal));
            options?.signal?.addEventListener("abort", () => reject(aborted(options.signal)), { once: true });
            this.question(query, options ?? {}, resolve);
        });
    },
});

const move = (text: string) => (stream: any, ...rest: any[]) => {
    stream?.write(text);
    rest.find((one) => typeof one === "function")?.();
    return true;
};

module.exports = {
    Interface, createInterface: (input: any, output?: any) => new Interface(input, output),
    clearLine: move("\u001b[2K"), clearScreenDown: move("\u001b[0J"), emitKeypressEvents() {},
    cursorTo: (stream: any, x: number, y?: any) => move(typeof y === "number" ? `\u001b[${y + 1};${x + 1}H`
        : `\u001b[${x + 1}G`)(stream, y),
    moveCursor: (stream: any, dx: number, dy: number) => move(
        (dx > 0 ? `\u001b[${dx}C` : dx < 0 ? `\u001b[${-dx}D` : "") +
        (dy > 0 ? `\u001b[${dy}B` : dy < 0 ? `\u001b[${-dy}A` : ""))(stream),
    get promises() { return require("readline/promises"); },
};
