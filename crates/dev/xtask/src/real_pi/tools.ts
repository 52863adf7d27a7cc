// The tools that an extension sees when the session begins, and those that the model is offered: a line for each.

import { appendFileSync } from "node:fs";

export default function (pi: any) {
    const note = (...values: any[]) => appendFileSync("noted.jsonl", `${JSON.stringify(values)}\n`);
    const parameters = { type: "object", properties: {} };
    const execute = async () => ({ content: [{ type: "text", text: "fine" }] });
    pi.registerTool({ name: "own", label: "own", description: "d", parameters, execute });
    pi.on("session_start", () => note("tools at first", pi.getActiveTools().sort()));
    pi.on("turn_start", () => note("tools in a turn", pi.getActiveTools().sort()));
}
