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
    /// What pi does, where there is a screen; elsewhere it is taken and has no effect, as in pi.
    OnScreen,
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
    /// What of a member that works does not, if anything.
    pub fn without(&self) -> Option<&'static str> {
        let path = self.path();
        let found = WITHOUT.iter().find(|(member, _)| *member == path);
        found.map(|(_, words)| *words)
    }

    /// As an extension writes it: `pi.exec`, `ctx.ui.notify`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.object.path(), self.name)
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

/// What members that work leave out. Whoever uses it is told.
const WITHOUT: &[(&str, &str)] = &[
    (
        "pi.registerProvider",
        "`oauth`, `images`, `classifiers`, `refreshModels` and a provider as an object",
    ),
    (
        "ctx.modelRegistry.registerProvider",
        "`oauth`, `images`, `classifiers`, `refreshModels` and a provider as an object",
    ),
    (
        "pi.registerVirtualModel",
        "streaming: an answer comes in one piece",
    ),
    ("ctx.ui.setTheme", "an effect where nothing is drawn: it says so"),
];

// tidy: a table
const MEMBERS: &[(Object, State, &str)] = &[
    (
        Object::Pi,
        State::Works,
        "on registerTool registerCommand registerFlag getFlag registerProvider unregisterProvider events
        sendMessage sendUserMessage appendEntry setSessionName getSessionName setLabel exec getActiveTools
        setActiveTools getAllTools getCommands setModel getThinkingLevel setThinkingLevel registerVirtualModel
        unregisterVirtualModel",
    ),
    (
        Object::Pi,
        State::OnScreen,
        "registerShortcut registerMessageRenderer registerEntryRenderer registerToolRenderer
        registerMarkdownTransformer",
    ),
    (
        Object::Pi,
        State::Later,
        "getSettings registerMcpServer unregisterMcpServer getMcpServers",
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
    (
        Object::CommandContext,
        State::Works,
        "waitForIdle getSystemPromptOptions newSession fork navigateTree switchSession reload",
    ),
    (
        Object::Ui,
        State::Works,
        "select confirm input editor custom notify setStatus theme getAllThemes getTheme setTheme getEditorText
        getToolsExpanded",
    ),
    (
        Object::Ui,
        State::OnScreen,
        "onTerminalInput setWorkingMessage setWorkingVisible setWorkingIndicator setWidget setFooter setHeader setTitle
        pasteToEditor setEditorText addAutocompleteProvider setEditorComponent getEditorComponent setToolsExpanded
        setHiddenThinkingLabel",
    ),
    (
        Object::SessionManager,
        State::Works,
        "getCwd getSessionDir getSessionId getSessionFile getSessionName getLeafId getLeafEntry getEntry getLabel
        getChildren getBranch getHeader getEntries getTree buildSessionContext",
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
