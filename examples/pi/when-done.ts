// Runs a command when the agent has nothing left to do: a bell, a message, a build.
//
//     becket -e examples/pi/when-done.ts --when-done "notify-send done" "Translate the README"
//
// `agent_end` comes after every run, and something may follow it: a follow-up, a summary. `agent_settled` comes when
// nothing does.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    pi.registerFlag("when-done", { type: "string", description: "A command to run when everything is done" });

    pi.on("agent_settled", async (_event, ctx) => {
        const command = pi.getFlag("when-done");
        if (typeof command !== "string") return;
        const run = await pi.exec("sh", ["-c", command], { cwd: ctx.cwd, timeout: 20_000 });
        if (run.code !== 0) ctx.ui.notify(`--when-done failed: ${run.stderr.trim() || run.code}`, "warning");
    });
}
