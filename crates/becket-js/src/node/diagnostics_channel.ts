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

module.exports = {
    Channel, channel, hasSubscribers: (name: string) => channel(name).hasSubscribers,
    subscribe: (name: string, run: any) => channel(name).subscribe(run),
    unsubscribe: (name: string, run: any) => channel(name).unsubscribe(run),
};
