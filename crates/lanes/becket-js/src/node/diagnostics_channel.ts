// Channels on which modules tell what they do.

const channels = new Map<string | symbol, Channel>();

class Channel {
    #subscribers: any[] = [];
    constructor(readonly name: string | symbol) {}
    get hasSubscribers() { return this.#subscribers.length > 0; }
    subscribe(run: any) { this.#subscribers.push(run); }
    unsubscribe(run: any) {
        const at = this.#subscribers.indexOf(run);
        if (at >= 0) this.#subscribers.splice(at, 1);
        return at >= 0;
    }
    publish(message: any) { for (const run of [...this.#subscribers]) run(message, this.name); }
    bindStore() {}
    unbindStore() {}
    runStores(message: any, run: any, self?: any, ...values: any[]) {
        this.publish(message);
        return run.apply(self, values);
    }
}

function channel(name: string | symbol): Channel {
    const known = channels.get(name) ?? new Channel(name);
    channels.set(name, known);
    return known;
}

const steps = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

/** Five channels that tell what a function does: that it begins and ends, later ends, or fails. */
class TracingChannel {
    start!: Channel;
    end!: Channel;
    asyncStart!: Channel;
    asyncEnd!: Channel;
    error!: Channel;

    constructor(given: any) {
        for (const step of steps) {
            this[step] = typeof given === "string" ? channel(`tracing:${given}:${step}`) : given[step];
        }
    }

    get hasSubscribers() { return steps.some((step) => this[step]?.hasSubscribers); }
    subscribe(handlers: any) {
        for (const step of steps) if (handlers[step]) this[step]?.subscribe(handlers[step]);
    }
    unsubscribe(handlers: any) {
        return steps.filter((step) => handlers[step])
            .map((step) => this[step]?.unsubscribe(handlers[step])).every((done) => done);
    }

    #fail(context: any, error: unknown): void {
        context.error = error;
        this.error.publish(context);
    }

    /** Runs a function between the first two channels. */
    #between(context: any, run: () => any): any {
        return this.start.runStores(context, () => {
            try {
                return run();
            } catch (error) {
                this.#fail(context, error);
                throw error;
            } finally {
                this.end.publish(context);
            }
        });
    }

    traceSync(run: any, context: any = {}, self?: any, ...values: any[]): any {
        if (!this.hasSubscribers) return run.apply(self, values);
        return this.#between(context, () => context.result = run.apply(self, values));
    }

    /** The same for one that gives a promise; the other channels tell how that ends. */
    tracePromise(run: any, context: any = {}, self?: any, ...values: any[]): any {
        if (!this.hasSubscribers) return run.apply(self, values);
        const later = (settle: () => void) => {
            settle();
            this.asyncStart.publish(context);
            this.asyncEnd.publish(context);
        };
        return this.#between(context, () => Promise.resolve(run.apply(self, values)).then((value) => {
            later(() => { context.result = value; });
            return value;
        }, (error) => {
            later(() => this.#fail(context, error));
            throw error;
        }));
    }

    /** The same for one that calls back. */
    traceCallback(run: any, position = -1, context: any = {}, self?: any, ...values: any[]): any {
        if (!this.hasSubscribers) return run.apply(self, values);
        const at = position < 0 ? values.length + position : position;
        const callback = values[at];
        if (typeof callback !== "function") {
            throw require("internal/errors").argument("callback", "of type function", callback);
        }
        values[at] = (...answer: any[]) => {
            if (answer[0]) this.#fail(context, answer[0]);
            else context.result = answer[1];
            this.asyncStart.runStores(context, () => {
                try {
                    return callback(...answer);
                } finally {
                    this.asyncEnd.publish(context);
                }
            });
        };
        return this.#between(context, () => run.apply(self, values));
    }
}

module.exports = {
    Channel, channel, tracingChannel: (given: any) => new TracingChannel(given), hasSubscribers: (name: string) => channel(name).hasSubscribers,
    subscribe: (name: string, run: any) => channel(name).subscribe(run),
    unsubscribe: (name: string, run: any) => channel(name).unsubscribe(run),
};
