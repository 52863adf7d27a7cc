// What an extension brings for the person: commands, keys, and options of the command line.

import { ask, messageOf, mustBe, notOver, serve } from "pi:host";

type Command = {
    description?: string;
    getArgumentCompletions?: (prefix: string) => unknown;
    handler: (args: string, ctx: unknown) => unknown;
};
type Shortcut = { description?: string; handler: (ctx: unknown) => unknown };
type Flag = { type: "boolean" | "string"; default?: boolean | string; description?: string };

const commands = new Map<string, Command>();
const shortcuts = new Map<string, Shortcut>();
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

async function outcome(run: () => unknown): Promise<{ error?: string }> {
    try {
        await run();
        return {};
    } catch (error) {
        return { error: messageOf(error) };
    }
}

/** Lets the program run commands and keys, which are given these contexts. */
export function serveCommands(forCommands: unknown, forKeys: unknown): void {
    serve("run_command", ({ name, arguments: args }) =>
        outcome(() => {
            const command = commands.get(name);
            if (command === undefined) throw new Error(`there is no command /${name} any more`);
            return command.handler(args, forCommands);
        }),
    );
    serve("run_shortcut", ({ key }) => outcome(() => shortcuts.get(key)?.handler(forKeys)));
}

serve("complete_argument", async ({ name, prefix }) => {
    const items = await commands.get(name)?.getArgumentCompletions?.(prefix);
    if (!Array.isArray(items)) return null;
    return items.map((item) => {
        const { value, label, description } = typeof item === "string" ? { value: item } as any : item;
        return { value: String(value ?? label), label: String(label ?? value), description };
    });
});
