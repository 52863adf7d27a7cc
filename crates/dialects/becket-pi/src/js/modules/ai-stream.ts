// Answers of models, piece by piece. A request that no function of the extension serves goes to becket, which has the
// keys and gives the whole answer at once; the pieces are made of it here.
import { complete as fromBecket } from "pi:models";

type Message = any;
type StreamEvent = any;
type StreamFunction = (model: any, context: any, options?: any) => AssistantMessageEventStream;

/** Events that one side pushes and the other iterates over, with one result at the end. */
export class EventStream<T = any, R = any> {
  private readonly queue: T[] = [];
  private readonly waiting: ((next: IteratorResult<T>) => void)[] = [];
  private over = false;
  private settle!: (result: R) => void;
  private readonly outcome = new Promise<R>((resolve) => (this.settle = resolve));

  constructor(private readonly isComplete: (event: T) => boolean, private readonly extractResult: (event: T) => R) {}

  push(event: T): void {
    if (this.over) return;
    if (this.isComplete(event)) {
      this.over = true;
      this.settle(this.extractResult(event));
    }
    const reader = this.waiting.shift();
    if (reader) reader({ value: event, done: false });
    else this.queue.push(event);
  }

  /** Ends the stream; a result that no event has given may be given here. */
  end(result?: R): void {
    this.over = true;
    if (result !== undefined) this.settle(result);
    for (const reader of this.waiting.splice(0)) reader({ value: undefined, done: true });
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      if (this.queue.length > 0) yield this.queue.shift() as T;
      else if (this.over) return;
      else {
        const next = await new Promise<IteratorResult<T>>((resolve) => this.waiting.push(resolve));
        if (next.done) return;
        yield next.value;
      }
    }
  }

  result(): Promise<R> {
    return this.outcome;
  }
}

const isLast = (event: StreamEvent): boolean => event.type === "done" || event.type === "error";

export class AssistantMessageEventStream extends EventStream<StreamEvent, Message> {
  constructor() {
    super(isLast, (event) => (event.type === "done" ? event.message : event.error));
  }
}

export const createAssistantMessageEventStream = () => new AssistantMessageEventStream();

/** A stream whose source is only known after a while. */
export function lazyStream(source: () => Promise<AsyncIterable<any>>, model: any = {}): AssistantMessageEventStream {
  const stream = new AssistantMessageEventStream();
  const pump = async () => {
    for await (const event of await source()) stream.push(event);
    stream.end();
  };
  pump().catch((error) => stream.push(failure(model, error, undefined)));
  return stream;
}

// The functions that the extension has registered

const providers = new Map<string, { provider: any; source?: string }>();

function only(api: string, run: StreamFunction): StreamFunction {
  return (model, context, options) => {
    if (model.api !== api) throw new Error(`Mismatched api: ${model.api} expected ${api}`);
    return run(model, context, options);
  };
}

/** Serves an API by functions of one's own. */
export function registerApiProvider(provider: any, source?: string): void {
  const { api, stream, streamSimple } = provider;
  const served = { api, stream: only(api, stream), streamSimple: only(api, streamSimple ?? stream) };
  providers.set(api, { provider: served, source });
}

/** The interfaces that pi serves by itself. Requests by them go to the address of the model that is given. */
const BUILT_IN = [
  "anthropic-messages", "azure-openai-responses", "bedrock-converse-stream", "google-generative-ai",
  "google-gemini-cli", "google-vertex", "mistral-conversations", "openai-codex-responses", "openai-completions",
  "openai-responses",
];

/** Asks by an interface, with what the extension says about the address and the key. */
const directly = (api: string): StreamFunction => (model, context, options) =>
  asked(model, context, options, { api, apiKey: options?.apiKey, headers: options?.headers });

const builtIn = (api: string): any => ({ api, stream: directly(api), streamSimple: directly(api) });

export const getApiProvider = (api: string): any =>
  providers.get(api)?.provider ?? (BUILT_IN.includes(api) ? builtIn(api) : undefined);
export const getApiProviders = (): any[] => {
  const own = [...providers.values()].map((entry) => entry.provider);
  return [...own, ...BUILT_IN.filter((api) => !providers.has(api)).map(builtIn)];
};

const anthropic = directly("anthropic-messages");
const azure = directly("azure-openai-responses");
const google = directly("google-generative-ai");
const geminiCli = directly("google-gemini-cli");
const vertex = directly("google-vertex");
const mistral = directly("mistral-conversations");
const codex = directly("openai-codex-responses");
const completions = directly("openai-completions");
const responses = directly("openai-responses");
export {
  anthropic as streamAnthropic, anthropic as streamSimpleAnthropic, azure as streamAzureOpenAIResponses,
  azure as streamSimpleAzureOpenAIResponses, google as streamGoogle, google as streamSimpleGoogle,
  geminiCli as streamGoogleGeminiCli, geminiCli as streamSimpleGoogleGeminiCli, vertex as streamGoogleVertex,
  vertex as streamSimpleGoogleVertex, mistral as streamMistral, mistral as streamSimpleMistral,
  codex as streamOpenAICodexResponses, codex as streamSimpleOpenAICodexResponses,
  completions as streamOpenAICompletions, completions as streamSimpleOpenAICompletions,
  responses as streamOpenAIResponses, responses as streamSimpleOpenAIResponses,
};

/** An interface as newer versions of pi hand it out: its two functions, for providers that change little of it. */
const interfaceOf = (api: string) => () => ({ stream: directly(api), streamSimple: directly(api) });

export const anthropicMessagesApi = interfaceOf("anthropic-messages");
export const azureOpenAIResponsesApi = interfaceOf("azure-openai-responses");
export const bedrockConverseStreamApi = interfaceOf("bedrock-converse-stream");
export const googleGenerativeAIApi = interfaceOf("google-generative-ai");
export const googleVertexApi = interfaceOf("google-vertex");
export const mistralConversationsApi = interfaceOf("mistral-conversations");
export const openAICodexResponsesApi = interfaceOf("openai-codex-responses");
export const openAICompletionsApi = interfaceOf("openai-completions");
export const openAIResponsesApi = interfaceOf("openai-responses");

/** An interface whose functions are loaded when the first of them is called. */
export function lazyApi(load: () => Promise<{ stream: StreamFunction; streamSimple: StreamFunction }>) {
  const later = (name: "stream" | "streamSimple"): StreamFunction => (model, context, options) =>
    lazyStream(async () => (await load())[name](model, context, options), model);
  return { stream: later("stream"), streamSimple: later("streamSimple") };
}

/** A provider of several parts, as newer versions of pi have it. */
export function createProvider(input: any): any {
  const single = typeof input.api?.stream === "function" ? input.api : undefined;
  const of = (model: any) => {
    const api = single ?? input.api?.[model.api];
    if (api === undefined) throw new Error(`Provider ${input.id} has no API implementation for "${model.api}"`);
    return api;
  };
  if (single === undefined && Object.values(input.api ?? {}).length === 0) {
    throw new Error(`Provider ${input.id}: at least one of "api", "images", or "classifiers" is required.`);
  }
  const { id, name = id, baseUrl, headers, auth, models = [], fetchModels, filterModels } = input;
  const run = (how: "stream" | "streamSimple"): StreamFunction => (model, context, options) =>
    lazyStream(async () => of(model)[how](model, context, options), model);
  return {
    id, name, baseUrl, headers, auth, filterModels,
    refreshModels: fetchModels,
    getModels: () => models.filter((model: any) => (model.type ?? "chat") === "chat"),
    getAllModels: () => models,
    stream: run("stream"),
    streamSimple: run("streamSimple"),
  };
}

/** A key from the first of these variables that is set. */
export const envApiKeyAuth = (name: string, variables: readonly string[]): any => ({
  name,
  resolve: async ({ ctx, credential }: any) => {
    if (credential?.key) return { auth: { apiKey: credential.key }, source: "stored credential" };
    for (const source of variables) {
      const apiKey = await ctx.env(source);
      if (apiKey) return { auth: { apiKey }, source };
    }
    return undefined;
  },
});

export function unregisterApiProviders(source: string): void {
  for (const [api, entry] of providers) if (entry.source === source) providers.delete(api);
}
export const clearApiProviders = (): void => providers.clear();
export const resetApiProviders = clearApiProviders;
/** Becket serves the known APIs itself, so there is nothing to register. */
export const registerBuiltInApiProviders = (): void => {};

export function stream(model: any, context: any, options?: any): AssistantMessageEventStream {
  return providers.get(model.api)?.provider.stream(model, context, options) ?? asked(model, context, options);
}

export function streamSimple(model: any, context: any, options?: any): AssistantMessageEventStream {
  return providers.get(model.api)?.provider.streamSimple(model, context, options) ?? asked(model, context, options);
}

export const complete = async (model: any, context: any, options?: any): Promise<Message> =>
  stream(model, context, options).result();
export const completeSimple = async (model: any, context: any, options?: any): Promise<Message> =>
  streamSimple(model, context, options).result();

// Requests to becket

const noUsage = () => ({
  input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});

const emptyMessage = (model: any): Message => ({
  role: "assistant", content: [], api: model.api, provider: model.provider, model: model.id, usage: noUsage(),
  stopReason: "stop", timestamp: Date.now(),
});

function failure(model: any, error: unknown, signal: AbortSignal | undefined): StreamEvent {
  const reason = signal?.aborted ? "aborted" : "error";
  const errorMessage = error instanceof Error ? error.message : String(error);
  return { type: "error", reason, error: { ...emptyMessage(model), stopReason: reason, errorMessage } };
}

function asked(model: any, context: any, options: any, by?: object): AssistantMessageEventStream {
  const stream = new AssistantMessageEventStream();
  const give = (message: Message) => {
    for (const event of eventsOf(message)) stream.push(event);
  };
  const fail = (error: unknown) => stream.push(failure(model, error, options?.signal));
  if (options?.signal?.aborted) fail(new Error("Request was aborted"));
  else fromBecket(model, context, options, by).then(give as any).catch(fail);
  return stream;
}

/** The events of an answer, as if it had come in one piece for each block. */
function eventsOf(message: Message): StreamEvent[] {
  const { content, stopReason } = message;
  const failed = stopReason === "error" || stopReason === "aborted";
  const last = failed
    ? { type: "error", reason: stopReason, error: message }
    : { type: "done", reason: stopReason, message };
  const blocks = content.flatMap((block: any, contentIndex: number) => {
    const piece = (type: string, more = {}) => ({ type, contentIndex, ...more, partial: message });
    const kind = block.type === "toolCall" ? "toolcall" : block.type;
    const text = block.text ?? block.thinking;
    const delta = text ?? JSON.stringify(block.arguments);
    const whole = kind === "toolcall" ? { toolCall: block } : { content: text };
    return [piece(`${kind}_start`), piece(`${kind}_delta`, { delta }), piece(`${kind}_end`, whole)];
  });
  return [{ type: "start", partial: message }, ...blocks, last];
}

// Messages for tests

export const fauxText = (text: string) => ({ type: "text", text });
export const fauxThinking = (thinking: string) => ({ type: "thinking", thinking });
export const fauxToolCall = (name: string, args: any, options: { id?: string } = {}) => ({
  type: "toolCall", id: options.id ?? `tool:${Date.now()}:${Math.random()}`, name, arguments: args,
});
export function fauxAssistantMessage(content: any, options: any = {}): Message {
  const blocks = typeof content === "string" ? [fauxText(content)] : [content].flat();
  const base = emptyMessage({ api: "faux", provider: "faux", id: "faux-1" });
  return { ...base, content: blocks, ...options };
}
