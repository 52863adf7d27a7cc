// The console: lines for the user, worded as Node words them. It is loaded when an extension first asks for it.
//
// `log`, `info`, `debug` are lines of text; `warn`, `error`, `trace` and failed assertions are warnings.

export default (becket: any) => {
    const { print } = becket;

    /** Node's own formatting, where Node's modules are served. */
    function util(): any {
        try {
            return becket.builtin?.("util");
        } catch {
            return undefined;
        }
    }

    function shown(value: unknown): string {
        if (typeof value === "string") return value;
        try {
            if (value instanceof Error) return value.stack || `${value}`;
            return (typeof value === "object" ? JSON.stringify(value) : undefined) ?? String(value);
        } catch {
            return "[a value that cannot be shown]";
        }
    }

    function inspect(value: unknown, options?: unknown): string {
        return util()?.inspect(value, options) ?? shown(value);
    }

    function format(values: unknown[]): string {
        if (values.length === 1 && typeof values[0] === "string") return values[0];
        return util()?.format(...values) ?? values.map(shown).join(" ");
    }

    let indent = "";
    const counts = new Map<string, number>();
    const times = new Map<string, number>();

    function line(error: boolean, values: unknown[]): void {
        const text = format(values);
        print(error, indent === "" ? text : indent + text.replaceAll("\n", `\n${indent}`));
    }

    function lasted(label: string): string | undefined {
        const began = times.get(label);
        if (began === undefined) {
            line(true, [`Warning: No such label '${label}' for console.time()`]);
            return undefined;
        }
        const spent = Date.now() - began;
        return spent < 1000 ? `${label}: ${spent}ms` : `${label}: ${(spent / 1000).toFixed(3)}s`;
    }

    // ---------------------------------------------------------------- tables

    function table(rows: any, wanted?: string[]): void {
        if (typeof rows !== "object" || rows === null) return line(false, [rows]);
        const entries: [string, any][] = rows instanceof Map ? [...rows].map(([key, row]) => [shown(key), row])
            : rows instanceof Set ? [...rows].map((row, at) => [String(at), row]) : Object.entries(rows);
        const columns: string[] = [...(wanted ?? [])];
        let values = false;
        for (const [, row] of entries) {
            if (typeof row !== "object" || row === null) values = true;
            else if (wanted === undefined) {
                for (const name of Object.keys(row)) if (!columns.includes(name)) columns.push(name);
            }
        }
        const heads = ["(index)", ...columns, ...(values ? ["Values"] : [])];
        const cells = entries.map(([key, row]) => {
            const isObject = typeof row === "object" && row !== null;
            const fields = columns.map((name) => isObject && Object.hasOwn(row, name) ? cell(row[name]) : "");
            return [key, ...fields, ...(values ? [isObject ? "" : cell(row)] : [])];
        });
        line(false, [drawn(heads, cells)]);
    }

    function cell(value: unknown): string {
        return inspect(value, { depth: 0, breakLength: Infinity });
    }

    function drawn(heads: string[], cells: string[][]): string {
        const widths = heads.map((head, at) => Math.max(head.length, ...cells.map((row) => row[at].length)));
        const row = (texts: string[]) => `│ ${texts.map((text, at) => text.padEnd(widths[at])).join(" │ ")} │`;
        const rule = (left: string, middle: string, right: string) =>
            left + widths.map((width) => "─".repeat(width + 2)).join(middle) + right;
        const body = cells.map((texts) => row(texts));
        return [rule("┌", "┬", "┐"), row(heads), rule("├", "┼", "┤"), ...body, rule("└", "┴", "┘")].join("\n");
    }

    // ---------------------------------------------------------------- what scripts see

    const log = (...values: unknown[]) => line(false, values);
    const warn = (...values: unknown[]) => line(true, values);
    const group = (...values: unknown[]) => {
        if (values.length > 0) log(...values);
        indent += "  ";
    };
    return {
        log, info: log, debug: log, warn, error: warn, table,
        dir: (value: unknown, options?: object) => line(false, [inspect(value, { customInspect: false, ...options })]),
        dirxml: log,
        trace: (...values: unknown[]) => {
            const stack = new Error().stack?.split("\n").slice(2).join("\n") ?? "";
            warn(`Trace${values.length > 0 ? `: ${format(values)}` : ""}\n${stack}`);
        },
        assert: (holds: unknown, ...values: unknown[]) => {
            if (holds) return;
            if (typeof values[0] === "string") warn(`Assertion failed: ${values[0]}`, ...values.slice(1));
            else warn("Assertion failed", ...values);
        },
        clear: () => {},
        count: (label: unknown = "default") => {
            const count = (counts.get(`${label}`) ?? 0) + 1;
            counts.set(`${label}`, count);
            log(`${label}: ${count}`);
        },
        countReset: (label: unknown = "default") => void counts.delete(`${label}`),
        group, groupCollapsed: group,
        groupEnd: () => { indent = indent.slice(2); },
        time: (label: unknown = "default") => {
            if (times.has(`${label}`)) warn(`Warning: Label '${label}' already exists for console.time()`);
            else times.set(`${label}`, Date.now());
        },
        timeLog: (label: unknown = "default", ...values: unknown[]) => {
            const text = lasted(`${label}`);
            if (text !== undefined) log(text, ...values);
        },
        timeEnd: (label: unknown = "default") => {
            const text = lasted(`${label}`);
            if (text !== undefined) log(text);
            times.delete(`${label}`);
        },
    };
};
