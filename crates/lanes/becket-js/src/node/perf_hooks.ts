// Measuring time.

const marks: any[] = [];
const performance: any = globalThis.performance;

function mark(name: string, options: any = {}): any {
    const entry = { name, entryType: "mark", startTime: options.startTime ?? performance.now(), duration: 0,
        detail: options.detail ?? null };
    marks.push(entry);
    return entry;
}

function measure(name: string, from?: any, to?: any): any {
    const at = (given: any, fallback: number) => given === undefined ? fallback : typeof given === "number" ? given
        : marks.findLast((one) => one.name === given)?.startTime ?? fallback;
    const [start, end] = typeof from === "object" && from !== null
        ? [at(from.start, 0), at(from.end, performance.now())] : [at(from, 0), at(to, performance.now())];
    const entry = { name, entryType: "measure", startTime: start, duration: end - start, detail: null };
    marks.push(entry);
    return entry;
}

const extra: Record<string, any> = {
    mark, measure, getEntries: () => [...marks],
    getEntriesByName: (name: string) => marks.filter((one) => one.name === name),
    getEntriesByType: (type: string) => marks.filter((one) => one.entryType === type),
    clearMarks: (name?: string) => remove("mark", name), clearMeasures: (name?: string) => remove("measure", name),
    timerify: (run: any) => run, eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
    toJSON: () => ({ timeOrigin: performance.timeOrigin }),
};

function remove(type: string, name?: string): void {
    for (let at = marks.length - 1; at >= 0; at--) {
        if (marks[at].entryType === type && (name === undefined || marks[at].name === name)) marks.splice(at, 1);
    }
}
for (const name of Object.keys(extra)) {
    Object.defineProperty(performance, name, { configurable: true, writable: true, value: extra[name] });
}

class PerformanceObserver {
    static supportedEntryTypes = [];
    observe() {}
    disconnect() {}
    takeRecords() { return []; }
}

module.exports = {
    performance, PerformanceObserver, constants: {},
};
