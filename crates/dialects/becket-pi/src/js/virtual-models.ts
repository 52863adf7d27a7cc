// Virtual models: names behind which an extension chooses, for each request anew, the model that answers. To the program
// each is a model of a provider that streams by itself; its stream asks the one that was chosen.

import { context } from "pi:context";
import { ask, mustBe, notOver } from "pi:host";
import { complete, modelRegistry } from "pi:models";
import { registerProvider, unregisterProvider } from "pi:providers";

type Definition = {
    provider: string;
    id: string;
    name?: string;
    thinkingLevels?: string[];
    contextWindow?: number;
    maxTokens?: number;
    input?: string[];
    route: (request: any, ctx: unknown) => any;
};

/** What pi calls the interface of such models, and the entries in which they keep what they want to remember. */
const API = "pi-virtual";
const STATE = "pi.virtual-model-state";

const definitions = new Map<string, Map<string, Definition>>();

function modelOf({ id, name, thinkingLevels = ["off"], contextWindow = 0, maxTokens = 0, input }: Definition): object {
    return {
        id,
        name: name ?? id,
        api: API,
        reasoning: thinkingLevels.some((level) => level !== "off"),
        input: input ?? ["text", "image"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow,
        maxTokens,
    };
}

/** Tells the program which models of a provider there are by now. */
function tell(provider: string): void {
    const models = [...(definitions.get(provider)?.values() ?? [])].map(modelOf);
    if (models.length === 0) return unregisterProvider(provider);
    registerProvider(provider, { baseUrl: "virtual:", apiKey: "none", api: API, models, streamSimple: stream });
}

export function registerVirtualModel(definition: Definition): void {
    notOver();
    mustBe("string", definition?.provider, "registerVirtualModel: the provider");
    mustBe("string", definition.id, "registerVirtualModel: the id");
    mustBe("function", definition.route, `registerVirtualModel("${definition.id}"): route`);
    const { provider, id } = definition;
    if (!definitions.has(provider)) definitions.set(provider, new Map());
    definitions.get(provider)!.set(id, definition);
    tell(provider);
}

export function unregisterVirtualModel(provider: string, id: string): void {
    notOver();
    if (definitions.get(provider)?.delete(id)) tell(provider);
}

/** What a model remembered last on this branch of the session. */
function remembered(provider: string, modelId: string): unknown {
    const entries: any[] = ask({ session_branch: {} });
    const own = ({ type, customType, data }: any) =>
        type === "custom" && customType === STATE && data?.provider === provider && data.modelId === modelId;
    return entries.reverse().find(own)?.data.state;
}

/** The model that answered last, and well. */
function previous(messages: any[]): object | undefined {
    const said = messages.findLast((one) => one.role === "assistant" && !["error", "aborted"].includes(one.stopReason));
    const model = said && (modelRegistry.find as any)(said.provider, said.model);
    return model && { model };
}

async function* stream(model: any, given: any, options: any): AsyncGenerator<any> {
    const { provider, id } = model;
    const definition = definitions.get(provider)?.get(id);
    if (definition === undefined) throw new Error(`there is no virtual model ${provider}/${id} any more`);
    const { messages } = given;
    const state = remembered(provider, id);
    const reason = messages.at(-1)?.role === "user" ? "user" : "continuation";
    const thinkingLevel = options.reasoning ?? "off";
    const request = {
        model, thinkingLevel, reason, previous: previous(messages), state, messages, signal: options.signal,
    };
    const route = await definition.route(request, context);
    const chosen = route?.model;
    if (!chosen?.id || definitions.get(chosen.provider)?.has(chosen.id)) {
        throw new Error(`the virtual model ${provider}/${id} has chosen no model that can answer`);
    }
    if (route.state !== undefined && route.state !== state) {
        ask({ append_entry: { customType: STATE, data: { provider, modelId: id, state: route.state } } });
    }
    const level = route.thinkingLevel ?? thinkingLevel;
    const reasoning = level === "off" ? undefined : level;
    const message: any = await complete(chosen, given, { ...options, reasoning });
    const failed = ["error", "aborted"].includes(message.stopReason);
    yield failed ? { type: "error", error: message } : { type: "done", message };
}
