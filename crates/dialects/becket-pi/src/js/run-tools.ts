// Runs an extension's tools for the program.

import { context, extended, see } from "pi:context";
import { ask, laterAsync, messageOf } from "pi:host";
import { tools } from "pi:tools";

type Result = { content: unknown[]; details?: unknown; terminate?: boolean; isError?: boolean };

const running = new Map<string, AbortController>();

/** The context that tools are given. */
const forTools = extended(context, {
    get tools() {
        return see("get_all_tools");
    },
    executeTool: laterAsync("ctx.executeTool"),
});

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

export function prepare_arguments({ tool, arguments: written }: any): unknown {
    try {
        return { arguments: tools.get(tool)?.prepareArguments?.(written) ?? written };
    } catch (error) {
        return { failed: messageOf(error) };
    }
}

export async function execute_tool({ tool: name, callId, arguments: params }: any): Promise<Result> {
    const controller = new AbortController();
    const update = (part: unknown) => {
        // What comes after the end, nobody waits for; and what is no result, nobody can show.
        if (running.get(callId) === controller && typeof part === "object" && part !== null) {
            ask({ tool_update: { callId, result: resultOf(name, part) } });
        }
    };
    running.set(callId, controller);
    try {
        const tool = tools.get(name);
        if (tool === undefined) throw new Error(`Tool ${name} not found`);
        return resultOf(name, await tool.execute(callId, params, controller.signal, update, forTools));
    } catch (error) {
        return failed(error);
    } finally {
        running.delete(callId);
    }
}

export function abort_tool({ callId }: any): void {
    running.get(callId)?.abort();
}
