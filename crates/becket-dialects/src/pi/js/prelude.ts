// Starts an extension: finds the factory among what its module exports and calls it with pi's API.

import { api } from "pi:api";
import { serveCommands } from "pi:commands";
import { contexts } from "pi:context";
import { ask } from "pi:host";
import { serveTools } from "pi:tools";

type Factory = (pi: unknown) => unknown;

/** The factory: the default export, also where another module format has wrapped it. */
function factoryOf(module: any): Factory | undefined {
    const exported = [module?.default, module?.["module.exports"], module];
    const found = exported.flatMap((value) => [value, value?.default, value?.default?.default]);
    return found.find((value) => typeof value === "function");
}

export default async function start(module: unknown): Promise<void> {
    const about = ask("about");
    const factory = factoryOf(module);
    if (factory === undefined) {
        throw new Error(`Extension does not export a valid factory function: ${about.path}`);
    }
    const { event, tool, command } = contexts(about);
    serveTools(tool);
    serveCommands(command, event);
    await factory(api(event));
}
