// Every name can be imported, and what is not served yet says so when it is used, and not before.
import * as agent from "@mariozechner/pi-coding-agent";
import * as newerAgent from "@earendil-works/pi-coding-agent";
import * as ai from "@mariozechner/pi-ai";
import * as oauth from "@mariozechner/pi-ai/oauth";
import * as tui from "@mariozechner/pi-tui";
import * as core from "@mariozechner/pi-agent-core";
import * as typebox from "typebox";
import * as oldTypebox from "@sinclair/typebox";
import * as value from "typebox/value";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { errorOf, report, same } from "./check.ts";

export default async function () {
  for (const [name, module] of Object.entries({ agent, ai, tui, core, typebox, value })) {
    const empty = Object.entries(module).filter(([, member]) => member === undefined);
    same(
      `${name}: exports without a value`,
      empty.map(([key]) => key),
      [],
    );
  }
  same("one module for both scopes", newerAgent.getAgentDir === agent.getAgentDir, true);
  same("one module for all of pi-ai", (oauth as any).StringEnum === ai.StringEnum, true);
  same("one module for both typeboxes", oldTypebox.Type === typebox.Type, true);
  same("a compiler", TypeCompiler.Compile(typebox.Type.String()).Check("x"), true);

  const later = (name: string) => `not supported by becket yet: ${name}`;
  const { InteractiveMode, ProjectTrustStore, createAgentSessionRuntime, resizeImage } = agent as any;
  same("a class", await errorOf(() => new InteractiveMode()), later("InteractiveMode"));
  same("a static member", await errorOf(() => ProjectTrustStore.create()), later("ProjectTrustStore.create"));
  same("a function", await errorOf(() => createAgentSessionRuntime({})), later("createAgentSessionRuntime"));
  same("another", await errorOf(() => resizeImage("x")), later("resizeImage"));
  same("a terminal", await errorOf(() => new (tui as any).TUI()), later("TUI"));
  same("an agent", await errorOf(() => new (core as any).Agent()), later("Agent"));
  same("a login", await errorOf(() => (oauth as any).loginAnthropic()), later("loginAnthropic"));
  class Own extends InteractiveMode {}
  same("a class that extends one", await errorOf(() => new Own()), later("InteractiveMode"));
  same("a part of a type", await errorOf(() => typebox.Type.Script("string")), later("Script"));

  class Stream extends (ai as any).EventStream {
    more() {
      return 3;
    }
  }
  const stream: any = new Stream(
    () => true,
    (event: unknown) => event,
  );
  stream.push(7);
  same(
    "a class of a room can be extended",
    [await stream.result(), stream.more(), stream instanceof Stream],
    [7, 3, true],
  );
  same("and is itself", stream instanceof (ai as any).EventStream, true);
  same(
    "an object of a room",
    [Object.keys(tui.Key).includes("escape"), { ...tui.Key }.escape],
    [true, "escape"],
  );
  same(
    "constants",
    [agent.VERSION, agent.CONFIG_DIR_NAME, agent.DEFAULT_MAX_BYTES],
    ["0.73.1", ".pi", 51200],
  );
  return report();
}
