// The names of pi-coding-agent that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  AgentSession, AgentSessionRuntime, ArminComponent, AssistantMessageComponent, AuthStorage, BashExecutionComponent,
  BranchSummaryMessageComponent, CompactionSummaryMessageComponent, CredentialSynchronizationError,
  CustomMessageComponent, DefaultPackageManager, DefaultResourceLoader, ExtensionEditorComponent,
  ExtensionInputComponent, ExtensionRunner, ExtensionSelectorComponent, FileAuthStorageBackend, FooterComponent,
  InMemoryAuthStorageBackend, InteractiveMode, LoginDialogComponent, ModelRegistry, ModelRuntime,
  ModelSelectorComponent, OAuthSelectorComponent, ProjectTrustStore, RpcClient, SessionManager,
  SessionSelectorComponent, SettingsManager, SettingsSelectorComponent, ShowImagesSelectorComponent,
  SkillInvocationMessageComponent, ThemeSelectorComponent, ThinkingSelectorComponent, ToolExecutionComponent,
  TreeSelectorComponent, UserMessageComponent, UserMessageSelectorComponent, buildContextEntries,
  buildSessionProjection, collectEntriesForBranchSummary, compact, convertToPng, copyToClipboard, createAgentSession,
  createAgentSessionFromServices, createAgentSessionRuntime, createAgentSessionServices, createCodemodeExtension,
  createExtensionRuntime, createLocalPowerShellOperations, createMcpExtension, createPowerShellTool,
  createPowerShellToolDefinition, createSyntheticSourceInfo, createToolSearchExtension, discoverAndLoadExtensions,
  findCutPoint, findTurnStartIndex, formatDimensionNote, formatReadLineRange, formatSkillsForPrompt,
  generateBranchSummary, generateSummary, generateSummaryWithUsage, getDocsPath, getExamplesPath, getPackageDir,
  getPowerShellConfig, getReadmePath, hasTrustRequiringProjectResources, loadProjectContextFiles, loadSkills,
  loadSkillsFromDir, main, parseArgs, prepareBranchEntries, readStoredCredential, resizeImage, resolveCliModel,
  resolveModelScopeWithDiagnostics, runPrintMode, runRpcMode, wrapRegisteredTool, wrapRegisteredTools,
} = later;
