// Timers as promises.

const { aborted } = require("internal/errors");

function wait(start: (done: () => void) => unknown, stop: (timer: any) => void, value: any, signal: any): Promise<any> {
    return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(aborted(signal));
        const cancel = () => { stop(timer); reject(aborted(signal)); };
        const timer = start(() => { signal?.removeEventListener("abort", cancel); resolve(value); });
        signal?.addEventListener("abort", cancel, { once: true });
    });
}

const pause = (delay?: number, value?: any, options: any = {}) =>
    wait((done) => setTimeout(done, delay), clearTimeout, value, options?.signal);

async function* interval(delay?: number, value?: any, options: any = {}) {
    for (;;) yield await pause(delay, value, options);
}

module.exports = {
    setTimeout: pause,
    setImmediate: (value?: any, options: any = {}) => wait((done) => setImmediate(done), clearImmediate, value, options?.signal),
    setInterval: interval,
    scheduler: { wait: (delay: number, options?: any) => pause(delay, undefined, options), yield: () => pause(0) },
};
