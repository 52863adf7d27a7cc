// A gate: asks before commands that destroy something, and keeps the agent away from files with secrets.
//
//     becket -e examples/pi/gate.ts "Clean up the build folder"
//
// A handler of `tool_call` that returns `{ block: true }` refuses the call, and the model reads the reason. One that
// throws refuses as well: a gate never fails open.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

const DESTROYS = [/\brm\s+-[a-z]*r/, /\bgit\s+reset\s+--hard/, /\bgit\s+clean\s+-[a-z]*f/, /\bmkfs\b/];
const SECRET = [/(^|\/)\.env(\.|$)/, /(^|\/)\.ssh\//, /\.pem$/];

export default function (pi: ExtensionAPI) {
    pi.on("tool_call", async (event, ctx) => {
        const { command, path } = event.input as { command?: string; path?: string };

        if (path !== undefined && SECRET.some((pattern) => pattern.test(path))) {
            ctx.ui.notify(`kept away from ${path}`, "warning");
            return { block: true, reason: `${path} holds secrets and is not for you` };
        }

        if (event.toolName !== "bash" || !DESTROYS.some((pattern) => pattern.test(command ?? ""))) return;
        // Without a user nobody can say yes, so the answer is no.
        if (!ctx.hasUI) return { block: true, reason: "this destroys something, and nobody is here to ask" };
        const answer = await ctx.ui.select(`Run this?\n\n  ${command}`, ["No", "Yes"]);
        if (answer !== "Yes") return { block: true, reason: "the user said no" };
    });

    // The user's own command lines (`!rm -rf x`) pass the same gate.
    pi.on("user_bash", async (event, ctx) => {
        if (!DESTROYS.some((pattern) => pattern.test(event.command))) return;
        if (await ctx.ui.confirm("Are you sure?", event.command)) return;
        return { result: { output: "not run", exitCode: 1, cancelled: true, truncated: false } };
    });
}
