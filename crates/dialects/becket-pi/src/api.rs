//! The table of pi's API: every member that some version of pi has, and how becket supports it. The page
//! `docs/pi-api.md` is made from this table, and a test compares it with the members that extensions really find.

/// An object with members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// The argument of a factory.
    Pi,
    /// The context of every handler.
    Context,
    /// The additional context of tools.
    ToolContext,
    /// The additional context of commands.
    CommandContext,
    /// The object by which an extension talks to the user.
    Ui,
    /// The object of the session.
    SessionManager,
    /// The object of the models.
    ModelRegistry,
}

/// How becket supports a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// The member works as in pi.
    Works,
    /// The member works as in pi if there is a screen; otherwise it is accepted and has no effect, as in pi.
    OnScreen,
    /// The member is accepted and has no effect: becket has nothing that it could change, such as pi's own screen.
    Quiet,
    /// The member is absent, as in versions of pi that do not have it: extensions that look for it do without.
    Later,
}

/// One member of pi's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The object that has the member.
    pub object: Object,
    /// The member's name.
    pub name: &'static str,
    /// How becket supports the member.
    pub state: Support,
}

impl Object {
    /// All objects, in the order of the page.
    pub const ALL: &[Self] = &[
        Self::Pi,
        Self::Context,
        Self::ToolContext,
        Self::CommandContext,
        Self::Ui,
        Self::SessionManager,
        Self::ModelRegistry,
    ];

    /// The expression by which an extension reaches the object.
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
    /// The part of a working member that is not supported, if any.
    pub fn without(&self) -> Option<&'static str> {
        let path = self.path();
        let found = WITHOUT.iter().find(|(member, _)| *member == path);
        found.map(|(_, words)| *words)
    }

    /// The member as an extension writes it: `pi.exec`, `ctx.ui.notify`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.object.path(), self.name)
    }
}

/// All members of pi's API.
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

/// The parts of working members that are not supported. An extension that uses them is told.
const WITHOUT: &[(&str, &str)] = &[
    (
        "pi.registerProvider",
        "`oauth`, `images`, `classifiers` and `refreshModels`",
    ),
    (
        "ctx.modelRegistry.registerProvider",
        "`oauth`, `images`, `classifiers` and `refreshModels`",
    ),
    (
        "pi.registerVirtualModel",
        "streaming: an answer comes in one piece",
    ),
    (
        "pi.registerMcpServer",
        "a connection: other extensions see the server, and becket's own servers stand in its settings",
    ),
    ("ctx.ui.setTheme", "an effect where nothing is drawn: it says so"),
];

// tidy: a table
const MEMBERS: &[(Object, Support, &str)] = &[
    (
        Object::Pi,
        Support::Works,
        "on registerTool registerCommand registerFlag getFlag registerProvider unregisterProvider events
        sendMessage sendUserMessage appendEntry setSessionName getSessionName setLabel exec getActiveTools
        setActiveTools getAllTools getCommands setModel getThinkingLevel setThinkingLevel registerVirtualModel
        unregisterVirtualModel getSettings registerMcpServer unregisterMcpServer getMcpServers",
    ),
    (
        Object::Pi,
        Support::OnScreen,
        "registerShortcut registerMessageRenderer registerEntryRenderer registerToolRenderer
        registerMarkdownTransformer",
    ),
    (
        Object::Context,
        Support::Works,
        "ui hasUI mode cwd sessionManager modelRegistry model signal thinkingLevel isIdle isProjectTrusted abort
        shutdown hasPendingMessages getContextUsage getSystemPrompt compact",
    ),
    (Object::Context, Support::Quiet, "scopedModels"),
    (Object::ToolContext, Support::Works, "tools executeTool"),
    (
        Object::CommandContext,
        Support::Works,
        "waitForIdle getSystemPromptOptions newSession fork navigateTree switchSession reload",
    ),
    (
        Object::Ui,
        Support::Works,
        "select confirm input editor custom notify setStatus theme getAllThemes getTheme setTheme getEditorText
        getToolsExpanded",
    ),
    (
        Object::Ui,
        Support::OnScreen,
        "onTerminalInput setWorkingMessage setWorkingVisible setWorkingIndicator setWidget setFooter setHeader setTitle
        pasteToEditor setEditorText addAutocompleteProvider setEditorComponent getEditorComponent setToolsExpanded
        setHiddenThinkingLabel",
    ),
    (
        Object::SessionManager,
        Support::Works,
        "getCwd getSessionDir getSessionId getSessionFile getSessionName getLeafId getLeafEntry getEntry getLabel
        getChildren getBranch getHeader getEntries getEntryCount getTree buildSessionContext
        buildContextEntries",
    ),
    (Object::SessionManager, Support::Later, "buildSessionProjection"),
    (
        Object::ModelRegistry,
        Support::Works,
        "getAll getAvailable find hasConfiguredAuth getProviderAuthStatus getProviderDisplayName isUsingOAuth
        getApiKey getApiKeyForProvider getApiKeyAndHeaders complete getError registerProvider unregisterProvider stream
        streamSimple getRegisteredProviderConfig getRegisteredProviderIds registerVirtualModel
        unregisterVirtualModel authStorage getProvider getProviderAuth getRegisteredNativeProvider findOfType
        getModelOfType getModelsOfType getAvailableOfType",
    ),
    (Object::ModelRegistry, Support::Quiet, "refresh"),
    (Object::ModelRegistry, Support::Later, "classify generateImages"),
];
