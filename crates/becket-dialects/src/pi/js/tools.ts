// Tools for the model that an extension brings: their definitions go to the program, which calls them here.

import { ask, messageOf, mustBe, notOver, serve } from "pi:host";

type Result = { content: unknown[]; details?: unknown; terminate?: boolean; isError?: boolean };
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
};
type Update = (part: unknown) => void;

const tools = new Map<string, Tool>();
const running = new Map<string, AbortController>();
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
        },
    });
    tools.set(name, tool);
}

/** What a tool gave back in one shape; what is none of pi's is a failure. */
function resultOf(tool: string, given: any): Result {
    if (typeof given !== "object" || given === null) {
        throw new Error(`the tool "${tool}" gave back no result: an object with content is needed`);
    }
    const { content, details, terminate, isError } = given;
    const words = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return { content: words ?? [], details, terminate: terminate === true, isError: isError === true };
}

function failed(error: unknown): Result {
    return { content: [{ type: "text", text: messageOf(error) }], details: {}, isError: true };
}

serve("prepare_arguments", ({ tool, arguments: written }) => {
    try {
        return { arguments: tools.get(tool)?.prepareArguments?.(written) ?? written };
    } catch (error) {
        return { failed: messageOf(error) };
    }
});

/** Lets the program run tools, which are given this context. */
export function serveTools(context: unknown): void {
    serve("execute_tool", async ({ tool: name, callId, arguments: params }) => {
        const controller = new AbortController();
        const update = (part: unknown) => {
            // What comes after the end, nobody waits for.
            if (running.get(callId) === controller) {
                ask({ tool_update: { callId, result: resultOf(name, part) } });
            }
        };
        running.set(callId, controller);
        try {
            const tool = tools.get(name);
            if (tool === undefined) throw new Error(`Tool ${name} not found`);
            return resultOf(name, await tool.execute(callId, params, controller.signal, update, context));
        } catch (error) {
            return failed(error);
        } finally {
            running.delete(callId);
        }
    });
}

serve("abort_tool", ({ callId }) => running.get(callId)?.abort());
