// The modules of one extension in Node: found by becket, so that they are the same files as in the embedded engine, and
// run here. What the author wrote and what becket brings is linked by this file; other packages are loaded by Node.
//
// Everything is linked before it runs, also what is only required: linking takes its time, and `require` cannot wait.

const { createRequire } = require("node:module");
const { fileURLToPath, pathToFileURL } = require("node:url");
const vm = require("node:vm");

/** Who runs a module: `native` and `package` are ES modules and CommonJS that are Node's business. */
type Kind = "host" | "node" | "module" | "commonjs" | "json" | "native" | "package";
/** Where a module is. */
type Found = { id: string; kind: Kind; interop?: boolean };
/** `names` are what it exports, if that can be seen; `asks` are the names that it asks of others. */
type Text = { code: string; requires: string[]; names: string[] | null; asks: Record<string, string[]> };
/** Asks becket, which answers at once. */
type Ask = (what: "find" | "read", words: string) => string;
type Loaded = { id: string; filename: string; exports: any; loaded: boolean; require: any; children: unknown[] };

const { parse, stringify } = JSON;
const real = createRequire("/");

/** One linking at a time in the whole process: what somebody else is linking cannot be used yet. */
let linking: Promise<unknown> = Promise.resolve();

/** Modules that becket brings: their texts, and what the engine has compiled of them. The same for all extensions. */
const brought = {
    found: new Map<string, Found>(),
    texts: new Map<string, Text>(),
    compiled: new Map<string, Buffer>(),
};

class Modules {
    #entry: string;
    #becket: unknown;
    #ask: Ask;
    #modules = new Map<string, any>();
    #runs = new Map<string, Promise<unknown>>();
    #required: Record<string, Loaded> = Object.create(null);
    #cache = bothOf(this.#required, real.cache);
    /** What modules export, if that is known, and what they ask of others. */
    #offers = new WeakMap<object, string[] | null>();
    #asks = new WeakMap<object, Record<string, string[]>>();
    /** The module behind one that hands it on. */
    #behind = new WeakMap<object, unknown>();
    #waiting: any[] = [];
    #prepared = new Set<string>();

    constructor(entry: string, becket: unknown, ask: Ask) {
        this.#entry = entry;
        this.#becket = becket;
        this.#ask = ask;
    }

    /** Runs a module, if nobody has, and gives what it exports. */
    async import(name: string, base = this.#entry): Promise<any> {
        const found = this.#find(base, name, false);
        const module = await this.#made(found);
        await this.#linked(module);
        if (module.status === "linked") this.#runs.set(found.id, module.evaluate());
        await this.#runs.get(found.id);
        if (module.status === "errored") throw module.error;
        return module.namespace;
    }

    /** What a module exports, at once. */
    load(name: string): any {
        return this.#loaded(this.#find(this.#entry, name, true), this.#entry);
    }

    // ---------------------------------------------------------------- finding

    #find(base: string, name: string, required: boolean): Found {
        const known = brought.found.get(name);
        if (known !== undefined) return known;
        const words = `${stringify(base)}\t${stringify(name)}\t${required ? "+" : "."}`;
        const found: Found = parse(this.#ask("find", words));
        if (found.kind === "host" || found.kind === "node") brought.found.set(name, found);
        return found;
    }

    #text({ id, kind }: Found): Text {
        const known = brought.texts.get(id);
        if (known !== undefined) return known;
        const text: Text = parse(this.#ask("read", stringify(id)));
        if (kind === "host") brought.texts.set(id, text);
        return text;
    }

    // ---------------------------------------------------------------- ES modules

    /** The module for what was found; not linked yet if it is new. */
    #made(found: Found): any {
        const { id, interop } = found;
        const key = interop ? `interop:${id}` : id;
        let module = this.#modules.get(key);
        if (module === undefined) this.#modules.set(key, (module = this.#make(found)));
        return module;
    }

    #make(found: Found): any {
        const { id, kind, interop = false } = found;
        switch (kind) {
            case "host":
            case "module":
                return this.#source(found);
            case "node":
            case "native": {
                const address = kind === "node" ? id : pathToFileURL(id).href;
                // What an author's file requires in this way is found as everything else is.
                const createRequire = (from: string | URL) => this.#requireFrom(fileOf(from));
                const own = id === "node:module" ? { createRequire } : {};
                return import(address).then((all) => this.#synthetic(id, Object.keys(all), () => ({ ...all, ...own })));
            }
            case "package": {
                const all = withDefault(this.#loaded(found, this.#entry), interop);
                return this.#synthetic(id, Object.keys(all), () => all);
            }
            default: {
                this.#prepare(found);
                const names = kind === "json" ? [] : this.#text(found).names ?? [];
                return this.#synthetic(id, names, () => withDefault(this.#loaded(found, id), interop));
            }
        }
    }

    /** A module with these names, whose values are known when it runs. */
    #synthetic(id: string, names: string[], values: () => any): any {
        const all = [...new Set(["default", ...names])];
        const module = new vm.SyntheticModule(all, function (this: any) {
            const given = values();
            for (const name of all) this.setExport(name, given?.[name]);
        }, { identifier: id });
        this.#offers.set(module, all);
        return module;
    }

    /**
     * A module that has everything that is asked of it. Types are asked for like values where files pass on names, and
     * exist nowhere: what a module does not have is `undefined`, and fails nobody who does not use it.
     */
    async #completed(found: Found, asked: string[]): Promise<any> {
        const module = await this.#made(found);
        const offered = this.#offers.get(module);
        const lacking = offered == null ? [] : asked.filter((name) => !offered.includes(name));
        if (lacking.length === 0) return module;
        const { id, kind, interop = false } = found;
        if (kind === "commonjs" || kind === "json") {
            // What it really has is known when it has run.
            const values = () => withDefault(this.#loaded(found, id), interop);
            return this.#synthetic(id, [...offered!, ...lacking], values);
        }
        const passed = offered!.includes("default") ? `export { default } from "${kind}";` : "";
        const empty = lacking.map((name, at) => `var v${at}; export { v${at} as ${name} };`).join("");
        const completed = new vm.SourceTextModule(`export * from "${kind}";${passed}${empty}`, { identifier: id });
        this.#behind.set(completed, module);
        return completed;
    }

    #source(found: Found): any {
        const { id, kind } = found;
        const text = this.#text(found);
        const options = {
            identifier: id,
            cachedData: brought.compiled.get(id),
            initializeImportMeta: (meta: any) => this.#describe(meta, found),
            importModuleDynamically: (name: string) => this.import(name, id),
        };
        const module = new vm.SourceTextModule(text.code, options);
        this.#offers.set(module, text.names);
        this.#asks.set(module, text.asks);
        if (kind === "host" && options.cachedData === undefined) brought.compiled.set(id, module.createCachedData());
        this.#prepare(found);
        return module;
    }

    /** Links a module, everything that it imports, and what any of them may require. */
    #linked(module: any): Promise<void> {
        const linker = (name: string, from: any) => this.#behind.get(from)
            ?? this.#completed(this.#find(from.identifier, name, false), this.#asks.get(from)?.[name] ?? []);
        const linked = linking.then(async () => {
            if (module.status === "unlinked") await module.link(linker);
            for (let other = this.#waiting.pop(); other !== undefined; other = this.#waiting.pop()) {
                // Whoever requires it hears what is wrong with it.
                if (other.status === "unlinked") await other.link(linker).catch(() => {});
            }
        });
        linking = linked.catch(() => {});
        return linked;
    }

    /** Makes the ES modules that a file may require, before anybody does. */
    #prepare(found: Found): void {
        if (this.#prepared.has(found.id)) return;
        this.#prepared.add(found.id);
        for (const name of found.kind === "json" ? [] : this.#text(found).requires) {
            try {
                const required = this.#find(found.id, name, true);
                if (required.kind === "commonjs") this.#prepare(required);
                if (required.kind === "host" || required.kind === "module") this.#waiting.push(this.#made(required));
            } catch {
                // Nobody may ever require it; who does hears of it then.
            }
        }
    }

    #describe(meta: any, { id, kind }: Found): void {
        if (kind === "host") return Object.assign(meta, { url: id, becket: this.#becket }) as any;
        meta.url = pathToFileURL(id).href;
        meta.filename = id;
        meta.dirname = folderOf(id);
        meta.resolve = (name: string) => {
            const { id: wanted, kind: how } = this.#find(id, name, false);
            return how === "host" || how === "node" ? wanted : pathToFileURL(wanted).href;
        };
        meta.require = this.#requireFrom(id);
    }

    // ---------------------------------------------------------------- CommonJS

    /** What a module exports, at once. */
    #loaded(found: Found, base: string): any {
        const { id, kind } = found;
        switch (kind) {
            case "node":
                return real(id);
            case "native":
            case "package":
                return createRequire(base.startsWith("/") ? base : this.#entry)(id);
            case "host":
            case "module":
                return this.#namespace(found);
        }
        const known = this.#required[id];
        if (known !== undefined) return known.exports;
        const require = this.#requireFrom(id);
        const module: Loaded = { id, filename: id, exports: {}, loaded: false, require, children: [] };
        this.#required[id] = module;
        try {
            this.#run(found, module);
        } catch (error) {
            delete this.#required[id];
            throw error;
        }
        module.loaded = true;
        return module.exports;
    }

    #run(found: Found, module: Loaded): void {
        const { id } = found;
        const { code } = this.#text(found);
        if (found.kind === "json") {
            module.exports = parse(code);
            return;
        }
        const names = ["exports", "require", "module", "__filename", "__dirname"];
        const importModuleDynamically = (name: string) => this.import(name, id);
        const run = vm.compileFunction(code, names, { filename: id, importModuleDynamically });
        run.call(module.exports, module.exports, module.require, module, id, folderOf(id));
    }

    /** An ES module, run at once. */
    #namespace(found: Found): any {
        const module = this.#made(found);
        if (module.status === "unlinked") {
            throw new Error(`cannot require ${found.id}: nobody has linked it; import it instead`);
        }
        if (module.status === "linked") {
            const run = module.evaluate();
            run.catch(() => {});
            this.#runs.set(found.id, run);
        }
        if (module.status === "errored") throw module.error;
        const all = module.namespace;
        return "module.exports" in all ? all["module.exports"] : all;
    }

    #requireFrom(base: string): any {
        const require = (name: string) => this.#loaded(this.#find(base, name, true), base);
        const resolve = (name: string) => this.#find(base, name, true).id;
        return Object.assign(require, {
            resolve: Object.assign(resolve, { paths: () => [] }),
            cache: this.#cache,
            main: undefined,
            extensions: real.extensions,
        });
    }
}

/** What is in either of two tables, the first one first. */
function bothOf(first: Record<string, any>, second: Record<string, any>): Record<string, any> {
    return new Proxy(first, {
        get: (_, name: string) => first[name] ?? second[name],
        has: (_, name) => name in first || name in second,
        ownKeys: () => [...new Set([...Reflect.ownKeys(first), ...Reflect.ownKeys(second)])],
        getOwnPropertyDescriptor: (_, name: string) => {
            const value = first[name] ?? second[name];
            return value && { value, configurable: true, enumerable: true, writable: true };
        },
        deleteProperty: (_, name: string) => delete first[name] && delete second[name],
    });
}

function fileOf(from: string | URL): string {
    return String(from).startsWith("file:") ? fileURLToPath(from) : String(from);
}

function folderOf(file: string): string {
    return file.slice(0, file.lastIndexOf("/")) || "/";
}

/** What an ES module sees of CommonJS. If that was an ES module once, the default is what was called so there. */
function withDefault(all: any, interop: boolean): any {
    const value = interop && all?.__esModule && "default" in all ? all.default : all;
    return all !== null && /object|function/.test(typeof all) ? { ...all, default: value } : { default: value };
}

exports.Modules = Modules;
