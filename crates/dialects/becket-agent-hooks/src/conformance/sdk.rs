//! The runner of the standard's own SDK drives becket: a second opinion beside `expect.rs` and `canonical.rs`.
//!
//! It cannot run all vectors. Declarations must pass through the SDK's own reader, and its reader of vectors takes an
//! integer beyond 64 bits for a double.

use std::sync::Arc;

use agent_hooks::ctk::{
    Harness, IdentityPair, RunRecord, VectorResult, VectorSetup, async_trait, load_vectors, run_vector,
};
use agent_hooks::{ApprovalResolver, IdentityProvider, Verdict};
use proptest::prelude::*;
use serde::de::DeserializeOwned;

use super::scripts::redactor;
use super::*;
use crate::canonical::{LARGEST_INTEGER, identity};
use crate::composition::WrittenComposition;
use crate::emitter::Setup;
use crate::interceptor::{
    ApprovalRequest, Approver, Asked, Binding, Context, Identity, Interceptor, Resolution, Unanswered,
};
use crate::point::Point;
use crate::verdict::InterceptorVerdict;

/// The vectors that the runner can run with an answer that is judged piece by piece, and as a whole.
const RUN: [(bool, usize); 2] = [(true, 50), (false, 46)];

/// The same thing in the types of the other side.
fn translated<T: DeserializeOwned>(value: impl serde::Serialize) -> T {
    serde_json::from_value(json!(value)).unwrap()
}

struct TheirInterceptor(Box<dyn agent_hooks::Interceptor>);

impl Interceptor for TheirInterceptor {
    fn intercept<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<Value, Unanswered>> {
        Box::pin(async move { Ok(json!(self.0.intercept(asked.context).await)) })
    }
}

struct TheirResolver(Box<dyn ApprovalResolver>);

impl Approver for TheirResolver {
    fn resolve<'a>(
        &'a self,
        request: &'a ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Result<Resolution, Unanswered>> {
        Box::pin(async move {
            let verdict = Verdict {
                decision: agent_hooks::Decision::Deny,
                reason: request.verdict.reason.clone(),
                approval: request.verdict.approval.clone(),
                ..Verdict::allow()
            };
            let resolution = self.0.resolve(agent_hooks::ApprovalRequest {
                context_identity: request.context_identity.clone(),
                interception_point: translated(request.interception_point),
                verdict: &verdict,
                context: request.context,
            });
            let resolution = resolution.await;
            Ok(Resolution {
                outcome: translated(resolution.outcome),
                context_identity: resolution.context_identity,
                verdict: resolution.verdict.map(|verdict| json!(verdict)),
            })
        })
    }
}

/// What the host chooses in a vector.
fn setup_of(vector: VectorSetup, incremental: bool) -> Setup {
    let usual =
        crate::emitter::tests::setup(translated(vector.mode), |_: &Context| InterceptorVerdict::allow());
    let timeout = usual.approval_timeout;
    let bindings = vector.interceptors.into_iter().enumerate();
    let bindings = bindings.map(move |(index, interceptor)| Binding {
        name: format!("script-{index}"),
        interceptor: Arc::new(TheirInterceptor(interceptor)),
        at: None,
        timeout,
    });
    Setup {
        composition: translated::<WrittenComposition>(vector.composition)
            .read()
            .unwrap(),
        identity: match vector.identity_provider {
            IdentityProvider::JcsSha256 => Identity::JcsSha256,
            IdentityProvider::Null => Identity::None,
            IdentityProvider::Custom { name, f } => {
                Identity::Custom(name, Arc::new(move |context: &Context| Some(f(context))))
            }
        },
        bindings: bindings.collect(),
        approver: vector
            .resolver
            .map(|resolver| Arc::new(TheirResolver(resolver)) as Arc<dyn Approver>),
        redactor: Some(redactor(vector.redact_for_approval)),
        incremental,
        ..usual
    }
}

struct Becket {
    incremental: bool,
    ready: Option<(Value, Setup)>,
}

#[async_trait]
impl Harness for Becket {
    fn name(&self) -> &str {
        "becket"
    }

    fn capabilities(&self) -> Vec<String> {
        let all = CAPABILITIES.iter().filter(|capability| match capability {
            Capability::HostDeclaration | Capability::BigintJson => false,
            Capability::IncrementalOutput => self.incremental,
            _ => true,
        });
        all.map(translated).collect()
    }

    fn setup(&mut self, mut vector: VectorSetup) {
        let scenario = vector.scenario.take();
        self.ready = Some((scenario, setup_of(vector, self.incremental)));
    }

    async fn run(&mut self) -> RunRecord {
        let (scenario, setup) = self.ready.take().unwrap();
        let played = stage::play(&scenario, setup).await.unwrap();
        let text = |record: &Value, name: &str| record[name].as_str().map(ToOwned::to_owned);
        let identities = played.records.iter().map(|record| IdentityPair {
            input_identity: text(record, "input_identity"),
            enforced_identity: text(record, "enforced_identity"),
        });
        RunRecord {
            outcome: translated(played.outcome),
            final_output: played.final_output,
            tool_invocations: played.invocations,
            identities: identities.collect(),
            records: played.records,
            ..RunRecord::default()
        }
    }

    fn teardown(&mut self) {}
}

#[tokio::test]
async fn becket_passes_in_the_runner_of_the_standard() {
    let Some(package) = testkit::fetched_from_pypi("agent-hooks-sdk==0.1.0b3") else {
        return;
    };
    let vectors = load_vectors(package.path().join("agent_hooks/ctk/vectors")).unwrap();
    assert_eq!(vectors.len(), 75);
    for (incremental, count) in RUN {
        let mut becket = Becket {
            incremental,
            ready: None,
        };
        let mut results: Vec<VectorResult> = Vec::new();
        for vector in &vectors {
            results.push(run_vector(&mut becket, vector).await);
        }
        results.retain(|result| result.status != "skip");
        assert_eq!(results.len(), count);
        for result in results {
            assert_eq!(result.status, "pass", "{}: {:?}", result.id, result.failures);
        }
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        8 => any::<i64>().prop_map(|integer| Value::from(integer >> 10)),
        8 => any::<f64>().prop_map(Value::from),
        8 => any::<String>().prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::from(LARGEST_INTEGER)),
        1 => Just(Value::from(LARGEST_INTEGER + 1)),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    /// Both say the same about any context: the same identity, or none.
    #[test]
    fn identities_are_those_of_the_sdk(value in any_value(), text in any::<String>()) {
        let context = json!({
            "spec": crate::emitter::SPEC, "interception_point": "post_tool_call", "sequence": 1,
            "timestamp": "2027-03-01T08:00:00.000Z", "agent": {"id": text, "framework": "becket", "version": "1"},
            "session": {"id": "s", "turn": 3}, "target": value,
            "tool_call": {"id": "c", "name": "t", "args": {"value": value}},
            "tool_result": {"value": value, "is_error": false, "duration_ms": 1.5},
        });
        let context: Context = translated(context);
        let theirs = agent_hooks::context_identity(&context).ok();
        // The SDK checks what a host has written, which becket makes itself.
        prop_assume!(!text.is_empty());
        prop_assert_eq!(identity(Point::PostToolCall, &context).ok(), theirs);
    }
}
