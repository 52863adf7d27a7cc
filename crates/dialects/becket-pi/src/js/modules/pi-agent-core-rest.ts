// The names of pi-agent-core that becket does not serve yet. Each can be imported, and says so when it is used.
import { later } from "pi:lazy";

export const {
  AGENT_TELEMETRY_SCHEMAS, AI_TELEMETRY_SCHEMA, Agent, AgentHarness, BACKGROUND_CONTEXT, BranchSummaryError, Closed,
  CompactionError, ExecutionError, FileError, HARNESS_TELEMETRY_SCHEMA, HarnessClosed, HarnessFault,
  InMemoryTelemetryContext, InvalidLane, InvalidMessage, InvalidNavigation, JSONL_STORAGE_VERSION, JsonlSessionRepo,
  LaneBusy, MemorySessionRepo, NOOP_TELEMETRY_CONTEXT, NoActiveOperation, NoActiveRun, NothingToCompact,
  NothingToResume, OperationMismatch, Result, SessionBranchExistsError, SessionInvalidBranchError,
  SessionInvariantError, SessionPendingAssistantMessageError, SessionUnknownTargetError, SliceNotImplemented,
  StorageBackedSession, TODO_CONTEXT, TaggedError, UnknownSkill, UnknownTarget, UnknownTemplate, agentLoop,
  agentLoopContinue, appendList, applyShellOutputUpdate, awaitWithContext, branchTip, branchTipInventoryPrefix,
  collectEntriesForBranchSummary, commitWrite, compact, createContextKey, createForkSnapshot, createTypedSpanStarter,
  defineTelemetrySchema, deleteList, deleteValue, entryLabel, err, executeShellWithCapture, findCutPoint,
  findTurnStartIndex, formatPromptTemplateInvocation, formatSkillInvocation, formatSkillsForSystemPrompt,
  generateBranchSummary, generateSummary, generateSummaryWithUsage, getOrThrow, getOrUndefined, getTelemetryContext,
  insertEntry, insertUsage, laneConfig, laneState, list, loadPromptTemplates, loadSkills, loadSourcedPromptTemplates,
  loadSourcedSkills, matchError, ok, operationMeta, operationPreparation, operationPreparationPrefix, operationResult,
  operationScopeOf, operationState, operationToolArgs, operationToolArgsPrefix, operationToolMemo,
  operationToolMemoPrefix, parseCommandArgs, pendingAssistantFrames, pendingEntry, pendingToolOutput,
  pendingToolOutputPrefix, prepareBranchEntries, prepareCompaction, prepareStorageCommit,
  projectForkCurrentStateWrite, reduceLaneSnapshot, resolveListReadOptions, runAgentLoop, runAgentLoopContinue,
  runToolCall, sanitizeBinaryOutput, sessionName, setDefaultStreamFn, setValue, startAiSpan, startHarnessSpan,
  streamProxy, substituteArgs, validateCommittedWrites, value, withAbortSignal, withCancel, withContextValue,
  withTelemetryContext, withoutAbortSignal,
} = later;
