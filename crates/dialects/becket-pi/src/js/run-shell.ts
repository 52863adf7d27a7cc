// Command lines that an extension runs in the place of the user's shell (`user_bash`). The program is given handles.

import { about } from "pi:context";
import { ask, messageOf } from "pi:host";

type Run = { command: string; cwd: string; timeout?: number; env?: Record<string, string> };
type Told = { onData: (data: unknown) => void; signal: AbortSignal };
type Operation = (run: Run, told: Told) => unknown;

const operations = new Map<number, Operation>();
const running = new Map<number, AbortController>();
let lastOperation = 0;

/** An answer of `user_bash` with handles in place of its functions. */
export function withHandles(answer: any): unknown {
    const given = answer.operations;
    const handles: Record<string, unknown> = {};
    if (typeof given.exec === "function") {
        const exec: Operation = ({ command, cwd, ...options }, told) =>
            given.exec(command, cwd, { ...options, ...told });
        handles.exec = handle(exec);
    } else if (typeof given.execute === "function") {
        handles.execute = handle(({ command }) => given.execute(command));
    }
    return { ...answer, operations: handles };
}

function handle(operation: Operation): { $function: number; $extension: string } {
    operations.set(++lastOperation, operation);
    return { $function: lastOperation, $extension: about.path };
}

export async function run_shell({ run, function: id, command, cwd, timeout, env }: any): Promise<unknown> {
    const operation = operations.get(id);
    if (operation === undefined) return { error: "there is no such operation any more" };
    const controller = new AbortController();
    running.set(run, controller);
    const decoder = new TextDecoder();
    const onData = (data: any) => {
        const text = typeof data === "string" ? data : decoder.decode(data, { stream: true });
        if (running.has(run)) ask({ shell_output: { run, text } });
    };
    const wanted = { command, cwd, timeout: timeout ?? undefined, env: env ?? undefined };
    try {
        return ended(await operation(wanted, { onData, signal: controller.signal }));
    } catch (error) {
        return { error: messageOf(error) };
    } finally {
        running.delete(run);
    }
}

export function abort_shell({ run }: any): void {
    running.get(run)?.abort();
}

/** How a command line ended: as `exec` says it, or the output that `execute` gives, alone or with a code. */
function ended(end: any): unknown {
    if (typeof end === "string") return { exitCode: 0, output: end };
    const output = end?.output ?? end?.stdout;
    const exitCode = end?.exitCode === undefined ? (end?.code ?? 0) : end.exitCode;
    return { exitCode, output: output === undefined ? undefined : String(output) };
}
