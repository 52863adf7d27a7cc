// Paths: text only, but for `resolve`, which needs the working directory.

const { argument } = require("internal/errors");

function text(value: unknown, name: string): string {
    if (typeof value !== "string") throw argument(name, "of type string", value);
    return value;
}

function make(sep: string, isSep: (letter: string) => boolean, rootOf: (path: string) => string, cwd: () => string) {
    /** Takes out `.` and `..` and doubled separators. */
    function clean(path: string, absolute: boolean): string {
        const parts: string[] = [];
        let part = "";
        for (let at = 0; at <= path.length; at++) {
            if (at < path.length && !isSep(path[at])) {
                part += path[at];
                continue;
            }
            if (part === "..") {
                if (parts.length > 0 && parts[parts.length - 1] !== "..") parts.pop();
                else if (!absolute) parts.push(part);
            } else if (part !== "" && part !== ".") {
                parts.push(part);
            }
            part = "";
        }
        return parts.join(sep);
    }

    const isRooted = (root: string) => root !== "" && isSep(root[root.length - 1]);

    function normalize(path: string): string {
        if (text(path, "path") === "") return ".";
        const root = rootOf(path);
        const rest = path.slice(root.length);
        let cleaned = clean(rest, isRooted(root));
        if (cleaned === "" && !isRooted(root)) cleaned = ".";
        if (cleaned !== "" && isSep(path[path.length - 1]) && rest !== "") cleaned += sep;
        return root.replace(/[\\/]+/g, (all) => (sep === "/" ? "/" : "\\".repeat(Math.min(all.length, 2)))) + cleaned;
    }

    function join(...paths: string[]): string {
        const given = paths.map((path) => text(path, "path")).filter((path) => path !== "");
        return given.length === 0 ? "." : normalize(given.join(sep));
    }

    function resolve(...paths: string[]): string {
        let path = "";
        for (let at = paths.length - 1; at >= -1; at--) {
            const next = at >= 0 ? text(paths[at], `paths[${at}]`) : cwd();
            if (next === "") continue;
            path = path === "" ? next : `${next}${sep}${path}`;
            if (isRooted(rootOf(next))) break;
        }
        const root = rootOf(path);
        return (sep === "/" ? "/" : root.replaceAll("/", "\\")) + clean(path.slice(root.length), true) || ".";
    }

    function isAbsolute(path: string): boolean {
        return isRooted(rootOf(text(path, "path")));
    }

    /** Where the last part begins and ends. */
    function last(path: string): [number, number] {
        const root = rootOf(path).length;
        let end = path.length;
        while (end > root && isSep(path[end - 1])) end--;
        let begin = end;
        while (begin > root && !isSep(path[begin - 1])) begin--;
        return [begin, end];
    }

    function dirname(path: string): string {
        if (text(path, "path") === "") return ".";
        const root = rootOf(path);
        const [begin] = last(path);
        if (begin <= root.length) return root === "" ? "." : root;
        return path.slice(0, Math.max(begin - 1, root.length));
    }

    function basename(path: string, suffix?: string): string {
        if (suffix !== undefined) text(suffix, "suffix");
        const [begin, end] = last(text(path, "path"));
        const name = path.slice(begin, end);
        if (suffix === path) return "";
        return suffix && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
    }

    function extname(path: string): string {
        const name = basename(text(path, "path"));
        const dot = name.lastIndexOf(".");
        return dot <= 0 || name === ".." ? "" : name.slice(dot);
    }

    function relative(from: string, to: string): string {
        const [start, goal] = [resolve(text(from, "from")), resolve(text(to, "to"))];
        if (start === goal) return "";
        const [a, b] = [start, goal].map((path) => path.split(sep).filter((part) => part !== ""));
        const same = (x: string, y: string) => (sep === "/" ? x === y : x.toLowerCase() === y.toLowerCase());
        if (sep !== "/" && !same(a[0], b[0])) return goal;
        let common = 0;
        while (common < a.length && common < b.length && same(a[common], b[common])) common++;
        return [...a.slice(common).map(() => ".."), ...b.slice(common)].join(sep);
    }

    function parse(path: string) {
        const root = rootOf(text(path, "path"));
        const [begin, end] = last(path);
        const base = path.slice(begin, end);
        const ext = extname(base);
        let dir = path.slice(0, begin);
        if (dir.length > root.length) dir = dir.slice(0, -1);
        return { root, dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
    }

    function format(parts: any): string {
        if (parts === null || typeof parts !== "object") throw argument("pathObject", "of type object", parts);
        const dir = parts.dir || parts.root;
        const ext = parts.ext ? (parts.ext[0] === "." ? parts.ext : `.${parts.ext}`) : "";
        const base = parts.base || `${parts.name || ""}${ext}`;
        if (!dir) return base;
        return dir === parts.root ? `${dir}${base}` : `${dir}${sep}${base}`;
    }

    function matchesGlob(path: string, pattern: string): boolean {
        const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&");
        const regex = escaped.replace(/\*\*\/?|\*|\?/g, (found) =>
            found === "?" ? "[^/]" : found === "*" ? "[^/]*" : "(?:.*/)?");
        return new RegExp(`^${regex}$`).test(path);
    }

    return {
        resolve, normalize, isAbsolute, join, relative, dirname, basename, extname, format, parse, matchesGlob, sep,
        delimiter: sep === "/" ? ":" : ";", toNamespacedPath: (path: string) => path,
    };
}

const cwd = () => becket.host.call("system.cwd") as string;
const posix: any = make("/", (letter) => letter === "/", (path) => (path[0] === "/" ? "/" : ""), cwd);
const win32: any = make(
    "\\",
    (letter) => letter === "/" || letter === "\\",
    (path) => /^([a-zA-Z]:[\\/]?|[\\/]{2}[^\\/]+[\\/]+[^\\/]+[\\/]?|[\\/])/.exec(path)?.[0] ?? "",
    () => `C:${cwd().replaceAll("/", "\\")}`,
);
posix.posix = win32.posix = posix;
posix.win32 = win32.win32 = win32;
module.exports = posix;
