// Runs an extension's tools for the program.

import { context, extended, see } from "pi:context";
import { ask, askUntil, messageOf } from "pi:host";
import { tools } from "pi:tools";

type Result = { content: unknown[]; details?: unknown; terminate?: boolean; isError?: boolean };

const running = new Map<string, AbortController>();

/** The context that tools are given. */
const forTools = extended(context, {
    get tools() {
        return see("get_all_tools");
    },
});

/** The call that is at work, the last one if there are several. */
export const callNow = (): string | undefined => [...running.keys()].at(-1);

/** The context of the call that is at work, or that of every handler. */
export const contextNow = (): unknown => {
    const callId = callNow();
    return callId === undefined ? context : contextOf(callId);
};

/** Calls a tool from within a call, through the same hooks and the same gate. What fails is an answer too. */
export async function callTool(callId: string, tool: string, args: any, signal?: AbortSignal): Promise<any> {
    const until = signal ?? running.get(callId)?.signal;
    return askUntil(until, (id) => ({ call_tool: { id, callId, tool: String(tool), arguments: args ?? {} } }));
}

async function executeTool(callId: string, nth: number, name: string, args: any, options: any): Promise<unknown> {
    const { text, isError, durationMs } = await callTool(callId, name, args, options?.signal);
    const toolCall = { type: "toolCall", id: `${callId}/${nth}`, name, arguments: args ?? {} };
    return { toolCall, result: { content: [{ type: "text", text }], details: undefined }, isError, durationMs };
}

/** The context of one call. */
function contextOf(callId: string): unknown {
    let made = 0;
    const run = (name: string, args: unknown, options?: unknown) => executeTool(callId, ++made, name, args, options);
    return extended(forTools, { executeTool: run });
}

/** A part of a result that a model can be told; others it never sees. */
function partOf(part: any): object[] {
    if (typeof part === "string") return [{ type: "text", text: part }];
    if (part?.type === "text") return [{ type: "text", text: String(part.text ?? "") }];
    const { type, data, mimeType } = part ?? {};
    return type === "image" && data && mimeType ? [{ type, data: String(data), mimeType: String(mimeType) }] : [];
}

/** What a tool gave back in one shape; nothing at all is a failure. */
function resultOf(tool: string, given: any): Result {
    if (given === undefined || given === null) {
        throw new Error(`the tool "${tool}" gave back no result: an object with content is needed`);
    }
    const { content = typeof given === "string" ? given : [], details, terminate, isError } = given;
    const parts = (Array.isArray(content) ? content : [content]).flatMap(partOf);
    // Under pi's older name a tool can only fail by throwing.
    const failed = isError === true && ask("is_for_newer_pi") === true;
    return { content: parts, details, terminate: terminate === true, isError: failed };
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
        if (typeof tool.execute !== "function") throw new TypeError("definition.execute is not a function");
        return resultOf(name, await tool.execute(callId, params, controller.signal, update, contextOf(callId)));
    } catch (error) {
        return failed(error);
    } finally {
        running.delete(callId);
    }
}

export function abort_tool({ callId }: any): void {
    running.get(callId)?.abort();
}
