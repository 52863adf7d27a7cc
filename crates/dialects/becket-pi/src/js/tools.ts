// Tools for the model that an extension brings: their definitions go to the program, which calls them in `run-tools.ts`.

import { ask, mustBe, notOver } from "pi:host";

type Tool = {
    name: string;
    label?: string;
    description: string;
    parameters?: object;
    promptSnippet?: string;
    promptGuidelines?: string[];
    executionMode?: "sequential" | "parallel";
    prepareArguments?: (value: unknown) => unknown;
    execute: (id: string, params: any, signal: AbortSignal, update: Update, ctx: unknown) => unknown;
    renderCall?: (args: unknown, theme: unknown, context: unknown) => unknown;
    renderResult?: (result: unknown, options: unknown, theme: unknown, context: unknown) => unknown;
};
type Update = (part: unknown) => void;

/** All that were offered, by name. */
export const tools = new Map<string, Tool>();
const NOTHING = { type: "object", properties: {} };

/** Offers a tool to the model, at load or later. */
export function registerTool(tool: Tool): void {
    notOver();
    const { name, description, execute, parameters = NOTHING } = tool ?? {};
    mustBe("string", name, "registerTool: name");
    mustBe("string", description, `registerTool("${name}"): description`);
    mustBe("function", execute, `registerTool("${name}"): execute`);
    if (typeof parameters !== "object" || parameters === null) {
        throw new TypeError(`registerTool("${name}"): parameters must be a schema`);
    }
    ask({
        register_tool: {
            name,
            label: tool.label ?? name,
            description,
            parameters,
            promptSnippet: tool.promptSnippet,
            promptGuidelines: tool.promptGuidelines ?? [],
            executionMode: tool.executionMode,
            preparesArguments: typeof tool.prepareArguments === "function",
            rendersCall: typeof tool.renderCall === "function",
            rendersResult: typeof tool.renderResult === "function",
        },
    });
    tools.set(name, tool);
}
