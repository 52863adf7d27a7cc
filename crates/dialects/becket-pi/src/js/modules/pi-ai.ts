// `pi-ai` with all its subpaths: the vocabulary of models, messages and streams. Only what nearly every extension uses
// stands here; the rest is in rooms that are loaded when they are needed. Requests to a model go to becket, which has
// the keys; a stream function that an extension has registered for an API of its own comes first.
import { room, shelf } from "pi:lazy";

export const { Type } = shelf("pi:typebox");

/** A choice among texts, as an `enum`, which every provider understands. */
export function StringEnum(values: readonly string[], options?: { description?: string; default?: string }): any {
  const { description, default: standard } = options ?? {};
  return {
    type: "string",
    enum: values,
    ...(description && { description }),
    ...(standard && { default: standard }),
  };
}

export const {
  EventStream, AssistantMessageEventStream, createAssistantMessageEventStream, lazyStream, stream, streamSimple,
  complete, completeSimple, registerApiProvider, getApiProvider, getApiProviders, unregisterApiProviders,
  clearApiProviders, resetApiProviders, registerBuiltInApiProviders, fauxText, fauxThinking, fauxToolCall,
  fauxAssistantMessage,
  streamAnthropic, streamAzureOpenAIResponses, streamGoogle, streamGoogleGeminiCli, streamGoogleVertex, streamMistral,
  streamOpenAICodexResponses, streamOpenAICompletions, streamOpenAIResponses, streamSimpleAnthropic,
  streamSimpleAzureOpenAIResponses, streamSimpleGoogle, streamSimpleGoogleGeminiCli, streamSimpleGoogleVertex,
  streamSimpleMistral, streamSimpleOpenAICodexResponses, streamSimpleOpenAICompletions, streamSimpleOpenAIResponses,
  anthropicMessagesApi, azureOpenAIResponsesApi, bedrockConverseStreamApi, googleGenerativeAIApi, googleVertexApi,
  mistralConversationsApi, openAICodexResponsesApi, openAICompletionsApi, openAIResponsesApi, lazyApi,
  createProvider, envApiKeyAuth,
} = room("pi:ai-stream");

export const {
  getModel, getModels, getProviders, calculateCost, supportsXhigh, getSupportedThinkingLevels, clampThinkingLevel,
  modelsAreEqual, findEnvKeys, getEnvApiKey, hasApi, isModelType, getModelType, getBuiltinModel, getBuiltinModels,
  getBuiltinProviders, getAllBuiltinModels,
} = room("pi:ai-models");

export const {
  validateToolArguments, validateToolCall, isContextOverflow, getOverflowPatterns, repairJson, parseJsonWithRepair,
  parseStreamingJson, contentText, getSystemMessageText, formatThrownValue, extractDiagnosticError,
  createAssistantMessageDiagnostic, appendAssistantMessageDiagnostic, registerSessionResourceCleanup,
  cleanupSessionResources, uuidv7, isRetryableAssistantError, retryDelayMs,
} = room("pi:ai-text");

export const PI_AI_VERSION = "0.73.1";
export const DEFAULT_MAX_AGENT_RETRY_DELAY_MS = 60_000;
export const ANTHROPIC_API_KEY_ENV = "ANTHROPIC_API_KEY";
export const ANTHROPIC_AUTH_TOKEN_ENV = "ANTHROPIC_AUTH_TOKEN";
export const ANTHROPIC_OAUTH_TOKEN_ENV = "ANTHROPIC_OAUTH_TOKEN";
export const ANTHROPIC_FEDERATION_RULE_ID_ENV = "ANTHROPIC_FEDERATION_RULE_ID";
export const ANTHROPIC_ORGANIZATION_ID_ENV = "ANTHROPIC_ORGANIZATION_ID";
export const ANTHROPIC_SERVICE_ACCOUNT_ID_ENV = "ANTHROPIC_SERVICE_ACCOUNT_ID";
export const ANTHROPIC_IDENTITY_TOKEN_FILE_ENV = "ANTHROPIC_IDENTITY_TOKEN_FILE";
export const ANTHROPIC_WORKSPACE_ID_ENV = "ANTHROPIC_WORKSPACE_ID";
export * from "pi:pi-ai-rest";
