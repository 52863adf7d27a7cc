// Every extension is the main thread of its own engine, and there is no other one.

const kept = new Map<unknown, unknown>();

module.exports = {
    isMainThread: true, isInternalThread: false, parentPort: null, workerData: null, threadId: 0, threadName: "",
    resourceLimits: {}, SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"), markAsUntransferable() {},
    markAsUncloneable() {}, isMarkedAsUntransferable: () => false,
    setEnvironmentData(key: unknown, value: unknown) {
        if (value === undefined) kept.delete(key);
        else kept.set(key, value);
    },
    getEnvironmentData: (key: unknown) => kept.get(key),
};
