//! Who is asked: interceptors, and those who approve what an interceptor has denied.

use std::sync::Arc;
use std::time::Duration;

use becket_events::Scope;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::point::Point;
use crate::verdict::InterceptorVerdict;

/// What an interceptor is shown, in the form of the standard.
pub type Context = Map<String, Value>;

/// Why somebody who was asked has not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// Something failed. The words stand in records, so they must not quote what the question was about.
    Failed(String),
    /// The time was over.
    TimedOut,
    /// Who was asked for an approval wants everything to stop.
    Cancelled,
}

/// Somebody who judges an action.
pub trait Interceptor: Send + Sync {
    /// Answers with a verdict as JSON, which becket checks.
    fn intercept<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Value, Unanswered>>;
}

/// A question to an interceptor.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// What the question is about.
    pub context: &'a Context,
    /// The session in which it is asked.
    pub scope: &'a Scope,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl<F> Interceptor for F
where
    F: Fn(&Context) -> InterceptorVerdict + Send + Sync,
{
    fn intercept<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Value, Unanswered>> {
        let verdict = serde_json::to_value(self(asked.context));
        let verdict = verdict.map_err(|error| Unanswered::Failed(error.to_string()));
        Box::pin(std::future::ready(verdict))
    }
}

/// An interceptor with its name and the points at which it is asked.
#[derive(Clone)]
pub struct Binding {
    /// The name, for records.
    pub name: String,
    /// Who is asked.
    pub interceptor: Arc<dyn Interceptor>,
    /// The points; `None` for all.
    pub at: Option<Vec<Point>>,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl Binding {
    /// Whether the interceptor is asked at the point.
    pub fn is_at(&self, point: Point) -> bool {
        self.at.as_ref().is_none_or(|points| points.contains(&point))
    }
}

/// A question to who approves.
#[derive(Debug, Serialize)]
pub struct ApprovalRequest<'a> {
    /// The identity of the context below, which the answer repeats.
    pub context_identity: Option<String>,
    /// Where the action was denied.
    pub interception_point: Point,
    /// The deny.
    pub verdict: &'a InterceptorVerdict,
    /// What the action is about, as far as it may be shown.
    pub context: &'a Context,
    /// The session in which it is asked.
    #[serde(skip)]
    pub scope: &'a Scope,
    /// How long an answer may take.
    #[serde(skip)]
    pub timeout: Duration,
}

/// What who approves can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalOutcome {
    /// The action may happen.
    Approve,
    /// The deny stands.
    Reject,
    /// Nobody has decided.
    Unresolved,
}

/// The answer of who approves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    /// What was decided.
    pub outcome: ApprovalOutcome,
    /// The identity of the context that it was decided about.
    pub context_identity: Option<String>,
    /// The verdict in place of the deny; checked like one of an interceptor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Value>,
}

impl Resolution {
    /// The answer to a request by a verdict; `None` if nobody decided.
    pub fn to(request: &ApprovalRequest<'_>, verdict: Option<InterceptorVerdict>) -> Self {
        Self {
            outcome: match &verdict {
                Some(verdict) if verdict.permits() => ApprovalOutcome::Approve,
                Some(_) => ApprovalOutcome::Reject,
                None => ApprovalOutcome::Unresolved,
            },
            context_identity: request.context_identity.clone(),
            verdict: verdict.and_then(|verdict| serde_json::to_value(verdict).ok()),
        }
    }
}

/// Somebody who may lift a deny.
pub trait Approver: Send + Sync {
    /// Decides about a request.
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<Resolution, Unanswered>>;
}

/// Takes what must not be shown out of a context before somebody is asked to approve.
pub type Redactor = Arc<dyn Fn(&Context) -> Context + Send + Sync>;

/// Identifies a context; `None` is a failure, and denies.
pub type Identifier = Arc<dyn Fn(&Context) -> Option<String> + Send + Sync>;

/// What identifies a context.
#[derive(Clone)]
pub enum Identity {
    /// A hash of its canonical form.
    JcsSha256,
    /// Nothing does: records and approvals are bound to no context.
    None,
    /// A function of the host, by its name.
    Custom(String, Identifier),
}

impl Identity {
    /// The name of the usual way.
    pub const JCS_SHA256: &'static str = "jcs-sha256";

    /// The name, as records have it.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::JcsSha256 => Some(Self::JCS_SHA256),
            Self::None => None,
            Self::Custom(name, _) => Some(name),
        }
    }
}
