// The names of pi-ai that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  AI_TELEMETRY_SCHEMA, AssistantMessageFrameEncoder, InMemoryCredentialStore, InMemoryModelsStore, ModelsError,
  PI_ATTRIBUTION, StreamingJsonParser, ToolCallArgumentsStream, anthropicOAuthProvider, anthropicProvider,
  antigravityOAuthProvider, azureOpenAIResponsesProvider, bedrockProviderModule, buildRequest, builtinImagesModels,
  builtinImagesProviders, builtinModels, builtinProviders, closeOpenAICodexWebSocketSessions, collapseSystemMessages,
  convertMessages, createFauxCore, createImagesModels, createImagesProvider, createInitialSystemMessage, createModels,
  declarationsEqual, defaultProviderAuthContext, extractRetryDelay, fauxProvider,
  formatUserAgent, geminiCliOAuthProvider, generateImages, generateImagesOpenRouter, getAttributionHeaders,
  getBuiltinClassifierModel, getBuiltinClassifierModels, getBuiltinImageModel, getBuiltinImageModels,
  getBuiltinModelDataGeneratedAt, getClientVersion, getCurrentSystemMessage, getCurrentSystemPrompt, getCurrentTools,
  getDeclaredTools, getGitHubCopilotBaseUrl, getIdentityHeaders, getImageModel, getImageModels, getImageProviders,
  getImagesApiProvider, getInitialSystemMessage, getOAuthApiKey, getOAuthProvider, getOAuthProviderInfoList,
  getOAuthProviders, getOpenAICodexWebSocketDebugStats, getOpenCodeSessionHeaders, getToolStateChanges,
  githubCopilotOAuthProvider, googleProvider, googleVertexProvider, hasNonAdditiveToolChanges, hasToolRedefinitions,
  isRecoverableLength, lazyOAuth, loginAnthropic, loginAntigravity, loginGeminiCli, loginGitHubCopilot,
  loginOpenAICodex, mergeClientIdentity, mistralProvider, normalizeContext, normalizeDomain, openaiCodexOAuthProvider,
  parseToolCallArguments, piMessagesApi, radiusProvider, reduceAssistantMessageFrames, refreshAnthropicToken,
  refreshAntigravityToken, refreshGitHubCopilotToken, refreshGoogleCloudToken, refreshOAuthToken,
  refreshOpenAICodexToken, registerBuiltInImagesApiProviders, registerBunOAuthFlows, registerFauxProvider,
  registerImagesApiProvider, registerOAuthProvider, renderSystemMessageUpdate, resetOAuthProviders,
  resetOpenAICodexWebSocketDebugStats, resolveTranscript, resolveTranscriptTools, retryAssistantCall,
  setBedrockProviderModule, toToolDeclaration, unregisterOAuthProvider, withClientIdentity,
  withoutInitialSystemMessage,
} = later;
