// What an extension brings for the user: commands, keys, and options of the command line. As in pi, one without a
// handler is taken, and fails when it is used.

import { ask, mustBe, notOver, textOf } from "pi:host";

type Command = {
    description?: unknown;
    getArgumentCompletions?: (prefix: string) => unknown;
    handler?: (args: string, ctx: unknown) => unknown;
};
type Shortcut = { description?: unknown; handler?: (ctx: unknown) => unknown };
type Flag = { type?: unknown; default?: unknown; description?: unknown };

/** All that were brought, by name and by key. */
export const commands = new Map<string, Command>();
export const shortcuts = new Map<string, Shortcut>();

/** The options, and what each is where nobody says anything. */
const flags = new Map<string, unknown>();

export function registerCommand(name: string, options: Command): void {
    notOver();
    mustBe("string", name, "registerCommand: the name");
    const completes = typeof options?.getArgumentCompletions === "function";
    ask({ register_command: { name, description: textOf(options?.description), completes } });
    commands.set(name, options ?? {});
}

export function registerShortcut(key: string, options: Shortcut): void {
    notOver();
    mustBe("string", key, "registerShortcut: the key");
    ask({ register_shortcut: { key, description: textOf(options?.description) } });
    shortcuts.set(key, options ?? {});
}

export function registerFlag(name: string, options: Flag): void {
    notOver();
    mustBe("string", name, "registerFlag: the name");
    const { type, default: preset, description } = options ?? {};
    const kind = type === "boolean" ? "boolean" : "string";
    const known = typeof preset === "boolean" || typeof preset === "string" ? preset : undefined;
    ask({ register_flag: { name, type: kind, default: known, description: textOf(description) } });
    flags.set(name, preset);
}

/** What an option of this extension's is set to; options of others are none of its business. */
export function getFlag(name: string): unknown {
    notOver();
    return flags.has(name) ? (ask({ get_flag: { name } }) ?? flags.get(name)) : undefined;
}
