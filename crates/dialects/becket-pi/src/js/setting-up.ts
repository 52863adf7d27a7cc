// Sets up new sessions: `setup` of `ctx.newSession` is given a session manager that writes. The session is not there
// yet when it does, so its entries are collected here, and the program begins the session with them. Where it will be
// is known already.

import { described, later, room } from "pi:host";
import { treeOf } from "pi:session";

type Entry = { type: string; id: string; parentId: string | null; timestamp: string; [name: string]: any };
type Setup = (sessionManager: unknown) => unknown;
type Coming = { cwd: string; sessionDir: string; sessionId: string; sessionFile: string | null; header: unknown };

const waiting = new Map<number, Setup>();
let last = 0;

/** Keeps a function until the program asks for it; gives the number by which it does. */
export function waits(setup: Setup): number {
    waiting.set(++last, setup);
    return last;
}

/** Forgets a function that nobody has asked for. */
export function forget(id: number | undefined): void {
    if (id !== undefined) waiting.delete(id);
}

const copied = (value: any): any => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** A session that only has its entries, and its place. */
function collector({ cwd, sessionDir, sessionId, sessionFile, header }: Coming) {
    const entries: Entry[] = [];
    let leaf: string | null = null;
    const find = (id: string | null) => entries.find((entry) => entry.id === id);
    const append = (type: string, fields: object): string => {
        let id: string;
        do id = Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, "0");
        while (find(id) !== undefined);
        entries.push({ type, id, parentId: leaf, timestamp: new Date().toISOString(), ...copied(fields) });
        leaf = id;
        return id;
    };
    const branch = (id: string): void => {
        if (find(id) === undefined) throw new Error(`Entry ${id} not found`);
        leaf = id;
    };
    const named = () => entries.filter((entry) => entry.type === "session_info").at(-1)?.name;
    const manager = {
        appendMessage: (message: unknown) => append("message", { message }),
        appendThinkingLevelChange: (thinkingLevel: string) => append("thinking_level_change", { thinkingLevel }),
        appendModelChange: (provider: string, modelId: string) => append("model_change", { provider, modelId }),
        appendCompaction: (
            summary: string, firstKeptEntryId: string, tokensBefore: number, details?: unknown, fromHook?: boolean,
        ) => append("compaction", { summary, firstKeptEntryId, tokensBefore, details, fromHook }),
        appendCustomEntry: (customType: string, data?: unknown) => append("custom", { customType, data }),
        appendCustomMessageEntry: (customType: string, content: unknown, display: boolean, details?: unknown) =>
            append("custom_message", { customType, content, display, details }),
        appendSessionInfo: (name: string) => append("session_info", { name: String(name).trim() }),
        appendLabelChange(targetId: string, label?: string): string {
            if (find(targetId) === undefined) throw new Error(`Entry ${targetId} not found`);
            return append("label", { targetId, label });
        },
        branch,
        resetLeaf: (): void => void (leaf = null),
        branchWithSummary(id: string | null, summary: string, details?: unknown, fromHook?: boolean): string {
            if (id === null) leaf = null;
            else branch(id);
            return append("branch_summary", { fromId: id ?? "root", summary, details, fromHook });
        },
        getCwd: () => cwd,
        getSessionDir: () => sessionDir,
        getSessionId: () => sessionId,
        getSessionFile: () => sessionFile ?? undefined,
        getHeader: () => header,
        isPersisted: () => sessionFile !== null,
        getEntries: (): Entry[] => [...entries],
        getEntryCount: (): number => entries.length,
        getEntry: find,
        getLeafId: () => leaf,
        getLeafEntry: () => find(leaf),
        getChildren: (id: string | null) => entries.filter((entry) => entry.parentId === id),
        getLabel: (id: string) =>
            entries.filter((entry) => entry.type === "label" && entry.targetId === id).at(-1)?.label,
        getSessionName: () => named() || undefined,
        getBranch(from: string | null = leaf): Entry[] {
            const way: Entry[] = [];
            for (let entry = find(from); entry !== undefined; entry = find(entry.parentId)) way.unshift(entry);
            return way;
        },
        getTree: () => treeOf(entries),
        buildSessionContext: () => room("pi:agent-text").buildSessionContext(entries, leaf),
        // A session that is only about to begin has no other files and no other sessions.
        newSession: later("sessionManager.newSession"),
        setSessionFile: later("sessionManager.setSessionFile"),
        createBranchedSession: later("sessionManager.createBranchedSession"),
    };
    return { manager, standing: () => ({ entries, leafId: leaf }) };
}

export async function set_up({ id, session }: { id: number; session: Coming }): Promise<unknown> {
    const setup = waiting.get(id);
    waiting.delete(id);
    const { manager, standing } = collector(session);
    try {
        await setup?.(manager);
    } catch (error) {
        return { entries: [], error: described(error) };
    }
    return standing();
}
