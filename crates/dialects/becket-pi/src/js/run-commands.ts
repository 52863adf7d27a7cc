// Runs an extension's commands and keys for the program.

import { api } from "pi:api";
import { commands, shortcuts } from "pi:commands";
import { context, extended, see } from "pi:context";
import { askLater, described, end, inSession, renewed, room } from "pi:host";

type Went = { cancelled: boolean };
type WithSession = (ctx: unknown) => unknown;

async function waitForIdle(): Promise<void> {
    inSession();
    await askLater("wait_for_idle");
}

/** Goes on in another session, if nobody minds. What the command holds of this one is good for nothing then. */
async function goOn(call: string | Record<string, unknown>, withSession?: WithSession): Promise<Went> {
    const { cancelled } = await askLater(call);
    if (!cancelled) {
        end();
        await withSession?.(renewed(forReplaced));
    }
    return { cancelled };
}

/** The context that commands are given. */
const forCommands = extended(context, {
    waitForIdle,
    async newSession(options: any = {}): Promise<Went> {
        inSession();
        const { parentSession, setup, withSession } = options;
        const id = typeof setup === "function" ? room("pi:setting-up").waits(setup) : undefined;
        try {
            return await goOn({ new_session: { parentSession, setup: id } }, withSession);
        } finally {
            if (id !== undefined) room("pi:setting-up").forget(id);
        }
    },
    async fork(entryId: string, options: any = {}): Promise<Went> {
        inSession();
        const { position, withSession } = options;
        return goOn({ fork: { entryId: String(entryId), position } }, withSession);
    },
    async switchSession(sessionPath: string, options: any = {}): Promise<Went> {
        inSession();
        return goOn({ switch_session: { sessionPath: String(sessionPath) } }, options.withSession);
    },
    async navigateTree(targetId: string, options: any = {}): Promise<Went> {
        inSession();
        const { summarize, customInstructions, replaceInstructions, label } = options;
        const how = { summarize, customInstructions, replaceInstructions, label };
        const { cancelled } = await askLater({ navigate_tree: { targetId: String(targetId), ...how } });
        return { cancelled };
    },
    async reload(): Promise<void> {
        inSession();
        await goOn("reload");
    },
    getSystemPromptOptions: (): unknown => see("system_prompt_options"),
});

/** The same for the session that a command has gone on in. What is said there is waited for. */
const forReplaced = extended(forCommands, {
    async sendMessage(message: unknown, options?: unknown): Promise<void> {
        (api.sendMessage as any)(message, options);
        await askLater("wait_for_idle");
    },
    async sendUserMessage(content: unknown, options?: unknown): Promise<void> {
        (api.sendUserMessage as any)(content, options);
        await askLater("wait_for_idle");
    },
});

type Outcome = { error?: string; message?: string };

/** The message of an error alone, if it has one. */
function messageOf(error: any): string | undefined {
    try {
        return String(error?.message ?? error) || undefined;
    } catch {
        return undefined;
    }
}

async function outcome(run: () => unknown): Promise<Outcome> {
    try {
        await run();
        return {};
    } catch (error) {
        return { error: described(error), message: messageOf(error) };
    }
}

export function run_command({ name, arguments: args }: any): Promise<Outcome> {
    return outcome(() => {
        const command = commands.get(name);
        if (command === undefined) throw new Error(`there is no command /${name} any more`);
        if (typeof command.handler !== "function") throw new TypeError("command.handler is not a function");
        return command.handler(args, forCommands);
    });
}

export function run_shortcut({ key }: any): Promise<Outcome> {
    return outcome(() => {
        const shortcut = shortcuts.get(key);
        if (typeof shortcut?.handler !== "function") throw new TypeError("shortcut.handler is not a function");
        return shortcut.handler(context);
    });
}

export async function complete_argument({ name, prefix }: any): Promise<unknown> {
    const items = await commands.get(name)?.getArgumentCompletions?.(prefix);
    if (!Array.isArray(items)) return null;
    return items.map((item) => {
        const { value, label, description } = typeof item === "string" ? { value: item } as any : item;
        return { value: String(value ?? label), label: String(label ?? value), description };
    });
}
