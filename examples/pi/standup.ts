// Commands for the user: `/standup` has the model sum up the day, `/about` shows what the session can do.
//
//     becket -e examples/pi/standup.ts "/standup yesterday"
//
// A command runs before the model gets anything. It sends messages to the model with `sendUserMessage` or,
// in its own name, with `sendMessage`.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

const SINCE = ["today", "yesterday", "monday"];

export default function (pi: ExtensionAPI) {
    pi.registerCommand("standup", {
        description: "Sum up the commits since a day",
        getArgumentCompletions: (prefix) =>
            SINCE.filter((day) => day.startsWith(prefix)).map((day) => ({ value: day, label: day })),
        handler: async (args, ctx) => {
            const since = args.trim() || "today";
            const log = await pi.exec("git", ["log", "--oneline", `--since=${since}`], { timeout: 10_000 });
            if (log.code !== 0 || log.stdout.trim() === "") {
                ctx.ui.notify(`no commits since ${since}`, "info");
                return;
            }
            pi.setSessionName(`standup since ${since}`);
            pi.sendUserMessage(`Sum up this work for a standup:\n\n${log.stdout}`);
            await ctx.waitForIdle();
            ctx.ui.notify(`to be read aloud in ${seconds(ctx)} seconds`);
        },
    });

    pi.registerCommand("about", {
        description: "Show what this session can do",
        handler: async (_args, ctx) => ctx.ui.notify(about(ctx)),
    });

    // The same at the press of a key, where there are keys.
    pi.registerShortcut("ctrl+shift+a", {
        description: "Show what this session can do",
        handler: (ctx) => ctx.ui.notify(about(ctx)),
    });

    /** How long it takes to say what the model said last. */
    function seconds(ctx: ExtensionContext): number {
        const entry = ctx.sessionManager.getLeafEntry();
        if (entry?.type !== "message" || entry.message.role !== "assistant") return 0;
        const said = entry.message.content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
        return Math.ceil(said.split(/\s+/).length / 2.5);
    }

    function about(ctx: ExtensionContext): string {
        const tools = pi.getAllTools().map((tool) => tool.name);
        const commands = pi.getCommands().map((command) => `/${command.name}`);
        return [
            `session: ${pi.getSessionName() ?? "without a name"} in ${ctx.cwd}, mode ${ctx.mode}`,
            `a user answers: ${ctx.hasUI}, trusted: ${ctx.isProjectTrusted()}`,
            `tools: ${pi.getActiveTools().length} of ${tools.length} (${tools.join(", ")})`,
            `commands: ${commands.join(", ")}`,
        ].join("\n");
    }
}
