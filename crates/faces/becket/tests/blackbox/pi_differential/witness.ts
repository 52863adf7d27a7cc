// Notes what an extension sees of its session, for pi and for becket: a line of JSON for each thing, in `noted.jsonl`.

import { appendFileSync } from "node:fs";

const note = (...values: any[]) => appendFileSync("noted.jsonl", `${JSON.stringify(values)}\n`);

export default function (pi: any) {
    pi.on("input", (event: any) => note("input", event.text, event.source));
    pi.on("session_start", (event: any) => note("session_start", event.reason));
    pi.on("session_before_switch", (event: any) => note("session_before_switch", event.reason));
    pi.on("thinking_level_select", (event: any) =>
        note("thinking_level_select", event.level, event.previousLevel));
    pi.on("session_compact", (event: any, ctx: any) => {
        const { compactionEntry: entry } = event;
        const stored = ctx.sessionManager.getEntry(entry.id);
        const fields = ["id", "parentId", "summary", "firstKeptEntryId", "tokensBefore"];
        note("session_compact", fields.map((name) => entry[name] !== undefined && entry[name] === stored[name]));
    });
    pi.on("session_tree", (event: any) => {
        const { fromId, parentId } = event.summaryEntry;
        note("session_tree", fromId === (parentId ?? "root"));
    });
    pi.on("model_select", () => {
        throw new TypeError("no other model");
    });
    pi.registerCommand("broken", {
        handler: async () => {
            throw new RangeError("in a command", { cause: new Error("for a reason") });
        },
    });
    pi.registerCommand("back", {
        handler: async (_: string, ctx: any) => {
            const isAnswer = (entry: any) => entry.message?.role === "assistant";
            const first = ctx.sessionManager.getEntries().find(isAnswer);
            await ctx.navigateTree(first.id, { summarize: true });
            const summary = ctx.sessionManager.getLeafEntry();
            note("back", summary.type, summary.parentId === first.id, summary.fromId === first.id);
        },
    });
    pi.registerCommand("fresh", {
        handler: async (_: string, ctx: any) => {
            const { cwd } = ctx;
            const setup = async (session: any) => {
                session.appendMessage({ role: "user", content: [{ type: "text", text: "planted" }], timestamp: 1 });
                const header = session.getHeader();
                note("header", header.type, header.version, header.id === session.getSessionId());
                // Whether it is kept: pi forgets `--no-session` here.
                note("place", session.getCwd() === cwd, typeof session.getSessionDir());
                note("context", session.buildSessionContext().messages.map((message: any) => message.content));
                const leaves = (nodes: any[]): any[] =>
                    nodes.flatMap((node) => (node.children.length === 0 ? [node.entry] : leaves(node.children)));
                note("tree", leaves(session.getTree()).map((entry) => entry.message.content));
                note("leaf", session.getLeafEntry().id === session.getLeafId());
            };
            const withSession = async (next: any) => note("fresh", next.sessionManager.getBranch().length > 0);
            await ctx.newSession({ setup, withSession });
        },
    });
}
