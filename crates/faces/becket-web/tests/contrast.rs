//! The colours of the page, computed from its own style sheet: text must be as clear as WCAG 2 wants it at level AA.

use std::collections::HashMap;

const PAGE: &str = include_str!("../src/page.html");

/// The least contrast of text, and of signs and bars.
const TEXT: f64 = 4.5;
const GRAPHIC: f64 = 3.0;

/// What text lies on.
const GROUNDS: [&str; 4] = ["ground", "panel", "raised", "chosen"];

type Rules = Vec<(String, HashMap<String, String>)>;
type Colours = HashMap<String, String>;

/// The innermost rules of the style sheet.
fn rules() -> Rules {
    let (_, style) = PAGE.split_once("<style").expect("there is a style sheet");
    let (style, _) = style.split_once("</style>").expect("it ends");
    let mut plain = String::new();
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = after.split_once("*/").expect("a comment ends").1;
    }
    plain.push_str(rest);
    let rule = |block: &str| {
        let (before, declarations) = block.rsplit_once('{')?;
        let selector = before
            .rsplit(['{', '}'])
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        let declarations = declarations
            .split(';')
            .filter_map(|declaration| declaration.split_once(':'))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect();
        Some((selector, declarations))
    };
    plain.split('}').filter_map(rule).collect()
}

/// The colours in light and in dark.
fn themes(rules: &Rules) -> [(&'static str, Colours); 2] {
    let named = |wanted: &str| -> Colours {
        let (_, found) = rules
            .iter()
            .find(|(selector, _)| selector.ends_with(wanted))
            .unwrap_or_else(|| panic!("there is no rule {wanted}"));
        let colours = found.iter().filter(|(_, value)| value.starts_with('#'));
        colours
            .map(|(name, value)| (name.trim_start_matches("--").to_owned(), value.clone()))
            .collect()
    };
    [
        ("light", named(":root")),
        ("dark", named(":root[data-theme=\"dark\"]")),
    ]
}

fn named<'a>(colours: &'a Colours, name: &str) -> &'a str {
    let found = colours.get(name);
    found.unwrap_or_else(|| panic!("there is no colour {name}"))
}

/// The name in `var(--name)`.
fn variable(value: &str) -> Option<&str> {
    value
        .strip_prefix("var(--")?
        .split_once(')')
        .map(|(name, _)| name)
}

fn luminance(colour: &str) -> f64 {
    let part = |place: usize| {
        let value = u8::from_str_radix(&colour[place..place + 2], 16).expect("a colour of six digits");
        let value = f64::from(value) / 255.0;
        match value <= 0.040_45 {
            true => value / 12.92,
            false => ((value + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn contrast_is_computed_as_the_standard_says() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
    assert!((contrast("#767676", "#ffffff") - 4.54).abs() < 0.01);
}

#[test]
fn every_text_can_be_read_on_every_ground_in_light_and_dark() {
    let rules = rules();
    for (theme, colours) in themes(&rules) {
        let mut checked = 0;
        let mut check = |selector: &str, (text, ground): (&str, &str), least: f64| {
            let found = contrast(named(&colours, text), named(&colours, ground));
            assert!(
                found >= least,
                "{theme}: {selector} shows {text} on {ground} at {found:.2}, not {least}"
            );
            checked += 1;
        };
        for (selector, declarations) in &rules {
            let of = |property: &str| declarations.get(property).and_then(|value| variable(value));
            match (of("color"), of("background")) {
                (Some(text), Some(ground)) => check(selector, (text, ground), TEXT),
                (Some(text), None) => {
                    for ground in GROUNDS {
                        check(selector, (text, ground), TEXT);
                    }
                }
                (None, Some(bar)) if selector.contains(".b-") => {
                    for ground in GROUNDS {
                        check(selector, (bar, ground), GRAPHIC);
                    }
                }
                _ => {}
            }
        }
        // A reason stands on the wash of its decision, and so does a badge in the decision's own colour.
        for decision in ["allowed", "rewritten", "denied", "failed"] {
            let wash = format!("{decision}-wash");
            check("a reason", ("ink", &wash), TEXT);
            check("a badge", (decision, &wash), TEXT);
        }
        for graphic in ["request", "tool", "message", "turn", "focus"] {
            check("the axis", (graphic, "panel"), GRAPHIC);
        }
        assert!(checked > 100, "{theme}: only {checked} pairs were found");
    }
}

#[test]
fn light_and_dark_have_the_same_colours() {
    let rules = rules();
    let [(_, light), (_, dark)] = themes(&rules);
    let names = |colours: &Colours| {
        let mut names: Vec<String> = colours.keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(names(&light), names(&dark));
}
