// Modules that the engine does not run by itself: Node's, CommonJS and JSON; and the globals that Node's modules bring.
//
// Everything here is made when somebody asks for it: what an extension does not use, it does not pay for.

export default (given: any) => {
    const { native } = given;
    const { create, defineProperty, freeze } = Object;
    /** What Node's modules are given. */
    const inner = freeze({ ...given, requireFrom });

    type Loaded = { id: string; filename: string; exports: any; loaded: boolean };

    const builtins: Record<string, any> = create(null);
    const cache: Record<string, Loaded> = create(null);

    /** One of Node's modules. While it is made, others that need it see what there is so far. */
    function builtin(name: string): any {
        const id = name.startsWith("node:") ? name : `node:${name}`;
        if (id in builtins) return builtins[id].exports;
        const run = native.read(id);
        const module = builtins[id] = { exports: {} };
        run(module.exports, builtin, module, inner);
        return module.exports;
    }

    /** What a module exports, by its name inside of the engine. */
    function load(name: string): any {
        if (name.startsWith("node:")) return builtin(name);
        const known = cache[name];
        if (known !== undefined) return known.exports;
        const module: Loaded = { id: name, filename: name, exports: {}, loaded: false };
        cache[name] = module;
        try {
            run(name, module);
        } catch (error) {
            delete cache[name];
            throw error;
        }
        module.loaded = true;
        return module.exports;
    }

    function run(name: string, module: Loaded): void {
        const read = native.read(name);
        if (read === undefined) {
            const namespace = native.namespace(name);
            module.exports = "module.exports" in namespace ? namespace["module.exports"] : namespace;
        } else if (typeof read === "string") {
            module.exports = parsed(name, read);
        } else {
            const folder = name.slice(0, name.lastIndexOf("/")) || "/";
            read.call(module.exports, module.exports, requireFrom(name), module, name, folder);
        }
    }

    function parsed(name: string, text: string): unknown {
        try {
            return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
        } catch (error) {
            throw new SyntaxError(`${name}: ${(error as Error).message}`);
        }
    }

    function resolve(base: string, name: unknown, required: boolean): string {
        if (typeof name !== "string" || name === "") {
            throw Object.assign(new TypeError('The "id" argument must be a non-empty string'), {
                code: "ERR_INVALID_ARG_VALUE",
            });
        }
        const [found, text] = native.resolve(base, name, required);
        if (!found) throw Object.assign(new Error(text), { code: "MODULE_NOT_FOUND", requireStack: [base] });
        return text;
    }

    /** `require` for the file `base`. */
    function requireFrom(base: string): any {
        const require = (name: string) => load(resolve(base, name, true));
        return Object.assign(require, {
            resolve: Object.assign((name: string) => resolve(base, name, true), { paths: () => [] }),
            cache,
            main: undefined,
            extensions: { ".js": () => {}, ".json": () => {} },
        });
    }

    /** Completes `import.meta` of a file. */
    function describe(meta: any, name: string): void {
        meta.resolve = (wanted: string) => {
            const found = resolve(name, wanted, false).replace(/^interop:/, "");
            return found.startsWith("/") ? builtin("url").pathToFileURL(found).href : found;
        };
        let require: any;
        defineProperty(meta, "require", { configurable: true, get: () => require ??= requireFrom(name) });
    }

    // ---------------------------------------------------------------- globals

    /** The globals that modules export by the same names. */
    const sources: Record<string, string> = {
        buffer: "Buffer Blob File atob btoa",
        url: "URL URLSearchParams",
        util: "TextEncoder TextDecoder",
        events: "Event EventTarget CustomEvent",
        "internal/abort": "AbortController AbortSignal",
        "internal/fetch": "fetch Headers Request Response FormData",
        "internal/webstreams": "ReadableStream WritableStream TransformStream ByteLengthQueuingStrategy" +
            " CountQueuingStrategy TextDecoderStream TextEncoderStream",
        "internal/clone": "structuredClone",
        "internal/intl": "Intl",
        worker_threads: "MessageChannel MessagePort",
    };

    const described: PropertyDescriptor = { configurable: true, enumerable: false, get: undefined, set: undefined };

    /**
     * A global that is made when somebody asks for it: its name, its module, and its name there, if it is not the module
     * itself. One function that holds one text reads and writes it, because every engine has all of them.
     */
    function lazily(name: string, place: string): void {
        const access = (...given: unknown[]) => {
            const [name, module, path] = place.split(" ");
            const value = given.length > 0 ? given[0] : path === undefined ? builtin(module) : builtin(module)[path];
            defineProperty(globalThis, name, { configurable: true, enumerable: false, writable: true, value });
            return value;
        };
        described.get = described.set = access;
        defineProperty(globalThis, name, described);
    }

    for (const module of Object.keys(sources)) {
        for (const name of sources[module].split(" ")) lazily(name, `${name} ${module} ${name}`);
    }
    lazily("process", "process process");
    lazily("crypto", "crypto crypto webcrypto");

    // Packages that are made for browsers as well look at it as soon as they are loaded.
    let navigator: any;
    defineProperty(globalThis, "navigator", {
        configurable: true, get: () => navigator ??= {
            userAgent: "Node.js/20", language: "en-US", languages: ["en-US"], platform: builtin("os").platform(),
            hardwareConcurrency: builtin("os").availableParallelism(),
        },
    });

    // The engine only knows what time it is; the rest is defined by who first uses some of it.
    const measuring = "mark measure getEntries getEntriesByName getEntriesByType clearMarks clearMeasures timerify" +
        " eventLoopUtilization toJSON";
    for (const name of measuring.split(" ")) {
        defineProperty(performance, name, {
            configurable: true, get: () => (builtin("perf_hooks"), (performance as any)[name]),
        });
    }

    // The engine knows no languages; what its own methods would do with them is done here.
    function localise(type: any, name: string, kind: string): void {
        defineProperty(type.prototype, name, {
            configurable: true, writable: true, value(...given: any[]) {
                return builtin("internal/intl").local[kind](this.valueOf(), ...given);
            },
        });
    }
    localise(Number, "toLocaleString", "number");
    localise(BigInt, "toLocaleString", "number");
    localise(Date, "toLocaleString", "both");
    localise(Date, "toLocaleDateString", "date");
    localise(Date, "toLocaleTimeString", "time");
    localise(String, "localeCompare", "compare");

    given.builtin = builtin;
    given.made = (name: string) => builtins[`node:${name}`]?.exports;
    given.load = (name: string) => load(resolve("/", name, true));
    return { builtin, require: load, describe };
};
