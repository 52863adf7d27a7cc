// The console, which is a global too; and consoles that write to streams.

const { format } = require("internal/inspect");

class Console {
    constructor(stdout: any, stderr: any = stdout) {
        const [out, err] = stdout?.stdout ? [stdout.stdout, stdout.stderr ?? stdout.stdout] : [stdout, stderr];
        const line = (stream: any) => (...values: any[]) => { stream.write(`${format(...values)}\n`); };
        Object.assign(this, {
            log: line(out), info: line(out), debug: line(out), error: line(err), warn: line(err), trace: line(err),
            dir: (value: any) => line(out)(value),
        });
    }
}

const nothing = () => {};

module.exports = Object.assign(Object.create(globalThis.console ?? {}), globalThis.console, {
    Console, profile: nothing, profileEnd: nothing, timeStamp: nothing, context: () => globalThis.console,
    createTask: () => ({ run: (run: () => unknown) => run() }),
});
