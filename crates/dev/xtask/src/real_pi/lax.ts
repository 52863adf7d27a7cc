// What pi takes of odd definitions, and what it does with them: a line for each, in `noted.jsonl`.

import { appendFileSync } from "node:fs";

const note = (...values: any[]) => appendFileSync("noted.jsonl", `${JSON.stringify(values)}\n`);

export default function (pi: any) {
    const parameters = { type: "object", properties: {} };
    const execute = async () => ({ content: [{ type: "text", text: "fine" }] });
    const taken = (name: string, register: () => unknown) => {
        try {
            register();
            note(name, true);
        } catch {
            note(name, false);
        }
    };
    const tool = (name: string, more: object) =>
        taken(name, () => pi.registerTool({ name, parameters, execute, ...more }));
    tool("labelled", { label: () => "L", description: "d" });
    tool("undescribed", { label: "x" });
    tool("numbered", { label: 3, description: 5 });
    tool("idle", { label: "x", description: "d", execute: undefined });
    tool("hurried", { label: "x", description: "d", executionMode: "other" });
    taken("a command without a handler", () => pi.registerCommand("none", { description: "x" }));
    taken("a key without a handler", () => pi.registerShortcut("ctrl+y", {}));
    taken("an option of another type", () => pi.registerFlag("odd", { type: "number", default: 3 }));
    taken("an event that does not exist", () => pi.on("nothing_such", () => {}));
    taken("no handler", () => pi.on("session_start"));
    note("the option", pi.getFlag("odd"));
    pi.on("session_start", (_: any, ctx: any) => {
        note("absent", typeof pi.somethingElse, typeof ctx.modelRegistry.somethingElse);
        note("described", pi.getAllTools().filter((one: any) => ["labelled", "idle"].includes(one.name))
            .map((one: any) => [one.name, one.description]));
    });
}
