// Modules: `createRequire`, and what programs ask about them.

const { argument } = require("internal/errors");

function createRequire(from: any): any {
    const text = typeof from === "string" ? from : from?.href;
    if (typeof text !== "string") throw argument("filename", "a file URL object, file URL string, or absolute path string", from);
    return becket.requireFrom(text.startsWith("file:") ? require("url").fileURLToPath(text) : text);
}

const builtinModules = ["assert", "assert/strict", "async_hooks", "buffer", "child_process", "console", "constants",
    "crypto", "diagnostics_channel", "events", "fs", "fs/promises", "module", "os", "path", "path/posix", "path/win32",
    "perf_hooks", "process", "querystring", "readline", "readline/promises", "stream", "stream/promises", "stream/web",
    "string_decoder", "timers", "timers/promises", "tty", "url", "util", "util/types"];

function Module(this: any, id = ""): void {
    Object.assign(this as any, { id, exports: {}, loaded: false });
}

module.exports = Object.assign(Module, {
    Module, createRequire, builtinModules, isBuiltin: (name: string) => builtinModules.includes(name.replace(/^node:/, "")),
    syncBuiltinESMExports() {}, findSourceMap: () => undefined, register() {}, _extensions: {}, _cache: {},
    enableCompileCache: () => ({ status: 3 }), wrap: (code: string) =>
        `(function (exports, require, module, __filename, __dirname) { ${code}\n});`,
    _resolveFilename: (name: string, parent: any) => createRequire(parent?.filename ?? "/").resolve(name),
    _load: (name: string, parent: any) => createRequire(parent?.filename ?? "/")(name),
});
