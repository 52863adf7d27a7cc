// Tools for the model that an extension brings: their definitions go to the program, which calls them in `run-tools.ts`.

// pi looks at a definition when it is used, not when it is registered. So one that is odd is taken as far as it can be.

import { ask, notOver, report, textOf } from "pi:host";

type Tool = {
    name: string;
    label?: unknown;
    description?: unknown;
    parameters?: object;
    promptSnippet?: unknown;
    promptGuidelines?: unknown;
    executionMode?: unknown;
    exposure?: unknown;
    defaultActive?: unknown;
    prepareArguments?: (value: unknown) => unknown;
    execute: (id: string, params: any, signal: AbortSignal, update: Update, ctx: unknown) => unknown;
    renderCall?: (args: unknown, theme: unknown, context: unknown) => unknown;
    renderResult?: (result: unknown, options: unknown, theme: unknown, context: unknown) => unknown;
};
type Update = (part: unknown) => void;

/** All that were offered, by name. */
export const tools = new Map<string, Tool>();
const NOTHING = { type: "object", properties: {} };

const MODES = ["sequential", "parallel"];
const EXPOSURES = ["direct", "model-only", "codemode", "deferred", "hidden"];

/** A text in one line, or nothing. */
function oneLine(text: unknown): string | undefined {
    return textOf(text)?.replace(/\s+/g, " ").trim() || undefined;
}

/** The texts of a list, each once. */
function guidelines(given: unknown): string[] {
    const lines = (Array.isArray(given) ? given : [given]).map((line) => textOf(line)?.trim());
    return [...new Set(lines.filter((line) => line !== undefined && line !== ""))] as string[];
}

/** Offers a tool to the model, at load or later. */
export function registerTool(tool: Tool): void {
    notOver();
    const { name, parameters } = tool;
    if (typeof name !== "string" || name === "") return report("register_tool", "registerTool: a tool needs a name");
    ask({
        register_tool: {
            name,
            label: textOf(tool.label) ?? name,
            description: textOf(tool.description) ?? "",
            parameters: typeof parameters === "object" && parameters !== null ? parameters : NOTHING,
            promptSnippet: oneLine(tool.promptSnippet),
            promptGuidelines: guidelines(tool.promptGuidelines),
            executionMode: MODES.find((mode) => mode === tool.executionMode),
            exposure: EXPOSURES.find((exposure) => exposure === tool.exposure),
            defaultActive: typeof tool.defaultActive === "boolean" ? tool.defaultActive : undefined,
            preparesArguments: typeof tool.prepareArguments === "function",
            rendersCall: typeof tool.renderCall === "function",
            rendersResult: typeof tool.renderResult === "function",
        },
    });
    tools.set(name, tool);
}
