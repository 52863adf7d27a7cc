// Watches the branches of a session. If you leave one with a summary, it lists what you asked there, which costs no
// request. Only entries with a label can be forked.
//
//     becket -e examples/pi/branches.ts "What is here?"
//
// `becket sessions goto ENTRY --summary` and `becket sessions fork ENTRY` then ask this extension first.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** What the user said in a message. */
function words(message: any): string {
    const parts = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    return parts.map((part: any) => part.text ?? "").join("");
}

export default function (pi: ExtensionAPI) {
    pi.on("session_before_tree", (event) => {
        const { entriesToSummarize, userWantsSummary } = event.preparation;
        const said = entriesToSummarize.filter((entry: any) => entry.message?.role === "user");
        if (!userWantsSummary || said.length === 0) return;
        const lines = said.map((entry: any) => `- ${words(entry.message)}`);
        return { summary: { summary: `On another branch the user asked:\n${lines.join("\n")}` } };
    });
    pi.on("session_tree", (event, ctx) => {
        // Versions of pi differ in whether extensions may ask for this.
        const session = ctx.sessionManager as any;
        const from = event.summaryEntry?.parentId ?? event.newLeafId;
        ctx.ui.notify(`${session.getChildren(from).length} ways go on from here`);
    });

    pi.on("session_before_fork", (event, ctx) => {
        if (ctx.sessionManager.getLabel(event.entryId) !== undefined) return;
        ctx.ui.notify("only places with a label are forked", "warning");
        return { cancel: true };
    });
    // Newer versions of pi tell this by `session_start`.
    (pi as any).on("session_fork", (_event: unknown, ctx: any) => {
        ctx.ui.notify(`${ctx.sessionManager.getBranch().length} entries came along`);
    });
}
