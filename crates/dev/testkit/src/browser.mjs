// A real browser for tests: starts Chromium, does what each line of standard input says, and answers with a line.
//
// It speaks the DevTools protocol over two pipes, which needs no package and no port. When standard input ends, so
// does the browser.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const WAIT_TIMEOUT_MS = 60_000;
const profile = mkdtempSync(join(tmpdir(), "becket-browser-"));
const flags = [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
  "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
  `--user-data-dir=${profile}`, "about:blank",
];
const browser = spawn(process.argv[2], flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [toBrowser, fromBrowser] = [browser.stdio[3], browser.stdio[4]];

const waiting = new Map();
const complaints = [];
let last = 0;
let rest = Buffer.alloc(0);
fromBrowser.on("data", (bytes) => {
  rest = Buffer.concat([rest, bytes]);
  for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
    heard(JSON.parse(rest.subarray(0, end).toString()));
    rest = rest.subarray(end + 1);
  }
});
function heard({ id, result, error, method, params }) {
  if (id) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    return error ? reject(new Error(error.message)) : resolve(result);
  }
  if (method === "Runtime.exceptionThrown")
    complaints.push(params.exceptionDetails.exception?.description ?? "an exception");
  if (method === "Log.entryAdded" && params.entry.level === "error") complaints.push(params.entry.text);
}
let session;
function tell(method, params = {}) {
  const id = ++last;
  toBrowser.write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    setTimeout(() => reject(new Error(`the browser did not answer ${method}`)), 2 * WAIT_TIMEOUT_MS).unref();
  });
}
async function evaluate(expression) {
  const wanted = { expression, awaitPromise: true, returnByValue: true };
  const { result, exceptionDetails } = await tell("Runtime.evaluate", wanted);
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value ?? null;
}
async function click(x, y) {
  for (const type of ["mouseMoved", "mousePressed", "mouseReleased"]) {
    const button = type === "mouseMoved" ? "none" : "left";
    await tell("Input.dispatchMouseEvent", { type, x, y, button, clickCount: 1 });
  }
}
const CODES = { Enter: 13, Escape: 27, ArrowDown: 40, ArrowUp: 38 };
const actions = {
  async open({ url, width = 1360, height = 860 }) {
    const { targetId } = await tell("Target.createTarget", { url: "about:blank" });
    ({ sessionId: session } = await tell("Target.attachToTarget", { targetId, flatten: true }));
    await Promise.all(["Page.enable", "Runtime.enable", "Log.enable"].map((method) => tell(method)));
    await tell("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await tell("Page.navigate", { url });
  },
  size: ({ width, height }) =>
    tell("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false }),
  downloads: ({ folder }) => {
    const order = { behavior: "allow", downloadPath: folder };
    return tell("Browser.setDownloadBehavior", order);
  },
  scheme: ({ dark }) => {
    const preference = { name: "prefers-color-scheme", value: dark ? "dark" : "light" };
    return tell("Emulation.setEmulatedMedia", { features: [preference] });
  },
  evaluate: ({ code }) => evaluate(code),
  /** Waits until an expression is true. */
  async wait({ code }) {
    for (const began = Date.now(); ; ) {
      if (await evaluate(code).catch(() => false)) return;
      if (Date.now() - began > WAIT_TIMEOUT_MS) throw new Error(`this did not become true: ${code}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  },
  /** Clicks at the middle of an element, as a mouse does. */
  async click({ selector }) {
    // While the page is still being laid out, another element may come to lie there.
    const middle = `(() => {
      const element = document.querySelector(${JSON.stringify(selector)});
      element.scrollIntoView({ block: "nearest" });
      const box = element.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      return element.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
    })()`;
    const frame = "new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))";
    let before = null;
    for (const began = Date.now(); ; ) {
      const place = await evaluate(middle).catch(() => null);
      if (place && String(place) === String(before)) return click(...place);
      if (Date.now() - began > WAIT_TIMEOUT_MS) throw new Error(`this cannot be clicked: ${selector}`);
      before = place;
      await evaluate(frame);
    }
  },
  at: ({ x, y }) => click(x, y),
  async key({ key }) {
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    await tell("Input.dispatchKeyEvent", { type: "keyDown", key, text, windowsVirtualKeyCode: CODES[key] });
    await tell("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: CODES[key] });
  },
  async picture({ file }) {
    const { data } = await tell("Page.captureScreenshot", { format: "png" });
    writeFileSync(file, Buffer.from(data, "base64"));
  },
  complaints: () => complaints,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { action, ...rest } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await actions[action](rest)) ?? null };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
session = undefined;
tell("Browser.close").catch(() => {});
setTimeout(() => browser.kill("SIGKILL"), 3000).unref();
browser.on("exit", () => {
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
});
