//! What the examples under `examples/pi` prove. A row is a test of one example, and the parts of pi's API without which
//! that test is red. Nothing but data: the page `docs/pi-api.md` is made of it as well.

/// What one test proves. Names are separated by blanks; members are written as extensions write them.
pub struct Proof {
    /// The name of the test.
    pub test: &'static str,
    /// The example that it drives.
    pub example: &'static str,
    /// Events whose handlers have an effect that the test sees.
    pub hears: &'static str,
    /// Members that do something that the test sees.
    pub does: &'static str,
    /// Members whose answer the test sees.
    pub tells: &'static str,
    /// Members that have no effect here, and that can be called all the same.
    pub takes: &'static str,
}

const NOTHING: Proof = Proof {
    test: "",
    example: "",
    hears: "",
    does: "",
    tells: "",
    takes: "",
};

/// The proofs, by example.
// tidy: a table
pub const PROOFS: &[Proof] = &[
    Proof {
        test: "several_calls_are_made_in_one",
        example: "batch",
        does: "ctx.executeTool",
        ..NOTHING
    },
    Proof {
        test: "what_there_is_to_work_with_is_shown",
        example: "batch",
        hears: "context_with_system",
        does: "pi.registerMcpServer pi.unregisterMcpServer ctx.modelRegistry.registerVirtualModel
            ctx.modelRegistry.unregisterVirtualModel",
        tells: "pi.getSettings pi.getMcpServers ctx.sessionManager.buildContextEntries ctx.modelRegistry.stream
            ctx.modelRegistry.streamSimple ctx.modelRegistry.getRegisteredProviderConfig
            ctx.modelRegistry.getRegisteredProviderIds ctx.modelRegistry.authStorage ctx.modelRegistry.getProvider
            ctx.modelRegistry.getProviderAuth ctx.modelRegistry.getRegisteredNativeProvider
            ctx.modelRegistry.findOfType ctx.modelRegistry.getModelOfType ctx.modelRegistry.getModelsOfType
            ctx.modelRegistry.getAvailableOfType",
        ..NOTHING
    },
    Proof {
        test: "what_was_asked_on_a_branch_is_told",
        example: "branches",
        hears: "session_before_tree session_tree",
        tells: "ctx.sessionManager.getChildren",
        ..NOTHING
    },
    Proof {
        test: "only_labelled_places_are_forked",
        example: "branches",
        hears: "session_before_fork session_fork",
        tells: "ctx.sessionManager.getLabel ctx.sessionManager.getBranch",
        ..NOTHING
    },
    Proof {
        test: "a_prompt_may_take_so_many_turns",
        example: "budget",
        hears: "agent_start turn_end",
        does: "ctx.abort ctx.ui.notify",
        tells: "pi.getFlag",
        ..NOTHING
    },
    Proof {
        test: "a_session_may_use_so_many_tokens",
        example: "budget",
        hears: "input agent_end",
        ..NOTHING
    },
    Proof {
        test: "a_session_ends_quietly",
        example: "budget",
        does: "pi.registerCommand ctx.shutdown",
        tells: "ctx.isIdle ctx.hasPendingMessages",
        ..NOTHING
    },
    Proof {
        test: "the_coach_speaks_up_in_between",
        example: "coach",
        hears: "tool_execution_end",
        does: "pi.sendUserMessage",
        ..NOTHING
    },
    Proof {
        test: "changes_are_looked_at_once_more",
        example: "coach",
        hears: "agent_end",
        does: "pi.sendUserMessage",
        ..NOTHING
    },
    Proof {
        test: "the_diary_counts_and_is_heard",
        example: "diary",
        hears: "session_start session_shutdown",
        does: "pi.events",
        ..NOTHING
    },
    Proof {
        test: "the_gate_refuses_what_nobody_allows",
        example: "gate",
        hears: "tool_call",
        does: "pi.on ctx.ui ctx.ui.notify",
        tells: "ctx.hasUI",
        ..NOTHING
    },
    Proof {
        test: "the_handbook_is_called_by_name",
        example: "handbook",
        hears: "resources_discover",
        tells: "pi.getFlag pi.getCommands ctx.ui.getAllThemes ctx.getSystemPromptOptions",
        ..NOTHING
    },
    Proof {
        test: "the_person_s_own_commands_pass_the_gate",
        example: "gate",
        hears: "user_bash",
        ..NOTHING
    },
    Proof {
        test: "the_session_is_inspected",
        example: "inspect",
        tells: "ctx.sessionManager ctx.signal ctx.sessionManager.getEntries ctx.sessionManager.getEntryCount
            ctx.sessionManager.getLeafId ctx.sessionManager.buildSessionContext ctx.sessionManager.getSessionId
            ctx.sessionManager.getHeader ctx.sessionManager.getSessionName ctx.sessionManager.getSessionFile
            ctx.sessionManager.getSessionDir ctx.sessionManager.getCwd ctx.sessionManager.getTree
            ctx.sessionManager.getEntry",
        ..NOTHING
    },
    Proof {
        test: "the_models_are_inspected",
        example: "inspect",
        tells: "ctx.model ctx.thinkingLevel ctx.modelRegistry
            ctx.modelRegistry.getAll ctx.modelRegistry.getAvailable ctx.modelRegistry.hasConfiguredAuth
            ctx.modelRegistry.getProviderDisplayName ctx.modelRegistry.isUsingOAuth
            ctx.modelRegistry.getProviderAuthStatus ctx.modelRegistry.getError",
        takes: "ctx.scopedModels",
        ..NOTHING
    },
    Proof {
        test: "keys_and_the_system_prompt_are_inspected",
        example: "inspect",
        tells: "ctx.getSystemPrompt ctx.modelRegistry.getApiKey ctx.modelRegistry.getApiKeyForProvider
            ctx.modelRegistry.getApiKeyAndHeaders",
        takes: "ctx.modelRegistry.refresh",
        ..NOTHING
    },
    Proof {
        test: "the_model_inspects_itself",
        example: "inspect",
        does: "pi.registerTool",
        tells: "ctx.tools ctx.signal",
        ..NOTHING
    },
    Proof {
        test: "the_model_names_the_session",
        example: "inspect",
        does: "pi.setSessionName",
        tells: "ctx.modelRegistry.complete",
        ..NOTHING
    },
    Proof {
        test: "the_gateway_knows_the_session",
        example: "gateway",
        hears: "before_provider_headers provider_stream_event",
        ..NOTHING
    },
    Proof {
        test: "few_requests_are_left",
        example: "limits",
        hears: "after_provider_response thinking_level_select",
        does: "ctx.ui.setStatus pi.setThinkingLevel",
        tells: "pi.getThinkingLevel",
        ..NOTHING
    },
    Proof {
        test: "notes_come_back_in_the_next_session",
        example: "notes",
        hears: "session_start",
        does: "pi.registerTool pi.appendEntry ctx.ui.setStatus",
        tells: "ctx.sessionManager.getBranch",
        ..NOTHING
    },
    Proof {
        test: "places_get_labels",
        example: "notes",
        does: "pi.setLabel",
        tells: "ctx.sessionManager.getLeafEntry ctx.sessionManager.getLabel",
        ..NOTHING
    },
    Proof {
        test: "parrots_answer_and_fly_away",
        example: "parrot",
        hears: "model_select",
        does: "pi.registerProvider pi.unregisterProvider pi.setModel pi.setActiveTools
            ctx.modelRegistry.registerProvider ctx.modelRegistry.unregisterProvider",
        tells: "ctx.modelRegistry.find",
        ..NOTHING
    },
    Proof {
        test: "prompts_say_more_than_was_typed",
        example: "prompt",
        hears: "input before_agent_start",
        does: "ctx.ui.notify",
        tells: "pi.exec ctx.cwd",
        ..NOTHING
    },
    Proof {
        test: "old_outputs_are_shortened",
        example: "prompt",
        hears: "context",
        ..NOTHING
    },
    Proof {
        test: "keys_stay_out_of_the_conversation",
        example: "secrets",
        hears: "tool_result message_end before_provider_request",
        ..NOTHING
    },
    Proof {
        test: "a_conversation_is_kept_small",
        example: "small",
        hears: "agent_settled session_compact",
        does: "ctx.compact pi.sendMessage",
        tells: "ctx.getContextUsage",
        ..NOTHING
    },
    Proof {
        test: "what_was_said_is_forgotten",
        example: "small",
        hears: "session_before_compact",
        does: "ctx.compact",
        ..NOTHING
    },
    Proof {
        test: "commits_are_summed_up",
        example: "standup",
        does: "pi.registerCommand pi.exec pi.setSessionName pi.sendUserMessage ctx.waitForIdle",
        tells: "pi.getSessionName",
        ..NOTHING
    },
    Proof {
        test: "a_session_says_what_it_can_do",
        example: "standup",
        tells: "pi.getAllTools pi.getActiveTools pi.getCommands ctx.cwd ctx.mode ctx.hasUI ctx.isProjectTrusted",
        takes: "pi.registerShortcut",
        ..NOTHING
    },
    Proof {
        test: "the_model_is_kept_at_its_list",
        example: "tasks",
        hears: "turn_end",
        ..NOTHING
    },
    Proof {
        test: "thinking_costs_no_more_than_it_must",
        example: "thrifty",
        does: "pi.registerVirtualModel pi.unregisterVirtualModel",
        ..NOTHING
    },
    Proof {
        test: "the_tour_comes_to_its_end_without_a_person",
        example: "tour",
        does: "ctx.ui.notify ctx.ui.setStatus pi.sendMessage",
        tells: "ctx.ui.select ctx.ui.confirm ctx.ui.input ctx.ui.editor ctx.ui.custom ctx.ui.theme
            ctx.ui.getAllThemes ctx.ui.getTheme ctx.ui.setTheme ctx.ui.getEditorText ctx.ui.getToolsExpanded",
        takes: "ctx.ui.setTitle ctx.ui.setWidget ctx.ui.setHeader ctx.ui.setFooter ctx.ui.setWorkingMessage
            ctx.ui.setWorkingVisible ctx.ui.setWorkingIndicator ctx.ui.setHiddenThinkingLabel ctx.ui.setEditorText
            ctx.ui.pasteToEditor ctx.ui.setToolsExpanded ctx.ui.addAutocompleteProvider
            ctx.ui.setEditorComponent ctx.ui.getEditorComponent ctx.ui.onTerminalInput
            pi.registerMessageRenderer pi.registerEntryRenderer pi.registerToolRenderer
            pi.registerMarkdownTransformer",
        ..NOTHING
    },
    Proof {
        test: "the_transcript_is_written_while_things_happen",
        example: "transcript",
        hears: "session_start turn_start message_start message_update message_end tool_execution_start
            tool_execution_update tool_execution_end session_shutdown",
        does: "pi.registerFlag",
        tells: "pi.getFlag",
        ..NOTHING
    },
    Proof {
        test: "the_transcript_tells_of_another_session",
        example: "transcript",
        hears: "session_switch",
        ..NOTHING
    },
    Proof {
        test: "the_transcript_has_the_name_of_the_session",
        example: "transcript",
        hears: "session_info_changed",
        ..NOTHING
    },
    Proof {
        test: "the_model_goes_on_while_the_check_is_red",
        example: "verify",
        hears: "tool_result agent_before_settle",
        tells: "pi.exec",
        ..NOTHING
    },
    Proof {
        test: "a_session_is_not_left_while_the_check_is_red",
        example: "verify",
        hears: "session_before_switch",
        ..NOTHING
    },
    Proof {
        test: "a_thread_is_begun_and_left_again",
        example: "threads",
        does: "ctx.newSession ctx.switchSession",
        ..NOTHING
    },
    Proof {
        test: "a_question_is_asked_in_other_words",
        example: "threads",
        does: "ctx.fork",
        ..NOTHING
    },
    Proof {
        test: "a_question_is_taken_back",
        example: "threads",
        does: "ctx.navigateTree",
        ..NOTHING
    },
    Proof {
        test: "extensions_are_loaded_anew_by_one",
        example: "threads",
        does: "ctx.reload",
        ..NOTHING
    },
    Proof {
        test: "a_command_is_watched_until_it_says_the_word",
        example: "watch-command",
        hears: "tool_result",
        does: "pi.registerTool",
        tells: "pi.exec",
        ..NOTHING
    },
    Proof {
        test: "a_command_runs_when_everything_is_done",
        example: "when-done",
        hears: "agent_settled",
        does: "pi.exec ctx.ui.notify",
        ..NOTHING
    },
];
