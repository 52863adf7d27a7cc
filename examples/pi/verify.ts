// Does not let the model stop, nor you leave the session, while your check fails.
//
//     becket -e examples/pi/verify.ts --check "cargo test" "Fix the parser"
//
// `agent_before_settle` fires when the model wants to stop. `continue` makes it continue, and the text of a message
// that is not displayed says why. becket gives a handler 30 seconds; `timeout` in `[pi]` of its settings gives it more.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

const ATTEMPTS = 3;

export default function (pi: ExtensionAPI) {
    let edited = false;
    let attempts = 0;

    pi.registerFlag("check", { type: "string", description: "A command that must succeed" });

    /** What the check says while it is red. */
    async function complaint(ctx: ExtensionContext): Promise<string | undefined> {
        const command = pi.getFlag("check");
        if (typeof command !== "string") return undefined;
        const run = await pi.exec("sh", ["-c", command], { cwd: ctx.cwd, signal: ctx.signal });
        if (run.code === 0) return undefined;
        return (run.stdout + run.stderr).slice(-4000).trim() || `exit code ${run.code}`;
    }

    pi.on("input", () => {
        attempts = 0;
    });
    // Only what was changed needs to be checked again.
    pi.on("tool_result", (event) => {
        if (!event.isError && ["edit", "write", "bash"].includes(event.toolName)) edited = true;
    });

    pi.on("agent_before_settle", async (_event, ctx) => {
        if (!edited) return;
        const red = await complaint(ctx);
        edited = red !== undefined;
        if (red === undefined) return ctx.ui.notify("the check is green");
        if (++attempts > ATTEMPTS) return ctx.ui.notify(`still red after ${ATTEMPTS} attempts`, "warning");
        const content = `You are not done: the check failed.\n\n${red}`;
        return {
            continue: true,
            entries: [{ type: "custom_message", customType: "verify", content, display: false }],
        };
    });

    pi.on("session_before_switch", async (_event, ctx) => {
        const red = await complaint(ctx);
        if (red === undefined) return;
        ctx.ui.notify(`the check is red: ${red}`, "error");
        return { cancel: true };
    });
}
