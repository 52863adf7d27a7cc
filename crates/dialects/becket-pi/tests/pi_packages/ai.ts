// pi-ai: arguments, broken JSON, errors, streams, and answers of models that becket asks.
import * as ai from "@mariozechner/pi-ai";
import { errorOf, report, same } from "./check.ts";

const { Type } = ai as any;
const model = {
  api: "some-api",
  provider: "some",
  id: "one",
  reasoning: true,
  cost: { input: 3, output: 15, cacheRead: 0, cacheWrite: 0 },
};

async function asked() {
  const answer = await ai.complete(model as any, { messages: [] } as any, { maxTokens: 5 } as any);
  same("an answer", (answer.content[0] as any).text, "the answer to 5");
  const types: string[] = [];
  for await (const event of ai.streamSimple(model as any, { messages: [] } as any)) types.push(event.type);
  same("its events", types, ["start", "text_start", "text_delta", "text_end", "done"]);
  const failed = await ai.complete({ ...model, id: "broken" } as any, { messages: [] } as any);
  same("an error", [failed.stopReason, failed.errorMessage], ["error", "there is no model broken"]);
  const controller = new AbortController();
  controller.abort();
  const stopped = await ai.complete(
    model as any,
    { messages: [] } as any,
    { signal: controller.signal } as any,
  );
  same("an abort", stopped.stopReason, "aborted");
  same("the models", [ai.getProviders(), ai.getModel("some" as any, "one" as any)?.id], [["some"], "one"]);
  same("no model", ai.getModel("some" as any, "other" as any), undefined);
}

async function own() {
  const streamSimple = () => {
    const stream = ai.createAssistantMessageEventStream();
    stream.push({ type: "done", reason: "stop", message: ai.fauxAssistantMessage("mine") } as any);
    return stream;
  };
  ai.registerApiProvider({ api: "some-api", stream: streamSimple, streamSimple } as any, "me");
  same("a function of one's own", (await ai.completeSimple(model as any, {} as any)).content, [
    { type: "text", text: "mine" },
  ]);
  same(
    "another api",
    await errorOf(() => ai.getApiProvider("some-api" as any)?.stream({ api: "x" } as any, {} as any)),
    "Mismatched api: x expected some-api",
  );
  ai.unregisterApiProviders("me");
  same("no function", ai.getApiProvider("some-api" as any), undefined);
}

export default async function () {
  await asked();
  await own();
  const tool = {
    name: "t",
    parameters: Type.Object({ path: Type.String(), n: Type.Optional(Type.Number()) }),
  };
  const call = (args: unknown) =>
    ai.validateToolArguments(tool as any, { name: "t", arguments: args } as any);
  same("arguments", call({ path: 5, n: "3" }), { path: "5", n: 3 });
  same(
    "wrong ones",
    await errorOf(() => call({ n: "x" })),
    'Validation failed for tool "t":\n  - path: must have required properties path\n  - n: must be number\n\n' +
      'Received arguments:\n{\n  "n": "x"\n}',
  );
  same("no tool", await errorOf(() => ai.validateToolCall([], { name: "x" } as any)), 'Tool "x" not found');
  same("broken JSON", ai.parseJsonWithRepair('{"a":"x\ny\\q"}'), { a: "x\ny\\q" });
  const whole = '{"path":"a.ts","edits":[{"oldText":"x \\"q\\"","n":-12.5e3,"t":true}],"k":{}}';
  for (let at = 0; at <= whole.length; at++) {
    same(`a beginning of ${at}`, typeof ai.parseStreamingJson(whole.slice(0, at)), "object");
  }
  same("half an argument", ai.parseStreamingJson('{"path":"a.ts","edits":[{"oldText":"x \\"q'), {
    path: "a.ts",
    edits: [{ oldText: 'x "q' }],
  });
  const failed = (errorMessage: string) => ({ stopReason: "error", errorMessage, usage: {} }) as any;
  same(
    "too long",
    [ai.isContextOverflow(failed("prompt is too long: 5")), ai.isContextOverflow(failed("rate limit"))],
    [true, false],
  );
  const usage: any = { input: 1e6, output: 1e6, cacheRead: 0, cacheWrite: 0, cost: {} };
  same("a price", ai.calculateCost(model as any, usage).total, 18);
  same("levels", ai.clampThinkingLevel(model as any, "xhigh" as any), "high");
  return report();
}
