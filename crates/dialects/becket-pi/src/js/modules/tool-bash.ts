// pi's `bash`: runs a command, tells its output while it comes, keeps the end of it and spills the whole to a file.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { Type } from "pi:typebox";
import { MAX_BYTES, MAX_LINES, endOf, formatSize, plainTool, textResult, truncateTail } from "pi:tool-shared";

const UPDATE_EVERY_MS = 100;
const PIPE_GRACE_MS = 500;

/** Who may run programs and use no files gets the shell that is found by its name. */
function isThere(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    return false;
  }
}

export function getShellConfig(shellPath?: string): { shell: string; args: string[] } {
  const args = ["-c"];
  if (shellPath) {
    if (!existsSync(shellPath)) throw new Error(`Custom shell path not found: ${shellPath}`);
    return { shell: shellPath, args };
  }
  if (isThere("/bin/bash")) return { shell: "/bin/bash", args };
  const found = spawnSync("which", ["bash"], { encoding: "utf-8", timeout: 5000 });
  const [path] = found.status === 0 ? String(found.stdout).trim().split("\n") : [];
  return { shell: path || "sh", args };
}

/** Ends a process with all that it started in its group. */
function killTree(child: any): void {
  if (!child.pid) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** The exit code, once the pipes are closed, or silent after the end because something else holds them. */
function ended(child: any): Promise<number | null> {
  return new Promise((done, fail) => {
    let [over, code, timer]: [boolean, number | null, any] = [false, null, undefined];
    const wait = () => {
      clearTimeout(timer);
      if (over) timer = setTimeout(() => done(code), PIPE_GRACE_MS);
    };
    child.stdout?.on("data", wait);
    child.stderr?.on("data", wait);
    child.once("error", fail);
    child.once("exit", (status: number | null) => {
      [over, code] = [true, status];
      wait();
    });
    child.once("close", (status: number | null) => {
      clearTimeout(timer);
      done(status);
    });
  });
}

/** Runs commands on this machine. */
export function createLocalBashOperations(options?: { shellPath?: string }): any {
  return {
    async exec(command: string, cwd: string, settings: any): Promise<{ exitCode: number | null }> {
      const { onData, signal, timeout, env } = settings;
      const { shell, args } = getShellConfig(options?.shellPath);
      if (!existsSync(cwd)) {
        throw new Error(`Working directory does not exist: ${cwd}\nCannot execute bash commands.`);
      }
      if (signal?.aborted) throw new Error("aborted");
      const stdio = ["ignore", "pipe", "pipe"] as any;
      const child = spawn(shell, [...args, command], { cwd, detached: true, env: env ?? process.env, stdio });
      const kill = () => killTree(child);
      let late = false;
      const expire = () => {
        late = true;
        kill();
      };
      const timer = timeout > 0 ? setTimeout(expire, timeout * 1000) : undefined;
      signal?.addEventListener("abort", kill, { once: true });
      child.stdout?.on("data", onData);
      child.stderr?.on("data", onData);
      try {
        const exitCode = await ended(child);
        if (signal?.aborted) throw new Error("aborted");
        if (late) throw new Error(`timeout:${timeout}`);
        return { exitCode };
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", kill);
      }
    },
  };
}

/** Output as it comes: its end in memory, and all of it in a file as soon as the end is not all. */
class Output {
  private readonly decoder = new StringDecoder("utf8");
  private held: Buffer[] = [];
  private tail = "";
  private lines = 1;
  private bytes = 0;
  private lastLineBytes = 0;
  path: string | undefined;

  push(chunk: Buffer | string): void {
    const data = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    this.add(this.decoder.write(data));
    this.held.push(data);
    if (this.path || this.bytes > MAX_BYTES || this.lines > MAX_LINES) this.spill();
  }

  finish(): void {
    this.add(this.decoder.end());
  }

  private add(text: string): void {
    const parts = text.split("\n");
    const size = Buffer.byteLength(text);
    this.bytes += size;
    this.lines += parts.length - 1;
    this.lastLineBytes = parts.length > 1 ? Buffer.byteLength(parts[parts.length - 1]) : this.lastLineBytes + size;
    this.tail += text;
    // Twice the limit is enough to cut whole lines from, and cutting seldom keeps it cheap.
    if (this.tail.length > MAX_BYTES * 4) this.tail = endOf(this.tail, MAX_BYTES * 2);
  }

  private spill(): void {
    this.path ??= join(tmpdir(), `pi-bash-${randomBytes(8).toString("hex")}.log`);
    appendFileSync(this.path, Buffer.concat(this.held));
    this.held = [];
  }

  /** What is shown of it: the end within the limits, with the numbers of the whole. */
  shown(): any {
    const truncated = this.lines > MAX_LINES || this.bytes > MAX_BYTES;
    const end = truncateTail(this.tail);
    const by = truncated ? (end.truncatedBy ?? (this.bytes > MAX_BYTES ? "bytes" : "lines")) : null;
    return { ...end, truncated, truncatedBy: by, totalLines: this.lines, totalBytes: this.bytes };
  }

  /** The text for the model, with a notice if it is not all. */
  told(empty: string): { text: string; details: any } {
    const truncation = this.shown();
    const text = truncation.content || empty;
    if (!truncation.truncated) return { text, details: undefined };
    const { totalLines, outputLines, outputBytes, lastLinePartial, truncatedBy } = truncation;
    const range = `${totalLines - outputLines + 1}-${totalLines} of ${totalLines}`;
    const limit = truncatedBy === "lines" ? "" : ` (${formatSize(MAX_BYTES)} limit)`;
    const what = lastLinePartial
      ? `last ${formatSize(outputBytes)} of line ${totalLines} (line is ${formatSize(this.lastLineBytes)})`
      : `lines ${range}${limit}`;
    const notice = `[Showing ${what}. Full output: ${this.path}]`;
    return { text: `${text}\n\n${notice}`, details: { truncation, fullOutputPath: this.path } };
  }
}

/** Tells what has come, at most ten times a second. */
class Updates {
  private timer: any;
  private last = 0;
  constructor(private readonly output: Output, private readonly onUpdate: ((update: any) => void) | undefined) {
    onUpdate?.({ content: [], details: undefined });
  }

  soon(): void {
    if (!this.onUpdate || this.timer) return;
    const wait = Math.max(0, UPDATE_EVERY_MS - (Date.now() - this.last));
    if (wait === 0) this.now();
    else this.timer = setTimeout(() => this.now(), wait);
  }

  now(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.last = Date.now();
    const truncation = this.output.shown();
    const details = { truncation: truncation.truncated ? truncation : undefined, fullOutputPath: this.output.path };
    this.onUpdate?.(textResult(truncation.content, details));
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

const after = (text: string, status: string) => `${text ? `${text}\n\n` : ""}${status}`;

/** What an end before its time is told as. */
function interrupted(error: any, text: string): Error {
  const message = error instanceof Error ? error.message : String(error);
  if (message === "aborted") return new Error(after(text, "Command aborted"));
  const seconds = /^timeout:(.*)/.exec(message)?.[1];
  return seconds === undefined ? error : new Error(after(text, `Command timed out after ${seconds} seconds`));
}

const parameters = Type.Object({
  command: Type.String({ description: "Bash command to execute" }),
  timeout: Type.Optional(Type.Number({ description: "Timeout in seconds (optional, no default timeout)" })),
});

export function createBashToolDefinition(cwd: string, options: any = {}): any {
  const operations = options.operations ?? createLocalBashOperations({ shellPath: options.shellPath });
  return {
    name: "bash",
    label: "bash",
    description:
      "Execute a bash command in the current working directory. Returns stdout and stderr. Output is truncated to " +
      `last ${MAX_LINES} lines or ${MAX_BYTES / 1024}KB (whichever is hit first). If truncated, full output is saved ` +
      "to a temp file. Optionally provide a timeout in seconds.",
    promptSnippet: "Execute bash commands (ls, grep, find, etc.)",
    parameters,
    async execute(_id: string, { command, timeout }: any, signal?: AbortSignal, onUpdate?: (update: any) => void) {
      const prefixed = options.commandPrefix ? `${options.commandPrefix}\n${command}` : command;
      const plain = { command: prefixed, cwd, env: { ...process.env } };
      const start = options.spawnHook ? options.spawnHook(plain) : plain;
      const output = new Output();
      const updates = new Updates(output, onUpdate);
      const onData = (data: Buffer) => {
        output.push(data);
        updates.soon();
      };
      let exitCode: number | null;
      try {
        const settings = { onData, signal, timeout, env: start.env };
        ({ exitCode } = await operations.exec(start.command, start.cwd, settings));
      } catch (error) {
        output.finish();
        throw interrupted(error, output.told("").text);
      } finally {
        updates.stop();
      }
      output.finish();
      const { text, details } = output.told("(no output)");
      if (onUpdate) updates.now();
      if (exitCode) throw new Error(after(text, `Command exited with code ${exitCode}`));
      return textResult(text, details);
    },
  };
}

export const createBashTool = (cwd: string, options?: any) => plainTool(createBashToolDefinition(cwd, options));
