// A diary: counts every event of a session and tells at its end what happened.
//
//     becket -e examples/pi/diary.ts "Say hello"
//
// Handlers that return nothing change nothing. Other extensions get every turn on the bus.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

const EVENTS = [
    "session_start", "resources_discover", "input", "before_agent_start", "agent_start", "turn_start",
    "context", "before_provider_request", "after_provider_response", "message_start", "message_update",
    "message_end", "tool_execution_start", "tool_call", "tool_execution_update", "tool_result",
    "tool_execution_end", "turn_end", "agent_end", "agent_before_settle", "agent_settled",
    "session_before_compact", "session_compact",
    "session_before_switch", "session_switch", "session_before_fork", "session_fork", "session_before_tree",
    "session_tree", "model_select", "user_bash", "session_shutdown",
];

export default function (pi: ExtensionAPI) {
    const counts = new Map<string, number>();

    for (const name of EVENTS) {
        pi.on(name as any, (event: { type: string }) => {
            counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
        });
    }

    pi.on("turn_end", (event) => {
        pi.events.emit("diary:turn", { turn: event.turnIndex, tools: event.toolResults.length });
    });
    // Whoever wants to can take notes into the diary: `pi.events.emit("diary:note", "…")`.
    const stop = pi.events.on("diary:note", (note) => counts.set(String(note), 1));

    pi.on("session_shutdown", (event, ctx) => {
        stop();
        const lines = [...counts].map(([name, count]) => `${name} ×${count}`);
        ctx.ui.notify(`the session ended (${event.reason}): ${lines.join(", ")}`);
    });
}
