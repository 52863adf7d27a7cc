//! Hides secrets in texts: tokens and keys that can be known by their shape, and passwords in addresses.
//!
//! A rule needs a shape that nothing else has: hiding a harmless word is a mistake that no model can see.
//!
//! Guessing by entropy would hide hashes and identifiers, which models need.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// The text in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// The shapes. If there is a group `secret`, only that is hidden; otherwise the whole match.
// tidy: a table
const RULES: &[&str] = &[
    // Blocks of private keys, also one whose end is missing.
    concat!(
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)",
        r"(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)"
    ),
    // Amazon: the name of a key, and the key where it is named.
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    r#"(?i)\baws_?(?:secret_?access_?key|session_?token)["']?\s*[:=]\s*["']?(?<secret>[A-Za-z0-9/+=]{40,})"#,
    // Google.
    r"\bAIza[A-Za-z0-9_-]{35}",
    r"\bGOCSPX-[A-Za-z0-9_-]{28}",
    r"\bya29\.[A-Za-z0-9_-]{20,}",
    // Azure.
    r"(?i)\b(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z0-9+/]{40,}={0,2})",
    // DigitalOcean, Docker, HashiCorp, Cloudflare.
    r"\bdo[opr]_v1_[a-f0-9]{64}\b",
    r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    r"\bhv[sb]\.[A-Za-z0-9_-]{24,}",
    // GitHub, GitLab, Atlassian.
    r"\bgh[pousr]_[A-Za-z0-9]{36,}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{22,}\b",
    r"\bgl(?:pat|ptt|dt|rt|cbt|oas|ft|agent|imt|soat|ffct)-[A-Za-z0-9_.-]{20,}",
    r"\bATATT3[A-Za-z0-9_=-]{40,}",
    // Slack, Discord, Telegram.
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    r"\bxapp-[0-9]-[A-Za-z0-9-]{20,}",
    r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?<secret>[A-Za-z0-9/]{20,})",
    r"https://discord(?:app)?\.com/api/webhooks/[0-9]+/(?<secret>[A-Za-z0-9_-]{40,})",
    r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b",
    // Models: OpenAI, Anthropic, Hugging Face, Groq, xAI, Replicate, Perplexity.
    r"\bsk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20,}",
    r"\bsk-[A-Za-z0-9]{32,}\b",
    r"\bhf_[A-Za-z0-9]{30,}\b",
    r"\bgsk_[A-Za-z0-9]{40,}\b",
    r"\bxai-[A-Za-z0-9]{40,}\b",
    r"\br8_[A-Za-z0-9]{37}\b",
    r"\bpplx-[A-Za-z0-9]{40,}\b",
    // Payments and mail: Stripe, Square, SendGrid, Mailgun, Twilio.
    r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}\b",
    r"\bwhsec_[A-Za-z0-9+/=]{24,}",
    r"\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\bkey-[a-f0-9]{32}\b",
    r"\bSK[a-f0-9]{32}\b",
    // Packages: npm, PyPI, RubyGems, crates.io.
    r"\bnpm_[A-Za-z0-9]{36}\b",
    r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
    r"\brubygems_[a-f0-9]{48}\b",
    r"\bcio[A-Za-z0-9]{32}\b",
    // Shopify, Linear, Notion, Sentry, age.
    r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",
    r"\blin_api_[A-Za-z0-9]{32,}\b",
    r"\bntn_[A-Za-z0-9]{40,}\b",
    r"\bsntr[yu]s_[A-Za-z0-9+/=_-]{40,}",
    r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b",
    // A JSON web token: three parts, of which the first is a JSON object.
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    // The password in an address, such as that of a database.
    r#"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@"'<>]*:(?<secret>[^\s@/"'<>]{1,512})@"#,
    // Headers.
    r#"(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+(?<secret>[A-Za-z0-9._~+/=-]{8,})"#,
    r#"(?i)\bx-api-key["']?\s*[:=]\s*["']?(?<secret>[A-Za-z0-9._~+/=-]{16,})"#,
];

static COMPILED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compile = |rule: &&str| Regex::new(rule).expect("a test compiles every rule");
    RULES.iter().map(compile).collect()
});

/// How often a text is searched: a secret right beside another one may only match after that one is hidden.
const ROUNDS: usize = 8;

/// The text with its secrets hidden; `None` if it has none.
pub fn redact(text: &str) -> Option<String> {
    let mut clean = redact_once(text)?;
    for _ in 1..ROUNDS {
        match redact_once(&clean) {
            Some(cleaner) => clean = cleaner,
            None => break,
        }
    }
    Some(clean)
}

fn redact_once(text: &str) -> Option<String> {
    let mut current: Option<String> = None;
    for rule in COMPILED.iter() {
        let before = current.as_deref().unwrap_or(text);
        if rule.is_match(before) {
            let after = rule.replace_all(before, hidden).into_owned();
            if after != before {
                current = Some(after);
            }
        }
    }
    current
}

/// Hides secrets in all texts of a value, however deep; names of fields stay. Says whether there were any.
pub fn redact_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match redact(text) {
            Some(clean) => {
                *text = clean;
                true
            }
            None => false,
        },
        // Not `any`, which would stop at the first.
        Value::Array(items) => items.iter_mut().fold(false, |any, item| redact_value(item) | any),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |any, item| redact_value(item) | any),
        _ => false,
    }
}

/// The replacement for a match.
fn hidden(found: &Captures<'_>) -> String {
    let whole = &found[0];
    let Some(secret) = found.name("secret") else {
        return REDACTED.to_owned();
    };
    let start = found.get(0).map_or(0, |whole| whole.start());
    let (from, to) = (secret.start() - start, secret.end() - start);
    format!("{}{REDACTED}{}", &whole[..from], &whole[to..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// The secrets are put together here, so that no scanner takes this file for a leak.
    fn secrets() -> Vec<String> {
        let letters = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4kL6nP8rS1tU3wX5zA7cE9fG1";
        let hex = "0123456789abcdef".repeat(4);
        let upper = "ABCDEFGHJKLMNPQRSTUVWXYZ234567".repeat(2);
        vec![
            format!("AK{}{}", "IA", &upper[..16]),
            format!("gh{}_{}", "p", &letters[..36]),
            format!("github_{}_{}", "pat", &letters[..40]),
            format!("gl{}-{}", "pat", &letters[..20]),
            format!("xo{}-123456789012-{}", "xb", &letters[..24]),
            format!("sk-{}-api03-{}", "ant", &letters[..40]),
            format!("sk-{}-{}", "proj", &letters[..40]),
            format!("sk-{}", &letters[..48]),
            format!("AI{}{}", "za", &letters[..35]),
            format!("hf_{}", &letters[..34]),
            format!("sk_{}_{}", "live", &letters[..24]),
            format!("npm_{}", &letters[..36]),
            format!("dop_v1_{hex}"),
            format!("eyJ{}.eyJ{}.{}", &letters[..20], &letters[..30], &letters[..43]),
            format!(
                "-----BEGIN RSA PRIVATE {}-----\n{letters}\n-----END RSA PRIVATE {}-----",
                "KEY", "KEY"
            ),
        ]
    }

    #[test]
    fn every_rule_compiles_and_every_shape_is_hidden() {
        assert_eq!(COMPILED.len(), RULES.len());
        for secret in secrets() {
            for (before, after) in [("", ""), ("key=\"", "\" # x"), ("an ", "\nmore")] {
                let text = format!("{before}{secret}{after}");
                let expected = format!("{before}{REDACTED}{after}");
                assert_eq!(redact(&text), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn around_a_secret_everything_stays() {
        let table = [
            (
                "postgres://ann:s3cret@db.example/x",
                "postgres://ann:[REDACTED]@db.example/x",
            ),
            ("redis://:s3cret@h:6379", "redis://:[REDACTED]@h:6379"),
            (
                "Authorization: Bearer abcdefgh1234",
                "Authorization: Bearer [REDACTED]",
            ),
            (
                "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYab",
                "AWS_SECRET_ACCESS_KEY=[REDACTED]",
            ),
            (
                "DefaultEndpointsProtocol=https;AccountKey=abcdefghijklmnopqrstuvwxyz0123456789abcdABCD==;x",
                "DefaultEndpointsProtocol=https;AccountKey=[REDACTED];x",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(redact(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn innocent_texts_stay() {
        let innocent = [
            "",
            "git log --oneline -n 10",
            "commit 0123456789abcdef0123456789abcdef01234567",
            "https://example.com:8080/a@b?c=d:e@f",
            "see http://example.com/x and write to ann@example.com",
            "sk-learn, gh_pages, npm_config_registry, hf_hub, key-value, xoxo",
            "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
            "AKIA is a prefix; eyJ too",
            "authorization: none",
            "[REDACTED]",
        ];
        for text in innocent {
            assert_eq!(redact(text), None, "{text}");
        }
    }

    #[test]
    fn nested_values_are_cleaned_and_others_untouched() {
        let secret = &secrets()[1];
        let mut value = json!({"a": [1, {"b": format!("x {secret}")}, secret], "n": null, secret: true});
        assert!(redact_value(&mut value));
        assert_eq!(value["a"], json!([1, {"b": "x [REDACTED]"}, "[REDACTED]"]));
        assert_eq!(value[secret], json!(true), "a name of a field");
        let before = json!({"a": [1, 2.5, "text", {"b": false}]});
        let mut value = before.clone();
        assert!(!redact_value(&mut value));
        assert_eq!(value, before);
    }

    proptest! {
        #[test]
        fn any_text_is_cleaned_once_and_for_all(
            text in any::<String>(),
            which in 0usize..15,
            glue in "[ \n\"'=:@/-]{0,3}",
        ) {
            let mixed = format!("{text}{glue}{}{glue}{text}", secrets()[which]);
            if let Some(clean) = redact(&mixed) {
                prop_assert_eq!(redact(&clean), None);
            }
        }

        #[test]
        fn words_without_secrets_stay(words in proptest::collection::vec("[a-z]{1,12}", 0..40)) {
            prop_assert_eq!(redact(&words.join(" ")), None);
        }
    }
}
