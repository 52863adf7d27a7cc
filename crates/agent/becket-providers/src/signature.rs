//! Signatures of thoughts, marked with who can read them.
//!
//! A provider signs or encrypts what a model thought, and wants it back where it was. No other provider can read it,
//! and most refuse it. So the text that a message keeps (`Part::Thinking`) names the interface and the provider that it
//! is from. A text without such a mark is older than the marks, when only Anthropic's interface had signatures.

use serde::{Deserialize, Serialize};

use crate::api::Api;

/// What signs and reads the thoughts of one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seal {
    api: Api,
    provider: String,
}

/// A signature as its provider knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// How many calls of the answer came before the thought. A message keeps its calls apart from its parts.
    pub after_calls: usize,
    /// The provider's own text.
    pub data: String,
}

/// A signature as a message keeps it.
#[derive(Serialize, Deserialize)]
struct Marked {
    interface: Api,
    provider: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    after_calls: usize,
    data: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Seal {
    /// The seal of a provider that speaks an interface.
    pub fn new(api: Api, provider: &str) -> Self {
        Self {
            api,
            provider: provider.to_owned(),
        }
    }

    /// Marks what the provider has written about a thought that came after that many calls.
    pub fn mark(&self, after_calls: usize, data: impl Into<String>) -> String {
        let marked = Marked {
            interface: self.api,
            provider: self.provider.clone(),
            after_calls,
            data: data.into(),
        };
        serde_json::to_string(&marked).expect("text and numbers can be written as JSON")
    }

    /// What the provider has written; `None` if it is another one's.
    pub fn read(&self, text: &str) -> Option<Signature> {
        let Ok(marked) = serde_json::from_str::<Marked>(text) else {
            // An unmarked signature of Anthropic is in base64, which is no JSON object.
            let is_old = self.api == Api::Anthropic && !text.starts_with('{');
            return is_old.then(|| Signature {
                after_calls: 0,
                data: text.to_owned(),
            });
        };
        let is_own = marked.interface == self.api && marked.provider == self.provider;
        is_own.then_some(Signature {
            after_calls: marked.after_calls,
            data: marked.data,
        })
    }

    /// The name under which messages keep their text for this provider. `variant` tells forms of one interface apart.
    pub fn format(&self, variant: &str) -> String {
        format!("{:?}{variant}/{}", self.api, self.provider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_the_signature_of_another() {
        let seals = [
            Seal::new(Api::Anthropic, "anthropic"),
            Seal::new(Api::Anthropic, "gateway"),
            Seal::new(Api::Responses, "openai"),
            Seal::new(Api::Responses, "azure"),
            Seal::new(Api::Gemini, "gemini"),
        ];
        for writer in &seals {
            let text = writer.mark(2, "c2VhbA==");
            for reader in &seals {
                let read = reader.read(&text);
                let expected = (reader == writer).then(|| Signature {
                    after_calls: 2,
                    data: "c2VhbA==".into(),
                });
                assert_eq!(read, expected, "{text} {reader:?}");
            }
        }
    }

    #[test]
    fn a_signature_without_a_mark_is_anthropics() {
        let old = Signature {
            after_calls: 0,
            data: "EqoBCkgIARABGAIiQL==".into(),
        };
        let read = |api, text| Seal::new(api, "x").read(text);
        assert_eq!(read(Api::Anthropic, &old.data), Some(old.clone()));
        assert_eq!(read(Api::Responses, &old.data), None);
        assert_eq!(read(Api::Gemini, &old.data), None);
        // As some extensions keep what the Responses interface has written.
        assert_eq!(read(Api::Anthropic, r#"{"id":"rs_1","type":"reasoning"}"#), None);
    }
}
