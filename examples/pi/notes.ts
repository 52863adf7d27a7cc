// A tool with a memory: notes that live in the session, come back when it is resumed, and follow it into its branches.
//
//     becket -e examples/pi/notes.ts "Note that the release is on Friday"
//
// `appendEntry` writes an entry that the model never sees. The entries of a branch give the state of
// exactly this branch, even after a fork or a step back in the tree.

import { Type } from "@sinclair/typebox";
import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent";

const KIND = "notes";

export default function (pi: ExtensionAPI) {
    let notes: string[] = [];

    function restore(ctx: ExtensionContext): void {
        notes = [];
        for (const entry of ctx.sessionManager.getBranch()) {
            if (entry.type === "custom" && entry.customType === KIND) notes = (entry.data as any).notes;
        }
        ctx.ui.setStatus(KIND, notes.length > 0 ? `${notes.length} notes` : undefined);
    }

    // One session follows another, or the same one goes on elsewhere: the notes are those of the place.
    for (const event of ["session_start", "session_switch", "session_fork", "session_tree"] as const) {
        pi.on(event as any, (_event: unknown, ctx: ExtensionContext) => restore(ctx));
    }

    pi.registerTool({
        name: "note",
        label: "Note",
        description: "Keep a note for later in this session. Without a text, list the notes.",
        parameters: Type.Object({ text: Type.Optional(Type.String()) }),
        async execute(_id, params, _signal, _onUpdate, ctx) {
            if (params.text) {
                notes = [...notes, params.text];
                pi.appendEntry(KIND, { notes });
                ctx.ui.setStatus(KIND, `${notes.length} notes`);
            }
            const list = notes.map((note, at) => `${at + 1}. ${note}`).join("\n");
            return { content: [{ type: "text", text: list || "There are no notes." }], details: { notes } };
        },
    });

    pi.registerCommand("bookmark", {
        description: "Label the place where the session stands",
        handler: async (args, ctx) => {
            // Labels are entries too: the place is the last one where somebody spoke.
            let place = ctx.sessionManager.getLeafEntry();
            while (place !== undefined && place.type !== "message") {
                place = place.parentId === null ? undefined : ctx.sessionManager.getEntry(place.parentId);
            }
            if (place === undefined) return ctx.ui.notify("there is nothing to bookmark yet", "warning");
            const label = args.trim() || `note ${notes.length}`;
            const before = ctx.sessionManager.getLabel(place.id);
            pi.setLabel(place.id, label);
            ctx.ui.notify(before ? `${before} is ${label} now` : `bookmarked as ${label}`);
        },
    });
}
