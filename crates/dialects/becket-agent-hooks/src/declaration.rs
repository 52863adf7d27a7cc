//! Host declarations: one document that says how a host is set up, and what it can do.
//!
//! Everything that sets up an emitter passes through here: documents of the standard, becket's own settings, which are
//! written as one, and the vectors of the conformance kit. A document that is not understood to the last member is
//! refused, before anybody is asked anything.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use becket_hooks::{keys_of, read_strictly};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::canonical::{LARGEST_INTEGER, canonical};
use crate::composition::{CompositionProfile, OnApproval, Synthesis, WrittenComposition};
use crate::emitter::{SPEC, Setup};
use crate::interceptor::{Approver, Binding, Identity, Interceptor, Redactor};
use crate::point::Point;
use crate::record::Mode;

/// The version of documents that becket reads.
pub const VERSION: &str = "agent-hooks-declaration/1.0";

/// How long an interceptor may take where nothing is said.
const USUAL_TIMEOUT_MS: u64 = 5_000;

/// The longest time that a document may give.
const LONGEST_TIMEOUT_MS: u64 = 3_600_000;

/// How many interceptors a document may have.
const MOST_BINDINGS: usize = 256;

/// The largest document.
const LARGEST_DOCUMENT: u64 = 1024 * 1024;

/// Why a document is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The kind of mistake.
    pub class: Class,
    /// Where in the document, as a JSON pointer, and what is wrong.
    pub words: String,
}

/// The kinds of mistakes in a document, in the order in which they are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The file cannot be read.
    Unreadable,
    /// The text is not a JSON object.
    Malformed,
    /// The document is of another version.
    VersionUnsupported,
    /// The document is about another version of the standard.
    SpecUnsupported,
    /// A member that no document has.
    UnknownField,
    /// A value that the member cannot have.
    InvalidField,
    /// Two members that do not fit together.
    Inconsistent,
    /// The host cannot do what the document says.
    SurfaceUnsupported,
    /// A name that the host does not know.
    ReferenceUnresolved,
    /// A kind of interceptor that the host does not know.
    KindUnknown,
    /// An interceptor cannot be set up.
    BindingRejected,
}

impl Class {
    /// The standard's word for the mistake.
    pub fn code(self) -> String {
        let word = serde_json::to_value(self).ok();
        let word = word.as_ref().and_then(Value::as_str).unwrap_or("malformed");
        format!("declaration_error:{word}")
    }

    fn at(self, pointer: &str, words: impl std::fmt::Display) -> Refused {
        Refused {
            class: self,
            words: format!("{pointer}: {words}"),
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} at {}", self.class.code(), self.words)
    }
}

/// A document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    #[serde(default, rename = "$schema", skip_serializing)]
    _schema: Option<Value>,
    /// The version of the document.
    pub declaration: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<Named>,
    /// How the host is set up.
    #[serde(default)]
    pub configuration: Configuration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    surface: Option<WrittenSurface>,
    /// The interceptors, in their order.
    pub bindings: Vec<WrittenBinding>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extensions: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Named {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// How a host is set up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Configuration {
    /// Whether verdicts count.
    pub mode: Mode,
    /// How verdicts become one.
    pub composition: WrittenComposition,
    /// How contexts are identified.
    pub identity_provider: WrittenIdentity,
    /// Who approves.
    pub approval: WrittenApproval,
    /// What the host does after its own deny.
    pub posture: Posture,
    /// How long answers may take.
    pub timeouts: Timeouts,
    /// How many records the host keeps.
    pub records: Records,
}

impl Configuration {
    fn check_fields(&self) -> Result<(), Refused> {
        let identity = self.identity_provider.0.as_deref();
        let is_identity =
            |name: &str| name == Identity::JCS_SHA256 || is_name(name) && !name.starts_with("jcs");
        if identity.is_some_and(|name| !is_identity(name)) {
            return invalid(
                "/configuration/identity_provider",
                "it is no name of an identity provider",
            );
        }
        let WrittenApproval { resolver, redactor } = &self.approval;
        if [resolver, redactor]
            .into_iter()
            .flatten()
            .any(|name| !is_name(name))
        {
            return invalid(
                "/configuration/approval",
                "a name has up to 64 of a-z, 0-9, `_` and `-`",
            );
        }
        if !is_timeout(self.timeouts.interceptor_ms) || !is_timeout(self.timeouts.approval_resolver_ms) {
            return invalid("/configuration/timeouts", "a timeout is 1 to 3600000 ms");
        }
        match self.records.max_buffered {
            Some(0) => invalid("/configuration/records/max_buffered", "it is at least 1"),
            _ => Ok(()),
        }
    }
}

impl WrittenBinding {
    fn check_fields(&self, pointer: &str) -> Result<(), Refused> {
        let is_kind = self.kind.len() <= 128 && self.kind.contains('.') && self.kind.split('.').all(is_name);
        if !is_name(&self.id) {
            return invalid(
                &format!("{pointer}/id"),
                "an id has up to 64 of a-z, 0-9, `_` and `-`",
            );
        }
        if !is_kind {
            return invalid(
                &format!("{pointer}/kind"),
                "a kind is two or more names with dots between them",
            );
        }
        if !is_timeout(self.timeout_ms) {
            return invalid(&format!("{pointer}/timeout_ms"), "a timeout is 1 to 3600000 ms");
        }
        match self.at.as_ref().is_some_and(|at| at.is_empty() || !is_set(at)) {
            true => invalid(
                &format!("{pointer}/at"),
                "points stand there once, and at least one",
            ),
            false => Ok(()),
        }
    }
}

fn invalid(pointer: &str, words: &str) -> Result<(), Refused> {
    Err(Class::InvalidField.at(pointer, words))
}

/// Whether a text has only small letters, digits and the given characters.
fn is_of(text: &str, more: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.chars()
        .all(|letter| is_plain(letter) || more.contains(letter))
}

fn is_name(name: &str) -> bool {
    name.len() <= 64 && name.starts_with(|letter: char| letter.is_ascii_lowercase()) && is_of(name, "_-")
}

fn is_timeout(limit: Option<u64>) -> bool {
    limit.is_none_or(|ms| (1..=LONGEST_TIMEOUT_MS).contains(&ms))
}

/// How contexts are identified: by a name, or, with `null`, not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WrittenIdentity(pub Option<String>);

impl Default for WrittenIdentity {
    fn default() -> Self {
        Self(Some(Identity::JCS_SHA256.into()))
    }
}

/// Who approves, by names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WrittenApproval {
    /// Who may lift a deny.
    pub resolver: Option<String>,
    /// Who takes out what they must not see.
    pub redactor: Option<String>,
}

/// What the host does after its own deny.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Posture {
    tool_seam_host_error: AfterHostError,
}

/// What a host does after its own deny at a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AfterHostError {
    /// The model hears of it, as becket does it.
    #[default]
    Continue,
    Terminate,
}

/// How long answers may take, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Timeouts {
    /// Answers of interceptors.
    pub interceptor_ms: Option<u64>,
    /// Answers of who approves.
    pub approval_resolver_ms: Option<u64>,
}

/// becket gives each record to its audit log at once, so that it needs no buffer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Records {
    max_buffered: Option<u64>,
}

/// What the host can do, as a document states it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct WrittenSurface {
    #[serde(skip_serializing_if = "Option::is_none")]
    interception_points: Option<Vec<Point>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Vec<Capability>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profiles: Option<std::collections::BTreeMap<CompositionProfile, Knobs>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffered_output: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exposure_bound: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declaration_versions: Option<Vec<String>>,
}

/// The settings of a profile that a host can do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Knobs {
    #[serde(skip_serializing_if = "Option::is_none")]
    on_approval: Option<BTreeSet<OnApproval>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_disagreement: Option<BTreeSet<Synthesis>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_transform_conflict: Option<BTreeSet<Synthesis>>,
}

/// Something that not every host can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// The host asks models.
    ModelCalls,
    /// The host runs tools.
    ToolCalls,
    /// The host runs several tools at once.
    ParallelToolCalls,
    /// The host shows answers while they arrive.
    Streaming,
    /// The host takes several prompts in a session.
    MultiTurn,
    /// The host keeps integers of 64 bits.
    Int64Json,
    /// The host takes no integer, whatever its size, for another number.
    BigintJson,
    /// The host lets streamed text be judged piece by piece.
    IncrementalOutput,
    /// The host can be set up by a declaration.
    HostDeclaration,
}

/// What becket can do.
pub const CAPABILITIES: &[Capability] = &[
    Capability::ModelCalls,
    Capability::ToolCalls,
    Capability::ParallelToolCalls,
    Capability::Streaming,
    Capability::MultiTurn,
    Capability::Int64Json,
    Capability::BigintJson,
    Capability::IncrementalOutput,
    Capability::HostDeclaration,
];

/// How much of a streamed answer can be seen before the whole was judged.
pub const EXPOSURE_BOUND: &str =
    "each piece of streamed text is shown after a verdict that covers it, and no earlier";

/// An interceptor as a document writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrittenBinding {
    /// The name, which stands in records.
    pub id: String,
    /// The kind of interceptor.
    pub kind: String,
    /// What the kind needs to know.
    #[serde(default = "empty")]
    pub config: Value,
    /// The points at which it is asked; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<Point>>,
    /// How long an answer may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

fn empty() -> Value {
    json!({})
}

/// Makes an interceptor of a kind; the error says what is wrong with its settings.
pub type Kind<'a> = Box<dyn Fn(&Value) -> Result<Arc<dyn Interceptor>, String> + Send + Sync + 'a>;

/// Everything that a document can name.
#[derive(Default)]
pub struct Registry<'a> {
    /// Kinds of interceptors.
    pub kinds: Vec<(&'a str, Kind<'a>)>,
    /// Ways to identify contexts besides becket's.
    pub identities: Vec<(&'a str, Identity)>,
    /// Those who may approve.
    pub approvers: Vec<(&'a str, Arc<dyn Approver>)>,
    /// Those who take out what they must not see.
    pub redactors: Vec<(&'a str, Redactor)>,
}

impl Declaration {
    /// A document of this configuration.
    pub fn new(configuration: Configuration, bindings: Vec<WrittenBinding>) -> Self {
        Self {
            declaration: VERSION.into(),
            configuration,
            bindings,
            ..Self::default()
        }
    }

    /// The document with a statement that streamed text is judged piece by piece.
    pub fn incremental(mut self) -> Self {
        self.surface = Some(WrittenSurface {
            buffered_output: Some(false),
            exposure_bound: Some(EXPOSURE_BOUND.into()),
            ..WrittenSurface::default()
        });
        self
    }

    /// Reads a file.
    pub fn read_file(file: &Path) -> Result<Self, Refused> {
        let text = becket_system::files::read_regular(file, LARGEST_DOCUMENT);
        let text = text.map_err(|error| Class::Unreadable.at(&file.display().to_string(), error))?;
        Self::read_text(&text)
    }

    /// Reads the text of a document.
    pub fn read_text(text: &str) -> Result<Self, Refused> {
        let value = read_strictly(text).map_err(|error| Class::Malformed.at("", error))?;
        Self::read(value)
    }

    /// Reads a document, and checks everything that needs no knowledge of the host.
    pub fn read(value: Value) -> Result<Self, Refused> {
        let document = value
            .as_object()
            .ok_or_else(|| Class::Malformed.at("", "it is no JSON object"))?;
        check_versions(document)?;
        check_members(&value)?;
        check_integers(&value, "")?;
        let read: Self = serde_json::from_value(value).map_err(|error| Class::InvalidField.at("", error))?;
        read.check_fields()?;
        read.check_consistency()?;
        Ok(read)
    }

    /// The text that two equal documents have in common.
    pub fn canonical(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        canonical(&value).unwrap_or_default()
    }

    /// Values that their type alone does not limit.
    fn check_fields(&self) -> Result<(), Refused> {
        let starts_well = |id: &str| id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if self
            .id
            .as_ref()
            .is_some_and(|id| id.len() > 64 || !starts_well(id) || !is_of(id, "._-"))
        {
            return invalid("/id", "an id has up to 64 of a-z, 0-9, `.`, `_` and `-`");
        }
        let host = self.host.as_ref();
        if host.is_some_and(|host| host.name.is_empty() || host.name.len() > 64 || !is_of(&host.name, "_-")) {
            return invalid("/host/name", "a name has up to 64 of a-z, 0-9, `_` and `-`");
        }
        let version = host.and_then(|host| host.version.as_ref());
        if version.is_some_and(|version| version.is_empty() || version.len() > 64) {
            return invalid("/host/version", "a version has 1 to 64 characters");
        }
        self.configuration.check_fields()?;
        if self.bindings.len() > MOST_BINDINGS {
            return invalid("/bindings", "there are more than 256");
        }
        for (index, binding) in self.bindings.iter().enumerate() {
            binding.check_fields(&format!("/bindings/{index}"))?;
        }
        let surface = self.surface.as_ref();
        let points = surface.and_then(|surface| surface.interception_points.as_ref());
        let capabilities = surface.and_then(|surface| surface.capabilities.as_ref());
        match points.is_some_and(|points| points.len() < 4 || !is_set(points))
            || capabilities.is_some_and(|capabilities| !is_set(capabilities))
        {
            true => invalid(
                "/surface",
                "points and capabilities stand there once, and at least four points",
            ),
            false => Ok(()),
        }
    }

    /// Members that must fit together.
    fn check_consistency(&self) -> Result<(), Refused> {
        let wrong = |pointer: &str, words: String| Err(Class::Inconsistent.at(pointer, words));
        if let Err(knob) = self.configuration.composition.read() {
            let words = format!("the profile does not have `{knob}`");
            return wrong("/configuration/composition", words);
        }
        let ids: BTreeSet<&str> = self.bindings.iter().map(|binding| binding.id.as_str()).collect();
        if ids.len() < self.bindings.len() {
            return wrong("/bindings", "two have the same id".into());
        }
        let Some(surface) = &self.surface else {
            return Ok(());
        };
        if (surface.buffered_output == Some(false)) != surface.exposure_bound.is_some() {
            let words = "`exposure_bound` belongs to `buffered_output = false`";
            return wrong("/surface/exposure_bound", words.into());
        }
        if let Some(points) = &surface.interception_points {
            let has = |point: &Point| points.contains(point);
            let pairs = [
                (Point::PreModelCall, Point::PostModelCall, Capability::ModelCalls),
                (Point::PreToolCall, Point::PostToolCall, Capability::ToolCalls),
            ];
            let always = [
                Point::AgentStartup,
                Point::Input,
                Point::Output,
                Point::AgentShutdown,
            ];
            let calls = surface.capabilities.as_ref();
            let is_paired = |(one, other, call): &(Point, Point, Capability)| {
                has(one) == has(other) && calls.is_none_or(|calls| calls.contains(call) == has(one))
            };
            if !always.iter().all(has) || !pairs.iter().all(is_paired) {
                let words = "startup, input, output and shutdown belong to every host, the others are pairs";
                return wrong("/surface/interception_points", words.into());
            }
            let bound = self
                .bindings
                .iter()
                .flat_map(|binding| binding.at.iter().flatten());
            if let Some(point) = bound.into_iter().find(|point| !has(point)) {
                return wrong("/bindings", format!("`{}` is not of the surface", point.name()));
            }
        }
        let versions = surface.declaration_versions.as_ref();
        match versions.is_some_and(|versions| !versions.contains(&self.declaration)) {
            true => wrong(
                "/surface/declaration_versions",
                "the document's own is missing".into(),
            ),
            false => Ok(()),
        }
    }

    /// What the host cannot do.
    fn check_surface(&self) -> Result<(), Refused> {
        let wrong = |pointer: &str, words: &str| Err(Class::SurfaceUnsupported.at(pointer, words));
        if self.configuration.posture.tool_seam_host_error == AfterHostError::Terminate {
            let words = "becket tells the model of a denied call and goes on";
            return wrong("/configuration/posture/tool_seam_host_error", words);
        }
        let Some(surface) = &self.surface else {
            return Ok(());
        };
        let capabilities = surface.capabilities.iter().flatten();
        if capabilities
            .into_iter()
            .any(|capability| !CAPABILITIES.contains(capability))
        {
            return wrong("/surface/capabilities", "becket does not have all of them");
        }
        let versions = surface.declaration_versions.iter().flatten();
        if versions.into_iter().any(|version| version != VERSION) {
            return wrong("/surface/declaration_versions", "becket reads only version 1.0");
        }
        let points = surface.interception_points.as_ref();
        match points.is_some_and(|points| points.len() < Point::all().count()) {
            true => wrong("/surface/interception_points", "becket asks at all eight points"),
            false => Ok(()),
        }
    }

    /// The setup that the document describes, made of what the host knows.
    pub fn resolve(&self, registry: &Registry<'_>) -> Result<Setup, Refused> {
        self.check_surface()?;
        let configuration = &self.configuration;
        let unresolved = |pointer: &str, name: &str| {
            Class::ReferenceUnresolved.at(pointer, format!("becket does not know `{name}`"))
        };
        let identity = match configuration.identity_provider.0.as_deref() {
            None => Identity::None,
            Some(Identity::JCS_SHA256) => Identity::JcsSha256,
            Some(name) => named(&registry.identities, name)
                .cloned()
                .ok_or_else(|| unresolved("/configuration/identity_provider", name))?,
        };
        let WrittenApproval { resolver, redactor } = &configuration.approval;
        let approver = resolver.as_deref().map(|name| {
            let found = named(&registry.approvers, name).cloned();
            found.ok_or_else(|| unresolved("/configuration/approval/resolver", name))
        });
        let redactor = redactor.as_deref().map(|name| {
            let found = named(&registry.redactors, name).cloned();
            found.ok_or_else(|| unresolved("/configuration/approval/redactor", name))
        });
        let (approver, redactor) = (approver.transpose()?, redactor.transpose()?);
        let usual = configuration.timeouts.interceptor_ms.unwrap_or(USUAL_TIMEOUT_MS);
        let mut bindings = Vec::new();
        for (index, binding) in self.bindings.iter().enumerate() {
            let pointer = format!("/bindings/{index}");
            let kind = named(&registry.kinds, &binding.kind).ok_or_else(|| {
                let words = format!("becket does not know the kind `{}`", binding.kind);
                Class::KindUnknown.at(&pointer, words)
            })?;
            let interceptor =
                kind(&binding.config).map_err(|words| Class::BindingRejected.at(&pointer, words))?;
            bindings.push(Binding {
                name: binding.id.clone(),
                interceptor,
                at: binding.at.clone(),
                timeout: Duration::from_millis(binding.timeout_ms.unwrap_or(usual)),
            });
        }
        let composition = configuration.composition.read();
        let approval = configuration.timeouts.approval_resolver_ms.unwrap_or(usual);
        let is_buffered = self.surface.as_ref().and_then(|surface| surface.buffered_output);
        Ok(Setup {
            mode: configuration.mode,
            composition: composition.map_err(|knob| Class::Inconsistent.at("/configuration", knob))?,
            identity,
            bindings,
            approver,
            redactor,
            approval_timeout: Duration::from_millis(approval),
            declaration: Some(VERSION),
            incremental: is_buffered == Some(false),
        })
    }
}

fn named<'a, T>(list: &'a [(&str, T)], name: &str) -> Option<&'a T> {
    list.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, thing)| thing)
}

fn is_set<T: Ord>(list: &[T]) -> bool {
    list.iter().collect::<BTreeSet<_>>().len() == list.len()
}

/// The versions come first: nothing else in a document of another one can be judged.
fn check_versions(document: &Map<String, Value>) -> Result<(), Refused> {
    if document.get("declaration").and_then(Value::as_str) != Some(VERSION) {
        return Err(Class::VersionUnsupported.at("/declaration", format!("becket reads `{VERSION}`")));
    }
    match document.get("spec") {
        None => Ok(()),
        Some(spec) if spec == SPEC => Ok(()),
        Some(_) => Err(Class::SpecUnsupported.at("/spec", format!("becket speaks `{SPEC}`"))),
    }
}

/// Finds members that no document has. The members are those of the types that are read.
fn check_members(document: &Value) -> Result<(), Refused> {
    fn check<T: DeserializeOwned>(document: &Value, pointer: &str) -> Result<(), Refused> {
        let place = document.pointer(pointer).and_then(Value::as_object);
        let mut keys = place.into_iter().flat_map(Map::keys);
        match keys.find(|key| !keys_of::<T>().contains(&key.as_str())) {
            Some(key) => Err(Class::UnknownField.at(&format!("{pointer}/{key}"), "no document has it")),
            None => Ok(()),
        }
    }
    check::<Declaration>(document, "")?;
    check::<Named>(document, "/host")?;
    check::<Configuration>(document, "/configuration")?;
    check::<WrittenComposition>(document, "/configuration/composition")?;
    check::<WrittenApproval>(document, "/configuration/approval")?;
    check::<Posture>(document, "/configuration/posture")?;
    check::<Timeouts>(document, "/configuration/timeouts")?;
    check::<Records>(document, "/configuration/records")?;
    check::<WrittenSurface>(document, "/surface")?;
    let profiles = document.pointer("/surface/profiles").and_then(Value::as_object);
    for name in profiles.into_iter().flat_map(Map::keys) {
        check::<Knobs>(
            document,
            &format!("/surface/profiles/{}", name.replace('/', "~1")),
        )?;
    }
    let bindings = document.pointer("/bindings").and_then(Value::as_array);
    for index in 0..bindings.map_or(0, Vec::len) {
        check::<WrittenBinding>(document, &format!("/bindings/{index}"))?;
    }
    Ok(())
}

/// Every integer of a document must have a canonical form.
fn check_integers(value: &Value, pointer: &str) -> Result<(), Refused> {
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            let is_large = match (size, number.as_f64()) {
                (Some(size), _) => size > LARGEST_INTEGER,
                // An integer beyond 64 bits was read as a double.
                (None, double) => double.is_some_and(|double| double.abs() > LARGEST_INTEGER as f64),
            };
            match is_large {
                true => Err(Class::InvalidField.at(pointer, "an integer beyond 2^53-1")),
                false => Ok(()),
            }
        }
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| check_integers(item, &format!("{pointer}/{index}")))
        }
        Value::Object(map) => {
            let mut members = map.iter();
            members.try_for_each(|(key, member)| check_integers(member, &format!("{pointer}/{key}")))
        }
        _ => Ok(()),
    }
}
