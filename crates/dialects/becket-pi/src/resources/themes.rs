//! Themes: a colour for each element that is drawn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::colours::Colour;
use crate::host_call::SourceInfo;

/// A theme with all colours resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    /// The theme's name.
    pub name: String,
    /// The theme's file; becket's own themes have none.
    pub file: Option<PathBuf>,
    /// The colour of each element, by pi's names.
    pub colours: BTreeMap<String, Colour>,
    /// The theme's source; becket's own themes have none.
    pub source: Option<SourceInfo>,
}

/// A theme as its file writes it.
#[derive(Debug, Deserialize)]
struct Written {
    name: String,
    #[serde(default)]
    vars: BTreeMap<String, Value>,
    colors: BTreeMap<String, Value>,
}

/// The built-in themes.
pub(super) fn own_themes() -> &'static [Theme] {
    static OWN: LazyLock<Vec<Theme>> = LazyLock::new(|| {
        let texts = [include_str!("dark.json"), include_str!("light.json")];
        let read = |text: &str| Theme::of(text).expect("a test has read becket's own themes");
        texts.into_iter().map(read).collect()
    });
    &OWN
}

impl Theme {
    /// Reads a file; the error says what is wrong with it.
    pub(super) fn read(file: &Path, source: SourceInfo) -> Result<Self, String> {
        let failed = |error: String| format!("the theme {}: {error}", file.display());
        let text = becket_fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let theme = Self::of(text.strip_prefix('\u{feff}').unwrap_or(&text)).map_err(failed)?;
        Ok(Self {
            file: Some(file.to_owned()),
            source: Some(source),
            ..theme
        })
    }

    /// The theme as extensions see it.
    pub fn shown(&self) -> ShownTheme<'_> {
        ShownTheme {
            name: &self.name,
            path: self.file.as_deref(),
            colors: Some(&self.colours),
        }
    }

    /// The theme as extensions see it in a list.
    pub fn shown_without_colours(&self) -> ShownTheme<'_> {
        ShownTheme {
            colors: None,
            ..self.shown()
        }
    }

    pub(super) fn of(text: &str) -> Result<Self, String> {
        let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if written.name.trim().is_empty() || written.name.contains('/') {
            return Err(format!("{:?} cannot be the name of a theme", written.name));
        }
        let missing: Vec<&str> = needed()
            .filter(|name| !written.colors.contains_key(*name))
            .collect();
        if !missing.is_empty() {
            return Err(format!("it has no colour for {}", missing.join(", ")));
        }
        let mut colours = BTreeMap::new();
        for (name, value) in &written.colors {
            let colour =
                resolved(value, &written.vars).map_err(|error| format!("the colour {name}: {error}"))?;
            colours.insert(name.clone(), colour);
        }
        for (name, like) in LIKE_OTHERS {
            if let (false, Some(colour)) = (colours.contains_key(*name), colours.get(*like).copied()) {
                colours.insert((*name).to_owned(), colour);
            }
        }
        Ok(Self {
            name: written.name,
            file: None,
            colours,
            source: None,
        })
    }
}

/// A theme as extensions see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownTheme<'a> {
    /// The theme's name.
    pub name: &'a str,
    /// The theme's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<&'a Path>,
    /// The theme's colours: `#rrggbb`, the number of one of 256, or an empty text for the terminal's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colors: Option<&'a BTreeMap<String, Colour>>,
}

/// A colour, or that of the variable that it names, through any number of variables.
fn resolved(value: &Value, vars: &BTreeMap<String, Value>) -> Result<Colour, String> {
    let mut value = value;
    let mut names: Vec<&str> = Vec::new();
    loop {
        if let Some(colour) = Colour::read(value)? {
            return Ok(colour);
        }
        let name = value.as_str().unwrap_or_default();
        if names.contains(&name) {
            return Err(format!("the variable {name:?} leads back to itself"));
        }
        names.push(name);
        value = vars
            .get(name)
            .ok_or_else(|| format!("{name:?} is neither a colour nor a variable of this theme"))?;
    }
}

fn needed() -> impl Iterator<Item = &'static str> {
    NEEDED.split_whitespace()
}

/// Colours that may be left out, each with the colour that is used instead.
const LIKE_OTHERS: &[(&str, &str)] = &[
    ("scrollbarTrack", "muted"),
    ("scrollbarThumb", "text"),
    ("searchMatchBg", "selectedBg"),
    ("searchMatchText", "text"),
    ("thinkingMax", "thinkingXhigh"),
];

/// The colours that every theme must have.
const NEEDED: &str = "accent border borderAccent borderMuted success error warning muted dim text thinkingText
    selectedBg userMessageBg userMessageText customMessageBg customMessageText customMessageLabel toolPendingBg
    toolSuccessBg toolErrorBg toolTitle toolOutput
    mdHeading mdLink mdLinkUrl mdCode mdCodeBlock mdCodeBlockBorder mdQuote mdQuoteBorder mdHr mdListBullet
    toolDiffAdded toolDiffRemoved toolDiffContext
    syntaxComment syntaxKeyword syntaxFunction syntaxVariable syntaxString syntaxNumber syntaxType syntaxOperator
    syntaxPunctuation
    thinkingOff thinkingMinimal thinkingLow thinkingMedium thinkingHigh thinkingXhigh bashMode";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn theme(vars: Value, change: &[(&str, Value)]) -> Result<Theme, String> {
        let mut colors: serde_json::Map<String, Value> =
            needed().map(|name| (name.to_owned(), json!(""))).collect();
        for (name, value) in change {
            match value {
                Value::Null => drop(colors.remove(*name)),
                value => drop(colors.insert((*name).into(), value.clone())),
            }
        }
        Theme::of(&json!({"name": "mine", "vars": vars, "colors": colors}).to_string())
    }

    #[test]
    fn beckets_own_themes_are_whole() {
        let names: Vec<String> = own_themes().iter().map(|theme| theme.name.clone()).collect();
        assert_eq!(names, ["dark", "light"]);
        assert_eq!(needed().count(), 51);
    }

    #[test]
    fn colours_are_found_by_way_of_variables() {
        let vars = json!({"a": "b", "b": "#0af", "deep": 39});
        let mine = theme(
            vars,
            &[
                ("accent", json!("a")),
                ("border", json!("deep")),
                ("text", json!("#010203")),
            ],
        );
        let colours = mine.unwrap().colours;
        assert_eq!(colours["accent"], Colour::Rgb(0, 0xaa, 0xff));
        assert_eq!(colours["border"], Colour::Index(39));
        assert_eq!(colours["dim"], Colour::Terminal);
        // A colour that was left out is the same as another one.
        assert_eq!(colours["scrollbarThumb"], Colour::Rgb(1, 2, 3));
    }

    #[test]
    fn what_is_wrong_with_a_theme_is_said() {
        let cases = [
            (json!({}), ("accent", Value::Null), "no colour for accent"),
            (
                json!({}),
                ("accent", json!("nowhere")),
                "neither a colour nor a variable",
            ),
            (
                json!({"a": "b", "b": "a"}),
                ("accent", json!("a")),
                "leads back to itself",
            ),
            (json!({}), ("accent", json!(256)), "256"),
            (json!({}), ("accent", json!("#12")), "#12"),
            (json!({}), ("accent", json!("#12345g")), "#12345g"),
            (json!({}), ("accent", json!("okhsl(nothing)")), "okhsl(nothing)"),
            (json!({}), ("accent", json!(true)), "true"),
        ];
        for (vars, (name, value), words) in cases {
            let error = theme(vars, &[(name, value.clone())]).unwrap_err();
            assert!(error.contains(words), "{value}: {error}");
        }
        let slashed = json!({"name": "a/b", "colors": {}}).to_string();
        assert!(Theme::of(&slashed).unwrap_err().contains("a/b"));
        assert!(Theme::of("[").is_err());
    }
}
