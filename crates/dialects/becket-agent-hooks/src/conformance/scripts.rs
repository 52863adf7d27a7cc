//! The scripts of a vector: interceptors, and who approves.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::expect::lookup;
use crate::canonical::identity;
use crate::declaration::Registry;
use crate::emitter::changed;
use crate::interceptor::{
    ApprovalOutcome, ApprovalRequest, Approver, Asked, Context, Identity, Interceptor, Redactor, Resolution,
    Unanswered,
};
use crate::point::Point;
use crate::verdict::Transform;

/// The kind of scripted interceptors, as vectors name it.
pub const KIND: &str = "ctk.scripted";

/// Who approves in a vector.
pub const APPROVER: &str = "ctk-scripted";

/// Who takes out what must not be shown in a vector.
pub const REDACTOR: &str = "ctk-redact";

/// An identity provider that fails.
const FAULT: &str = "ctk-fault";

/// The scripts of a vector.
pub struct Scripts {
    interceptors: Vec<Vec<Value>>,
    approval: Vec<Value>,
    redacted: Vec<String>,
    /// The contexts that the first interceptor has seen.
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Scripts {
    /// The scripts of a vector.
    pub fn of(vector: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let interceptors = match vector.get("interceptor_scripts") {
            Some(scripts) => list(scripts).iter().map(list).collect(),
            None => vec![list(&vector["interceptor_script"])],
        };
        let redacted = list(&vector["redact_for_approval"]);
        Self {
            interceptors,
            approval: list(&vector["approval_script"]),
            redacted: redacted
                .iter()
                .filter_map(Value::as_str)
                .map(ToOwned::to_owned)
                .collect(),
            seen: Arc::default(),
        }
    }

    /// How many interceptors there are.
    pub fn count(&self) -> usize {
        self.interceptors.len()
    }

    /// Whether somebody approves.
    pub fn approves(&self) -> bool {
        !self.approval.is_empty()
    }

    /// Whether something is not shown to who approves.
    pub fn redacts(&self) -> bool {
        !self.redacted.is_empty()
    }

    /// The contexts that the first interceptor has seen.
    pub fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything that the declaration of a vector can name.
    pub fn registry(&self) -> Registry<'_> {
        let fault = Identity::Custom(FAULT.into(), Arc::new(|_| None));
        let approver = Arc::new(ScriptedApprover(self.approval.clone()));
        Registry {
            kinds: vec![(KIND, Box::new(|config| self.interceptor(config)))],
            identities: vec![(FAULT, fault)],
            approvers: vec![(APPROVER, approver)],
            redactors: vec![(REDACTOR, redactor(self.redacted.clone()))],
        }
    }

    fn interceptor(&self, config: &Value) -> Result<Arc<dyn Interceptor>, String> {
        let index = config["script"].as_u64().ok_or("`script` is no number")? as usize;
        let rules = self.interceptors.get(index).ok_or("there is no such script")?;
        Ok(Arc::new(ScriptedInterceptor {
            rules: rules.clone(),
            seen: (index == 0).then(|| Arc::clone(&self.seen)),
        }))
    }
}

/// Whether a rule is about a context.
fn fits(rule: &Value, context: &Value) -> bool {
    let wanted = rule["match"].as_object();
    let mut wanted = wanted.into_iter().flatten();
    wanted.all(|(path, value)| lookup(context, path) == Some(value))
}

struct ScriptedInterceptor {
    rules: Vec<Value>,
    seen: Option<Arc<Mutex<Vec<Value>>>>,
}

impl ScriptedInterceptor {
    fn answer(&self, context: Value) -> Result<Value, Unanswered> {
        let allow = json!({"decision": "allow"});
        let is_about = |rule: &&Value| rule["at"] == context["interception_point"] && fits(rule, &context);
        let Some(rule) = self.rules.iter().find(is_about) else {
            return Ok(allow);
        };
        match rule["fault"].as_str() {
            Some("raise") => Err(Unanswered::Failed("the script says so".into())),
            Some("malformed_verdict") => Ok(json!({"decision": "transform"})),
            // It owns what it was given, so a change of that reaches nobody.
            Some("mutate") => Ok(json!({"decision": "allow", "reason": "ctk:mutated"})),
            _ => Ok(rule.get("return").cloned().unwrap_or(allow)),
        }
    }
}

impl Interceptor for ScriptedInterceptor {
    fn intercept<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Value, Unanswered>> {
        let context = Value::Object(asked.context.clone());
        if let Some(seen) = &self.seen {
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(context.clone());
        }
        Box::pin(std::future::ready(self.answer(context)))
    }
}

struct ScriptedApprover(Vec<Value>);

impl Approver for ScriptedApprover {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<Resolution, Unanswered>> {
        Box::pin(std::future::ready(self.answer(request)))
    }
}

impl ScriptedApprover {
    fn answer(&self, request: &ApprovalRequest<'_>) -> Result<Resolution, Unanswered> {
        let context = Value::Object(request.context.clone());
        let Some(rule) = self.0.iter().find(|rule| fits(rule, &context)) else {
            return Ok(Resolution::to(request, None));
        };
        let answer = &rule["resolve"];
        if answer["fault"] == "raise" {
            return Err(Unanswered::Failed("the script says so".into()));
        }
        let overridden = answer["identity_override"].as_str().map(ToOwned::to_owned);
        let context_identity = match answer["echo_recomputed"].as_bool() {
            Some(true) => identity(request.interception_point, request.context).ok(),
            _ => overridden.or_else(|| request.context_identity.clone()),
        };
        let outcome = match answer["outcome"].as_str() {
            Some("approve") => ApprovalOutcome::Approve,
            Some("reject") => ApprovalOutcome::Reject,
            _ => ApprovalOutcome::Unresolved,
        };
        Ok(Resolution {
            outcome,
            context_identity,
            verdict: answer.get("verdict").cloned(),
        })
    }
}

/// Replaces what stands at the paths, where there is something.
pub fn redactor(paths: Vec<String>) -> Redactor {
    Arc::new(move |context: &Context| {
        let name = context.get("interception_point").and_then(Value::as_str);
        let Some(point) = Point::all().find(|point| Some(point.name()) == name) else {
            return context.clone();
        };
        paths.iter().fold(context.clone(), |context, path| {
            let transform = Transform {
                path: path.clone(),
                value: "[redacted]".into(),
            };
            changed(point, &context, &transform).unwrap_or(context)
        })
    })
}
