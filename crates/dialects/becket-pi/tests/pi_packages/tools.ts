// pi's tools on real files and programs: their texts, limits and errors.
import * as fs from "node:fs";
import { join } from "node:path";
import * as agent from "@mariozechner/pi-coding-agent";
import { errorOf, report, same } from "./check.ts";

const room = fs.mkdtempSync(join(process.cwd(), "tools-"));
const file = (name: string) => join(room, name);
const run = async (tool: any, input: any, onUpdate?: any, signal?: any) =>
  tool.execute("id", input, signal, onUpdate);
const said = async (tool: any, input: any) => (await run(tool, input)).content[0].text;

async function reading() {
  const read = agent.createReadTool(room);
  fs.writeFileSync(file("long.txt"), Array.from({ length: 3000 }, (_, i) => `line ${i}`).join("\n"));
  fs.writeFileSync(file("wide.txt"), `${"z".repeat(60000)}\nsecond`);
  fs.writeFileSync(
    file("dot.png"),
    Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", "base64"),
  );
  same(
    "two lines",
    await said(read, { path: "long.txt", offset: 2, limit: 2 }),
    "line 1\nline 2\n\n[2997 more lines in file. Use offset=4 to continue.]",
  );
  same(
    "a long file",
    (await said(read, { path: "long.txt" })).split("\n\n")[1],
    "[Showing lines 1-2000 of 3000. Use offset=2001 to continue.]",
  );
  same(
    "a wide line",
    await said(read, { path: "wide.txt" }),
    "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' wide.txt | head -c 51200]",
  );
  same(
    "behind the end",
    await errorOf(() => run(read, { path: "long.txt", offset: 9999 })),
    "Offset 9999 is beyond end of file (3000 lines total)",
  );
  const picture = await run(read, { path: "dot.png" });
  same(
    "a picture",
    [picture.content[0].text, picture.content[1].mimeType],
    ["Read image file [image/png]", "image/png"],
  );
  same("no file", (await errorOf(() => run(read, { path: "none" }))).startsWith("ENOENT"), true);
}

async function changing() {
  const [write, edit] = [agent.createWriteTool(room), agent.createEditTool(room)];
  same(
    "a new file",
    await said(write, { path: "new/a.txt", content: "one\ntwo\nthree\n" }),
    "Successfully wrote 14 bytes to new/a.txt",
  );
  const edited = await run(edit, { path: "new/a.txt", edits: [{ oldText: "two", newText: "2" }] });
  same("an edit", edited.content[0].text, "Successfully replaced 1 block(s) in new/a.txt.");
  same("its difference", edited.details, {
    diff: " 1 one\n-2 two\n+2 2\n 3 three",
    firstChangedLine: 2,
    patch: "--- new/a.txt\n+++ new/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
  });
  same(
    "the older form",
    await said(edit, edit.prepareArguments({ path: "new/a.txt", oldText: "2", newText: "two" })),
    "Successfully replaced 1 block(s) in new/a.txt.",
  );
  fs.writeFileSync(file("crlf.txt"), "\uFEFFone\r\ntwo\r\n");
  await run(edit, { path: "crlf.txt", edits: [{ oldText: "one\ntwo", newText: "1\n2" }] });
  same("ends of lines stay", fs.readFileSync(file("crlf.txt"), "utf8"), "\uFEFF1\r\n2\r\n");
  fs.writeFileSync(file("smart.txt"), "say \u201chi\u201d \u2014 it\u2019s\n");
  await run(edit, { path: "smart.txt", edits: [{ oldText: 'say "hi" - it\'s', newText: "said" }] });
  same("quotes as models write them", fs.readFileSync(file("smart.txt"), "utf8"), "said\n");
  const wrong = (edits: any[]) => errorOf(() => run(edit, { path: "new/a.txt", edits }));
  same(
    "not there",
    await wrong([{ oldText: "four", newText: "4" }]),
    "Could not find the exact text in new/a.txt. The old text must match exactly including all whitespace and " +
      "newlines.",
  );
  same(
    "twice there",
    await wrong([{ oldText: "e", newText: "E" }]),
    "Found 3 occurrences of the text in new/a.txt. The text must be unique. Please provide more context to make " +
      "it unique.",
  );
  same(
    "one over the other",
    await wrong([
      { oldText: "one\ntwo", newText: "x" },
      { oldText: "two\nthree", newText: "y" },
    ]),
    "edits[0] and edits[1] overlap in new/a.txt. Merge them into one edit or target disjoint regions.",
  );
  same(
    "no file",
    await errorOf(() => run(edit, { path: "none", edits: [{ oldText: "a", newText: "b" }] })),
    "Could not edit file: none. Error code: ENOENT.",
  );
  const order: number[] = [];
  const slow = agent.withFileMutationQueue(file("q"), async () => {
    await new Promise((done) => setTimeout(done, 20));
    order.push(1);
  });
  await Promise.all([slow, agent.withFileMutationQueue(file("q"), async () => void order.push(2))]);
  same("one after the other", order, [1, 2]);
}

async function running() {
  const bash = agent.createBashTool(room);
  const updates: any[] = [];
  same(
    "output",
    (await run(bash, { command: "echo hi; echo err >&2" }, (update: any) => updates.push(update))).content[0]
      .text,
    "hi\nerr\n",
  );
  same("is told while it comes", [updates[0].content, updates.at(-1).content[0].text], [[], "hi\nerr\n"]);
  same("nothing", await said(bash, { command: "true" }), "(no output)");
  same(
    "a code",
    await errorOf(() => run(bash, { command: "echo x; exit 3" })),
    "x\n\n\nCommand exited with code 3",
  );
  same(
    "too late",
    await errorOf(() => run(bash, { command: "sleep 60", timeout: 0.3 })),
    "Command timed out after 0.3 seconds",
  );
  const controller = new AbortController();
  const stop = setTimeout(() => controller.abort(), 200);
  same(
    "an abort",
    await errorOf(() => run(bash, { command: "sleep 60" }, undefined, controller.signal)),
    "Command aborted",
  );
  clearTimeout(stop);
  const long = await run(bash, { command: "seq 1 3000" });
  const path = long.details.fullOutputPath;
  same(
    "a long output",
    long.content[0].text.split("\n").at(-1),
    `[Showing lines 1002-3001 of 3001. Full output: ${path}]`,
  );
  same("is all in a file", fs.readFileSync(path, "utf8").split("\n").length, 3001);
  fs.unlinkSync(path);
  const hooked = agent.createBashTool(room, {
    commandPrefix: "export A=1",
    spawnHook: (start: any) => ({
      ...start,
      command: `${start.command}; echo $B`,
      env: { ...start.env, B: "2" },
    }),
  } as any);
  same("a hook", await said(hooked, { command: "echo $A" }), "1\n2\n");
  const elsewhere = agent.createBashTool(room, {
    operations: {
      exec: async (command: string, cwd: string, { onData }: any) => (
        onData(Buffer.from(`${command} there`)),
        { exitCode: 0 }
      ),
    },
  } as any);
  same("elsewhere", await said(elsewhere, { command: "ls" }), "ls there");
}

async function searching() {
  const [grep, find, ls] = [agent.createGrepTool(room), agent.createFindTool(room), agent.createLsTool(room)];
  for (const folder of ["s/deep", "s/node_modules/x", "s/.git"])
    fs.mkdirSync(file(folder), { recursive: true });
  const files = {
    "s/.gitignore": "node_modules\n*.log\n!keep.log\n",
    "s/a.ts": "alpha\nbeta\n",
    "s/deep/b.ts": "Alpha\n",
    "s/x.log": "alpha\n",
    "s/keep.log": "alpha\n",
    "s/node_modules/x/c.ts": "alpha\n",
    "s/.git/config": "alpha\n",
  };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(file(name), text);
  same("grep", await said(grep, { pattern: "alpha", path: "s" }), "a.ts:1: alpha\nkeep.log:1: alpha");
  same(
    "grep with lines around",
    await said(grep, { pattern: "ALPHA", path: "s", ignoreCase: true, glob: "*.ts", context: 1 }),
    "a.ts:1: alpha\na.ts-2- beta\ndeep/b.ts:1: Alpha",
  );
  same(
    "a limit",
    (await said(grep, { pattern: "a", path: "s", limit: 1 })).split("\n\n")[1],
    "[1 matches limit reached. Use limit=2 for more, or refine pattern]",
  );
  same("nothing", await said(grep, { pattern: "(", literal: true, path: "s" }), "No matches found");
  same("find", await said(find, { pattern: "*.ts", path: "s" }), "a.ts\ndeep/b.ts");
  same("find by path", await said(find, { pattern: "deep/**", path: "s" }), "deep/b.ts");
  same("ls", await said(ls, { path: "s" }), ".git/\n.gitignore\na.ts\ndeep/\nkeep.log\nnode_modules/\nx.log");
  same("no folder", await errorOf(() => run(ls, { path: "none" })), `Path not found: ${file("none")}`);
}

export default async function () {
  await reading();
  await changing();
  await running();
  await searching();
  same(
    "a set",
    agent.createCodingTools(room).map((tool: any) => tool.name),
    ["read", "bash", "edit", "write"],
  );
  fs.rmSync(room, { recursive: true });
  return report();
}
