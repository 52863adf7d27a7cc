// Starts an extension: finds the factory among what its module exports and calls it with pi's API.

import { api } from "pi:api";
import { ask, room, serve } from "pi:host";

type Factory = (pi: unknown) => unknown;

/** The factory: the default export, also where another module format has wrapped it. */
function factoryOf(module: any): Factory | undefined {
    const exported = [module?.default, module?.["module.exports"], module];
    const found = exported.flatMap((value) => [value, value?.default, value?.default?.default]);
    return found.find((value) => typeof value === "function");
}

/** What the program calls that no registration offers by itself, and where it is. */
const SERVICES: Record<string, string> = {
    "pi:run-tools": "prepare_arguments execute_tool abort_tool",
    "pi:run-commands": "run_command run_shortcut complete_argument",
    "pi:run-shell": "run_shell abort_shell",
    "pi:setting-up": "set_up",
    "pi:renderers": "render_message render_call render_result resolve_renderers transform_markdown",
    "pi:screen": "render_component overlay_visible component_key set_editor_text terminal_input suggest",
};

function serveFrom(module: string): void {
    for (const name of SERVICES[module].split(" ")) serve(name, (value) => room(module)[name](value));
}

export default async function start(module: unknown): Promise<void> {
    const factory = factoryOf(module);
    if (factory === undefined) {
        const { path } = room("pi:context").about;
        const line = ask("export_line");
        throw new Error(`Extension does not export a valid factory function: ${path}:${line}`);
    }
    Object.keys(SERVICES).forEach(serveFrom);
    await factory(api);
}
