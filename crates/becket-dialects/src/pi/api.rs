//! What of pi's API is there: every member that some version of pi has, and what becket does with it. The page
//! `docs/pi-api.md` is made of this table, and a test compares it with what extensions really find.

/// Something that has members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// What a factory is given.
    Pi,
    /// What every handler is given.
    Context,
    /// What tools are given besides.
    ToolContext,
    /// What commands are given besides.
    CommandContext,
    /// How an extension talks to the person.
    Ui,
    /// The session.
    SessionManager,
    /// The models.
    ModelRegistry,
}

/// What becket does with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// What pi does.
    Works,
    /// It is taken, and has no effect: there is nothing here that it could change, such as a screen of pi's.
    Quiet,
    /// It is there, and throws when it is used.
    Later,
}

/// One member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Whose it is.
    pub object: Object,
    /// Its name.
    pub name: &'static str,
    /// What becket does with it.
    pub state: State,
}

impl Object {
    /// All of them, in the order of the page.
    pub const ALL: &[Self] = &[
        Self::Pi,
        Self::Context,
        Self::ToolContext,
        Self::CommandContext,
        Self::Ui,
        Self::SessionManager,
        Self::ModelRegistry,
    ];

    /// How an extension reaches it.
    pub fn path(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::Context | Self::ToolContext | Self::CommandContext => "ctx",
            Self::Ui => "ctx.ui",
            Self::SessionManager => "ctx.sessionManager",
            Self::ModelRegistry => "ctx.modelRegistry",
        }
    }
}

impl Member {
    /// As an extension writes it: `pi.exec`, `ctx.ui.notify`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.object.path(), self.name)
    }

    /// Whether an extension names it behind what it belongs to: `ui.notify`, `sessionManager.getBranch`.
    pub fn is_used_in(&self, text: &str) -> bool {
        let last = self.object.path().rsplit('.').next().unwrap_or_default();
        let named = format!("{last}.{}", self.name);
        let mut places = text
            .match_indices(&named)
            .map(|(place, _)| &text[place + named.len()..]);
        places.any(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    }
}

/// All members.
pub fn api() -> Vec<Member> {
    let members = MEMBERS.iter().flat_map(|(object, state, names)| {
        names.split_whitespace().map(|name| Member {
            object: *object,
            name,
            state: *state,
        })
    });
    members.collect()
}

// tidy: a table
const MEMBERS: &[(Object, State, &str)] = &[
    (
        Object::Pi,
        State::Works,
        "on registerTool registerCommand registerFlag getFlag registerProvider unregisterProvider events
        sendMessage sendUserMessage appendEntry setSessionName getSessionName setLabel exec getActiveTools
        setActiveTools getAllTools getCommands setModel getThinkingLevel setThinkingLevel",
    ),
    (
        Object::Pi,
        State::Quiet,
        "registerShortcut registerMessageRenderer registerEntryRenderer registerToolRenderer
        registerMarkdownTransformer",
    ),
    (
        Object::Pi,
        State::Later,
        "getSettings registerMcpServer unregisterMcpServer getMcpServers registerVirtualModel
        unregisterVirtualModel",
    ),
    (
        Object::Context,
        State::Works,
        "ui hasUI mode cwd sessionManager modelRegistry model signal thinkingLevel isIdle isProjectTrusted abort
        shutdown hasPendingMessages getContextUsage getSystemPrompt compact",
    ),
    (Object::Context, State::Quiet, "scopedModels"),
    (Object::ToolContext, State::Works, "tools"),
    (Object::ToolContext, State::Later, "executeTool"),
    (Object::CommandContext, State::Works, "waitForIdle"),
    (
        Object::CommandContext,
        State::Later,
        "newSession fork navigateTree switchSession reload getSystemPromptOptions",
    ),
    (
        Object::Ui,
        State::Works,
        "select confirm input editor custom notify setStatus theme getAllThemes getTheme setTheme getEditorText
        getToolsExpanded",
    ),
    (
        Object::Ui,
        State::Quiet,
        "onTerminalInput setWorkingMessage setWorkingVisible setWorkingIndicator setHiddenThinkingLabel setWidget
        setFooter setHeader setTitle pasteToEditor setEditorText addAutocompleteProvider setEditorComponent
        getEditorComponent setToolsExpanded",
    ),
    (
        Object::SessionManager,
        State::Works,
        "getCwd getSessionDir getSessionId getSessionFile getSessionName getLeafId getLeafEntry getEntry getLabel
        getBranch getHeader getEntries getTree buildSessionContext",
    ),
    (
        Object::SessionManager,
        State::Later,
        "buildContextEntries buildSessionProjection",
    ),
    (
        Object::ModelRegistry,
        State::Works,
        "getAll getAvailable find hasConfiguredAuth getProviderAuthStatus getProviderDisplayName isUsingOAuth
        getApiKey getApiKeyForProvider getApiKeyAndHeaders complete getError registerProvider unregisterProvider",
    ),
    (Object::ModelRegistry, State::Quiet, "refresh"),
    (
        Object::ModelRegistry,
        State::Later,
        "stream streamSimple classify generateImages getProvider getProviderAuth findOfType getModelsOfType
        getAvailableOfType getModelOfType getRegisteredProviderConfig getRegisteredNativeProvider
        getRegisteredProviderIds registerVirtualModel unregisterVirtualModel authStorage",
    ),
];
