// What extensions see of results, models and programs: a line for each, in `noted.jsonl`.

import { appendFileSync } from "node:fs";

const note = (...values: any[]) => appendFileSync("noted.jsonl", `${JSON.stringify(values)}\n`);
const text = (words: string) => ({ type: "text", text: words });

export default function (pi: any) {
    const nothing = { type: "object", properties: {} };
    const tool = (name: string, execute: any, parameters: object = nothing) =>
        pi.registerTool({ name, label: name, description: "d", parameters, execute });
    tool("two", async () => ({ content: [text("a"), text("b")] }));
    tool("flagged", async () => ({ content: [text("no")], details: {}, isError: true }));
    tool("thrower", async () => {
        throw new Error("thrown");
    });
    tool("empty", async () => ({ details: { a: 1 } }));
    const path = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
    tool("read", async (_: string, params: any) => {
        note("read got", params.path);
        return { content: [text("read")] };
    }, path);
    pi.on("tool_result", ({ toolCallId, isError, details }: any) => {
        const { patch, ...others } = details ?? {};
        note(`result ${toolCallId}`, isError, details === undefined ? null : others);
    });
    pi.on("message_end", ({ message }: any) => {
        if (message.role !== "toolResult") return;
        note(`message ${message.toolCallId}`, message.details?.firstChangedLine ?? null);
    });
    pi.on("model_select", (event: any) => note("selected", event.model.id));
    pi.on("before_agent_start", ({ systemPromptOptions }: any) => {
        note("snippets", systemPromptOptions.toolSnippets.bash, systemPromptOptions.toolSnippets.edit);
    });
    pi.on("session_start", async (_: any, ctx: any) => {
        for (const level of ["xhigh", "bogus", "low"]) {
            pi.setThinkingLevel(level);
            note(`level ${level}`, pi.getThinkingLevel());
        }
        await pi.setModel(ctx.model);
        await pi.setModel(ctx.modelRegistry.find("lab", "two"));
        await pi.setModel(ctx.modelRegistry.find("lab", "two"));
        const ended = async (name: string, ...words: any[]) => {
            const { code, killed, stdout } = await (pi.exec as any)(...words);
            note(`exec ${name}`, code, killed, stdout);
        };
        await ended("killed", "sh", ["-c", "kill -9 $$"]);
        await ended("late", "sleep", ["5"], { timeout: 200 });
        await ended("absent", "no-such-program", []);
        await ended("failed", "sh", ["-c", "echo a; exit 3"]);
    });
}
