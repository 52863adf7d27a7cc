// A model that thinks no harder than it must: the one you have, with little thinking for short prompts and more for
// long ones, or once something has gone wrong.
//
//     becket chat -e examples/pi/thrifty.ts
//     > /thrifty
//
// A virtual model chooses for each request which model answers, and how hard that one thinks. What it returns as `state`
// is kept in the session, and given to it the next time.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const LONG = 200;

export default function (pi: ExtensionAPI) {
    let usual: any;

    function isHard(messages: readonly any[]): boolean {
        const last = messages.findLast((message) => message.role === "user");
        const failed = messages.some((message) => message.role === "toolResult" && message.isError);
        return failed || JSON.stringify(last?.content ?? "").length > LONG;
    }

    const register = () =>
        pi.registerVirtualModel<{ requests: number }>({
            provider: "thrifty",
            id: "auto",
            name: "Thrifty",
            thinkingLevels: ["low", "high"],
            contextWindow: 128_000,
            route({ messages, state }, ctx) {
                const thinkingLevel = isHard(messages) ? "high" : "low";
                const requests = (state?.requests ?? 0) + 1;
                ctx.ui.notify(`request ${requests}: ${usual.id} thinks ${thinkingLevel}`);
                return { model: usual, thinkingLevel, state: { requests } };
            },
        });

    register();
    pi.registerCommand("thrifty", {
        description: "Think no harder than needed, with the model in use",
        handler: async (_args, ctx) => {
            usual = ctx.model;
            const auto = ctx.modelRegistry.find("thrifty", "auto");
            const chosen = auto !== undefined && (await pi.setModel(auto));
            ctx.ui.notify(chosen ? "thrifty from now on" : "there is no thrifty model");
        },
    });
    pi.registerCommand("lavish", {
        description: "Back to the model as it was",
        handler: async (_args, ctx) => {
            if (usual !== undefined) await pi.setModel(usual);
            pi.unregisterVirtualModel("thrifty", "auto");
            ctx.ui.notify(`thrifty models left: ${ctx.modelRegistry.find("thrifty", "auto")?.id ?? "none"}`);
        },
    });
}
