// A store that follows the code of one call. The engine does not say which code continues which, so the store is there
// until the function has returned and, if it gives a promise, until the promise is settled; what runs in between for
// somebody else sees it too.

class AsyncLocalStorage {
    #stack: { store: any }[] = [];

    run(store: any, run: any, ...values: any[]): any {
        const entry = { store };
        const leave = () => {
            const at = this.#stack.indexOf(entry);
            if (at >= 0) this.#stack.splice(at, 1);
        };
        this.#stack.push(entry);
        let result: any;
        try {
            result = run(...values);
        } catch (error) {
            leave();
            throw error;
        }
        if (!(result instanceof Promise)) {
            leave();
            return result;
        }
        return result.finally(leave);
    }

    exit(run: any, ...values: any[]): any { return this.run(undefined, run, ...values); }
    getStore(): any { return this.#stack[this.#stack.length - 1]?.store; }
    enterWith(store: any): void { this.#stack.push({ store }); }
    disable(): void { this.#stack = []; }
    static bind(run: any): any { return run; }
    static snapshot(): any { return (run: any, ...values: any[]) => run(...values); }
}

class AsyncResource {
    constructor(readonly type: string) {}
    runInAsyncScope(run: any, self?: any, ...values: any[]): any { return run.apply(self, values); }
    emitDestroy() { return this; }
    asyncId() { return 1; }
    triggerAsyncId() { return 0; }
    bind(run: any): any { return run.bind(this); }
    static bind(run: any): any { return run; }
}

module.exports = {
    AsyncLocalStorage, AsyncResource, executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}),
    asyncWrapProviders: {},
};
