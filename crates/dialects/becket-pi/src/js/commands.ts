// What an extension brings for the user: commands, keys, and options of the command line.

import { ask, mustBe, notOver } from "pi:host";

type Command = {
    description?: string;
    getArgumentCompletions?: (prefix: string) => unknown;
    handler: (args: string, ctx: unknown) => unknown;
};
type Shortcut = { description?: string; handler: (ctx: unknown) => unknown };
type Flag = { type: "boolean" | "string"; default?: boolean | string; description?: string };

/** All that were brought, by name and by key. */
export const commands = new Map<string, Command>();
export const shortcuts = new Map<string, Shortcut>();
const flags = new Set<string>();

export function registerCommand(name: string, options: Command): void {
    notOver();
    mustBe("string", name, "registerCommand: the name");
    mustBe("function", options?.handler, `registerCommand("${name}"): handler`);
    const completes = typeof options.getArgumentCompletions === "function";
    ask({ register_command: { name, description: options.description, completes } });
    commands.set(name, options);
}

export function registerShortcut(key: string, options: Shortcut): void {
    notOver();
    mustBe("string", key, "registerShortcut: the key");
    mustBe("function", options?.handler, `registerShortcut("${key}"): handler`);
    ask({ register_shortcut: { key, description: options.description } });
    shortcuts.set(key, options);
}

export function registerFlag(name: string, options: Flag): void {
    notOver();
    mustBe("string", name, "registerFlag: the name");
    const { type, default: preset, description } = options ?? {};
    if (type !== "boolean" && type !== "string") {
        throw new TypeError(`registerFlag("${name}"): type must be "boolean" or "string"`);
    }
    ask({ register_flag: { name, type, default: preset, description } });
    flags.add(name);
}

/** What an option of this extension's is set to; options of others are none of its business. */
export function getFlag(name: string): boolean | string | undefined {
    notOver();
    return flags.has(name) ? ask({ get_flag: { name } }) : undefined;
}
