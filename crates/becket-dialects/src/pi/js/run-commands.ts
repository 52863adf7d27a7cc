// Runs an extension's commands and keys for the program.

import { commands, shortcuts } from "pi:commands";
import { context, extended } from "pi:context";
import { askLater, described, inSession, later, laterAsync } from "pi:host";

/** The context that commands are given. */
const forCommands = extended(context, {
    waitForIdle: async (): Promise<void> => {
        inSession();
        await askLater("wait_for_idle");
    },
    newSession: laterAsync("ctx.newSession"),
    fork: laterAsync("ctx.fork"),
    navigateTree: laterAsync("ctx.navigateTree"),
    switchSession: laterAsync("ctx.switchSession"),
    reload: laterAsync("ctx.reload"),
    getSystemPromptOptions: later("ctx.getSystemPromptOptions"),
});

async function outcome(run: () => unknown): Promise<{ error?: string }> {
    try {
        await run();
        return {};
    } catch (error) {
        return { error: described(error) };
    }
}

export function run_command({ name, arguments: args }: any): Promise<{ error?: string }> {
    return outcome(() => {
        const command = commands.get(name);
        if (command === undefined) throw new Error(`there is no command /${name} any more`);
        return command.handler(args, forCommands);
    });
}

export function run_shortcut({ key }: any): Promise<{ error?: string }> {
    return outcome(() => shortcuts.get(key)?.handler(context));
}

export async function complete_argument({ name, prefix }: any): Promise<unknown> {
    const items = await commands.get(name)?.getArgumentCompletions?.(prefix);
    if (!Array.isArray(items)) return null;
    return items.map((item) => {
        const { value, label, description } = typeof item === "string" ? { value: item } as any : item;
        return { value: String(value ?? label), label: String(label ?? value), description };
    });
}
