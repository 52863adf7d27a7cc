// Names the session to a gateway, in a header of every request, and counts the pieces in which an answer came.
//
//     becket chat -e examples/pi/gateway.ts
//
// `before_provider_headers` sees the headers of a request and may change them in place; null removes one. Keys are
// hidden, and stay. `provider_stream_event` gets every piece of an answer as the provider sent it.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
    let pieces = 0;

    pi.on("before_provider_headers", (event, ctx) => {
        pieces = 0;
        event.headers["x-session-id"] = ctx.sessionManager.getSessionId();
        event.headers["user-agent"] = null;
    });

    pi.on("provider_stream_event", () => {
        pieces += 1;
    });

    pi.on("turn_end", (_event, ctx) => {
        ctx.ui.notify(`the answer came in ${pieces} pieces`);
    });
}
