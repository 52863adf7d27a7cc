// The names of pi-coding-agent that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  AgentSessionRuntime, ArminComponent, CredentialSynchronizationError, DefaultPackageManager,
  ExtensionEditorComponent, ExtensionInputComponent, ExtensionRunner, ExtensionSelectorComponent,
  FileAuthStorageBackend, FooterComponent, InMemoryAuthStorageBackend, InteractiveMode, LoginDialogComponent,
  ModelRuntime, ModelSelectorComponent, OAuthSelectorComponent, ProjectTrustStore, RpcClient,
  SessionSelectorComponent, SettingsSelectorComponent, ShowImagesSelectorComponent, ThemeSelectorComponent,
  ThinkingSelectorComponent, TreeSelectorComponent, UserMessageSelectorComponent, buildContextEntries,
  buildSessionProjection, collectEntriesForBranchSummary, convertToPng, createAgentSessionFromServices,
  createAgentSessionRuntime, createAgentSessionServices, createCodemodeExtension, createExtensionRuntime,
  createLocalPowerShellOperations, createMcpExtension, createPowerShellTool, createPowerShellToolDefinition,
  createToolSearchExtension, discoverAndLoadExtensions, findCutPoint, findTurnStartIndex, formatDimensionNote,
  formatReadLineRange, generateBranchSummary, getPowerShellConfig, hasTrustRequiringProjectResources, main, parseArgs,
  prepareBranchEntries, readStoredCredential, resizeImage, resolveCliModel, resolveModelScopeWithDiagnostics,
  runPrintMode, runRpcMode, wrapRegisteredTool, wrapRegisteredTools,
} = later;
