// `ctx.sessionManager`: the session as an extension reads it. Every answer is asked for when it is wanted.

import { ask, inSession } from "pi:host";

type Entry = { type: string; id: string; parentId: string | null; timestamp: string; [name: string]: any };
type Node = { entry: Entry; children: Node[]; label?: string; labelTimestamp?: string };

function see(call: Parameters<typeof ask>[0]): any {
    inSession();
    return ask(call);
}

/** The entries as a tree. One whose parent is not there is a root. */
export function treeOf(entries: Entry[]): Node[] {
    const nodes = new Map<string, Node>();
    for (const entry of entries) nodes.set(entry.id, { entry, children: [] });
    const roots: Node[] = [];
    for (const entry of entries) {
        const node = nodes.get(entry.id)!;
        const parent = entry.parentId === entry.id ? undefined : nodes.get(entry.parentId as string);
        (parent?.children ?? roots).push(node);
        if (entry.type !== "label") continue;
        const labelled = nodes.get(entry.targetId);
        if (labelled === undefined) continue;
        labelled.label = entry.label || undefined;
        labelled.labelTimestamp = entry.label ? entry.timestamp : undefined;
    }
    return roots;
}

export const sessionManager = {
    getCwd: (): string => see("session").cwd,
    getSessionDir: (): string => see("session").sessionDir,
    getSessionId: (): string => see("session").sessionId,
    getSessionFile: (): string | undefined => see("session_file") ?? undefined,
    getSessionName: (): string | undefined => see("session").name ?? undefined,
    getLeafId: (): string | null => see("session").leafId,
    getLeafEntry: (): Entry | undefined => {
        const id = see("session").leafId;
        return id === null ? undefined : ask({ session_entry: { id } });
    },
    getChildren: (id: string | null): Entry[] =>
        (see("session_entries") as Entry[]).filter((entry) => entry.parentId === id),
    getEntry: (id: string): Entry | undefined => see({ session_entry: { id } }),
    getLabel: (id: string): string | undefined => see({ session_label: { id } }),
    getBranch: (fromId?: string): Entry[] => see({ session_branch: { fromId } }),
    getHeader: (): unknown => see("session_header") ?? null,
    getEntries: (): Entry[] => see("session_entries"),
    getEntryCount: (): number => (see("session_entries") as Entry[]).length,
    getTree: (): Node[] => treeOf(see("session_entries")),
    buildSessionContext: (): unknown => see("session_context"),
    buildContextEntries: (): Entry[] => see("boundary_context").contextEntries,
};
