// Modules: `createRequire`, and what programs ask about them.

const { argument } = require("internal/errors");

function createRequire(from: any): any {
    const text = typeof from === "string" ? from : from?.href;
    if (typeof text !== "string") throw argument("filename", "a file URL object, file URL string, or absolute path string", from);
    return becket.requireFrom(text.startsWith("file:") ? require("url").fileURLToPath(text) : text);
}

const builtinModules: string[] = becket.host.call("system.modules");

function Module(this: any, id = ""): void {
    Object.assign(this as any, { id, exports: {}, loaded: false });
}

module.exports = Object.assign(Module, {
    Module, createRequire, builtinModules, globalPaths: [],
    isBuiltin: (name: string) => [name, name.replace(/^node:/, "")].some((one) => builtinModules.includes(one)),
    syncBuiltinESMExports() {}, findSourceMap: () => undefined, register() {}, _extensions: {}, _cache: {},
    enableCompileCache: () => ({ status: 3 }), wrap: (code: string) =>
        `(function (exports, require, module, __filename, __dirname) { ${code}\n});`,
    _resolveFilename: (name: string, parent: any) => createRequire(parent?.filename ?? "/").resolve(name),
    _load: (name: string, parent: any) => createRequire(parent?.filename ?? "/")(name),
});
