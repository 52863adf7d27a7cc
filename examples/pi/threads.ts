// Threads of work: a task continues in its own conversation, and afterwards you return to the old one.
//
//     becket -e examples/pi/threads.ts "/thread What is here?"
//
//   /thread GOAL       starts a conversation for a goal, which remembers where it came from
//   /return            goes back there
//   /again WORDS       rephrases the last question, in a copy of the conversation; the old one stays
//   /rewind [summary]  goes back to before the last question, optionally with a summary of what came after it
//   /refresh           loads extensions, skills, prompt templates and themes anew

import type { ExtensionAPI, ExtensionCommandContext } from "@mariozechner/pi-coding-agent";

const KIND = "thread";

/** The last question of the user. */
function lastQuestion(ctx: ExtensionCommandContext): any {
    const branch = ctx.sessionManager.getBranch();
    return branch.findLast((entry: any) => entry.type === "message" && entry.message.role === "user");
}

export default function (pi: ExtensionAPI) {
    pi.registerCommand("thread", {
        description: "Begin a conversation for a goal",
        handler: async (goal, ctx) => {
            const from = ctx.sessionManager.getSessionFile();
            const { cancelled } = await ctx.newSession({
                parentSession: from,
                setup: async (session) => {
                    session.appendCustomEntry(KIND, { from });
                    session.appendSessionInfo(goal);
                },
                withSession: async (thread) => {
                    thread.ui.notify(`Thread: ${thread.sessionManager.getSessionName()}`, "info");
                    await thread.sendUserMessage(goal);
                },
            });
            if (cancelled) ctx.ui.notify("No thread was begun", "warning");
        },
    });

    pi.registerCommand("return", {
        description: "Go back to where this thread came from",
        handler: async (_args, ctx) => {
            const entries = ctx.sessionManager.getEntries();
            const begun: any = entries.find((entry: any) => entry.type === "custom" && entry.customType === KIND);
            if (begun === undefined) return ctx.ui.notify("This is no thread", "warning");
            await ctx.switchSession(begun.data.from, {
                withSession: async (back) => {
                    const messages = back.sessionManager.buildSessionContext().messages.length;
                    back.ui.notify(`Back, with ${messages} messages`, "info");
                },
            });
        },
    });

    pi.registerCommand("again", {
        description: "Say the last question in other words",
        handler: async (words, ctx) => {
            const question = lastQuestion(ctx);
            if (question === undefined) return ctx.ui.notify("Nothing was asked yet", "warning");
            await ctx.fork(question.id, { withSession: async (copy) => copy.sendUserMessage(words) });
        },
    });

    pi.registerCommand("rewind", {
        description: "Go back to before the last question",
        handler: async (args, ctx) => {
            await ctx.waitForIdle();
            const question = lastQuestion(ctx);
            if (question === undefined) return ctx.ui.notify("Nothing was asked yet", "warning");
            await ctx.navigateTree(question.id, { summarize: args === "summary" });
            ctx.ui.notify("Rewound", "info");
        },
    });

    pi.registerCommand("refresh", {
        description: "Load extensions anew",
        handler: async (_args, ctx) => {
            await ctx.reload();
        },
    });

    pi.on("session_start", (event, ctx) => {
        if (event.reason === "reload") ctx.ui.notify("Loaded anew", "info");
    });
}
