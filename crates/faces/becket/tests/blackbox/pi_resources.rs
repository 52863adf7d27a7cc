//! Skills, prompt templates and themes: where they are found, and what becomes of them.

use serde_json::{Value, json};
use testkit::{Finished, Room};

use crate::plugins::result;
use crate::room;

/// A skill with that name and description.
fn skill(name: &str, about: &str) -> String {
    format!("---\nname: {name}\ndescription: {about}\n---\n\n# How to {name}\n\nStep one.\n")
}

/// Asks once, with these options before the prompt.
fn ask(room: &Room, options: &[&str], prompt: &str) -> Finished {
    let model = room.model(&json!([{"text": "fine"}]));
    let mut words = vec!["--json", "--model", &model];
    words.extend(options);
    words.push(prompt);
    room.run(words).ended_with(0)
}

fn system_prompt(run: &Finished) -> String {
    let prompts = run.events_named("agent_start");
    prompts[0]["system_prompt"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn prompts(run: &Finished) -> Vec<String> {
    let prompts = run.events_named("user_prompt");
    let prompts = prompts
        .iter()
        .map(|prompt| prompt["prompt"].as_str().unwrap_or_default().to_owned());
    prompts.collect()
}

/// The names of the skills that the model is told of, in order.
fn told_skills(run: &Finished) -> Vec<String> {
    let prompt = system_prompt(run);
    let names = prompt.lines().filter_map(|line| {
        let name = line.trim().strip_prefix("<name>")?;
        name.strip_suffix("</name>")
    });
    names.map(ToOwned::to_owned).collect()
}

/// A theme in which everything has one colour.
fn theme(name: &str, colour: &str) -> String {
    let dark = include_str!("../../../../dialects/becket-pi/src/resources/dark.json");
    let mut theme: Value = serde_json::from_str(dark).expect("a theme");
    theme["name"] = json!(name);
    let colours = theme["colors"].as_object_mut().expect("its colours");
    colours.values_mut().for_each(|value| *value = json!(colour));
    theme.to_string()
}

#[test]
fn the_model_is_told_of_skills_and_reads_them_without_a_question() {
    let room = room();
    let agent = "../home/.pi/agent/skills";
    room.write(
        &format!("{agent}/bake/SKILL.md"),
        skill("bake", "Bake <bread> & \"cake\"."),
    );
    room.write(
        &format!("{agent}/bake/recipes/inner/SKILL.md"),
        skill("inner", "Part of another."),
    );
    room.write(
        &format!("{agent}/kitchen/stew/SKILL.md"),
        skill("stew", "Cook a stew."),
    );
    room.write(&format!("{agent}/alone.md"), skill("alone", "A single file."));
    room.write(&format!("{agent}/notes.md"), "Nothing about itself.");
    room.write(&format!("{agent}/mute/SKILL.md"), "no words about itself");
    room.write(
        &format!("{agent}/secret/SKILL.md"),
        "---\ndescription: Called by name only.\ndisable-model-invocation: true\n---\nHush.",
    );
    room.write(&format!("{agent}/.gitignore"), "left-out\n");
    room.write(&format!("{agent}/left-out/SKILL.md"), skill("left-out", "x"));
    room.write(
        "../home/.agents/skills/shared/SKILL.md",
        skill("shared", "For many programs."),
    );
    let file = room.home().join(".pi/agent/skills/bake/SKILL.md");
    let model = room.model(&json!([
        {"tool_calls": [{"name": "read", "arguments": {"path": file}}]},
        {"tool_calls": [{"name": "read", "arguments": {"path": room.home().join(".pi/agent/skills/notes.md")}}]},
        {"text": "done"}
    ]));
    let run = room.run(["--json", "--model", &model, "go"]).ended_with(0);
    assert_eq!(told_skills(&run), ["alone", "bake", "stew", "shared"], "{run:#?}");
    let prompt = system_prompt(&run);
    let location = format!("<location>{}</location>", file.display());
    for words in [
        "Bake &lt;bread&gt; &amp; &quot;cake&quot;.",
        &location,
        "with read",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert!(
        run.stderr.contains("mute/SKILL.md: it has no description"),
        "{run:#?}"
    );
    // Nobody is there to say yes: what belongs to a skill is free to read, what lies beside it is not.
    let results = run.events_named("post_tool");
    assert!(
        results[0]["result"].as_str().unwrap().contains("Step one."),
        "{run:#?}"
    );
    assert!(
        !results[1]["result"].as_str().unwrap().contains("about itself"),
        "{run:#?}"
    );
    // Without the tool there is nobody who could read them.
    let blind = "export default (pi: any) => pi.on('session_start', () => pi.setActiveTools(['bash']));";
    room.write("blind.ts", blind);
    assert_eq!(told_skills(&ask(&room, &["-e", "blind.ts"], "go")), [""; 0]);
}

#[test]
fn a_skill_is_called_by_name_in_every_kind_of_run() {
    let room = room();
    let file = room.write("../home/.pi/agent/skills/bake/SKILL.md", skill("bake", "Bake."));
    let folder = file.parent().unwrap().canonicalize().unwrap();
    let file = folder.join("SKILL.md");
    let (file, folder) = (file.display().to_string(), folder.display().to_string());
    let plain = |text: String| text.replace("/work/../", "/");
    let wanted = format!(
        "<skill name=\"bake\" location=\"{file}\">\nReferences are relative to {folder}.\n\n\
         # How to bake\n\nStep one.\n</skill>\n\na cake, please"
    );
    let run = ask(&room, &[], "/skill:bake  a cake, please");
    assert_eq!(
        prompts(&run).into_iter().map(plain).collect::<Vec<_>>(),
        [wanted.as_str()]
    );
    let model = room.model(&json!([{"text": "fine"}]));
    let piped = room.run_with_input(["--json", "--model", &model], "/skill:bake a cake, please\n");
    assert_eq!(prompts(&piped.ended_with(0)), [wanted.as_str()]);
    let model = room.model(&json!([{"text": "fine"}]));
    let chat = room.run_with_input(
        ["chat", "--json", "--model", &model],
        "/skill:bake\n/skill:nothing\n",
    );
    let chat = chat.ended_with(2);
    assert_eq!(
        prompts(&chat),
        [wanted.strip_suffix("\n\na cake, please").unwrap()]
    );
    assert!(
        chat.stderr.contains("there is no command /skill:nothing"),
        "{chat:#?}"
    );
    let help = room
        .run_with_input(["chat", "--model", &model], "/help\n")
        .ended_with(0);
    assert!(help.stdout.contains("/skill:bake"), "{help:#?}");
}

#[test]
fn prompt_templates_are_called_with_arguments() {
    let room = room();
    let prompts_of_person = "../home/.pi/agent/prompts";
    room.write(
        &format!("{prompts_of_person}/review.md"),
        "---\ndescription: Look at changes\nargument-hint: \"[what]\"\n---\nReview ${1:-all} and ${@:2}. ($ARGUMENTS)",
    );
    room.write(
        &format!("{prompts_of_person}/plain.md"),
        "\nFirst line.\nSecond: $@",
    );
    room.write(&format!("{prompts_of_person}/deeper/not.md"), "never found");
    room.write(&format!("{prompts_of_person}/broken.md"), "---\na: [\n---\nx");
    let run = ask(&room, &[], "/review 'the parser' a b");
    assert_eq!(prompts(&run), ["Review the parser and a b. (the parser a b)"]);
    assert!(run.stderr.contains("broken.md"), "{run:#?}");
    assert_eq!(prompts(&ask(&room, &[], "/review")), ["Review all and . ()"]);
    // Who hears the user's words hears them as they were typed, and what is made of them counts.
    room.write(
        "hears.ts",
        "export default (pi: any) => pi.on('input', (event: any) => {
            console.error('typed: ' + event.text);
            return { action: 'transform', text: event.text.replace('one', '/plain two') };
        });",
    );
    let run = ask(&room, &["-e", "hears.ts"], "one");
    assert_eq!(prompts(&run), ["First line.\nSecond: two"]);
    assert!(run.stderr.contains("typed: one"), "{run:#?}");
    let model = room.model(&json!([{"text": "a"}, {"text": "b"}]));
    let lines = "/plain\n/not\n/review x\n";
    let chat = room
        .run_with_input(["chat", "--json", "--model", &model], lines)
        .ended_with(2);
    assert_eq!(
        prompts(&chat),
        ["First line.\nSecond: ", "Review x and . (x)"],
        "{chat:#?}"
    );
    assert!(chat.stderr.contains("there is no command /not"), "{chat:#?}");
    let help = room
        .run_with_input(["chat", "--model", &model], "/help\n")
        .ended_with(0);
    assert!(
        help.stdout.contains("/review [what] Look at changes"),
        "{help:#?}"
    );
}

#[test]
fn a_project_brings_its_own_once_it_is_trusted() {
    let room = room();
    room.write(".git/HEAD", "");
    room.write(".pi/skills/ours/SKILL.md", skill("ours", "Of the project."));
    room.write(".pi/prompts/go.md", "Go on with $1.");
    room.write(".agents/skills/both/SKILL.md", skill("both", "Shared."));
    room.write(
        ".pi/settings.json",
        r#"{"skills": ["../more", "!**/unwanted/**"]}"#,
    );
    room.write("more/wanted/SKILL.md", skill("wanted", "Named."));
    room.write("more/unwanted/SKILL.md", skill("unwanted", "Named and left out."));
    room.write(
        "../home/.pi/agent/skills/ours/SKILL.md",
        skill("ours", "Of the user."),
    );
    let run = ask(&room, &[], "/go home");
    assert_eq!(prompts(&run), ["/go home"]);
    assert_eq!(told_skills(&run), ["ours"]);
    assert!(system_prompt(&run).contains("Of the user."));
    assert!(
        run.stderr.contains(".pi/skills") && run.stderr.contains("--trust"),
        "{run:#?}"
    );
    let run = ask(&room, &["--trust"], "/go home");
    assert_eq!(prompts(&run), ["Go on with home."]);
    assert_eq!(told_skills(&run), ["wanted", "ours", "both"], "{run:#?}");
    assert!(system_prompt(&run).contains("Of the project."));
    assert!(
        run.stderr.contains("is not used") && run.stderr.contains("\"ours\""),
        "{run:#?}"
    );
    let doctor = room.run(["doctor", "--trust"]).said("skills: wanted, ours, both");
    assert!(doctor.stdout.contains("prompt templates: go"), "{doctor:#?}");
    // Without extensions the rest is still there, and without pi nothing is.
    assert_eq!(told_skills(&ask(&room, &["--trust", "-ne"], "x")).len(), 3);
    room.config("[pi]\nenabled = false\n");
    assert_eq!(told_skills(&ask(&room, &["--trust"], "x")), [""; 0]);
}

#[test]
fn options_name_more_and_leave_out_the_rest() {
    let room = room();
    room.write("../home/.pi/agent/skills/mine/SKILL.md", skill("mine", "Mine."));
    room.write("../home/.pi/agent/prompts/go.md", "mine: $1");
    room.write("given/SKILL.md", skill("given", "Given."));
    room.write("prompts/go.md", "given: $1");
    room.write("two.ts", "export default () => {};");
    let run = ask(
        &room,
        &["--skill", "given", "--prompt-template", "prompts"],
        "/go x",
    );
    assert_eq!(told_skills(&run), ["given", "mine"]);
    assert_eq!(prompts(&run), ["given: x"]);
    let run = ask(&room, &["-ns", "-np", "--skill", "given/SKILL.md"], "/go x");
    assert_eq!(told_skills(&run), ["given"]);
    assert_eq!(prompts(&run), ["/go x"]);
    for (options, words) in [
        (["--skill", "nowhere"], "there is no skill"),
        (["--prompt-template", "two.ts"], "does not end in .md"),
        (["--theme", "given/SKILL.md"], "does not end in .json"),
    ] {
        let run = room.run([options[0], options[1], "--model", "rehearsal", "x"]);
        assert!(run.ended_with(2).stderr.contains(words), "{words}");
    }
}

#[test]
fn packages_bring_what_their_manifests_name() {
    let room = room();
    room.write(
        "../home/.pi/agent/settings.json",
        r#"{"packages": ["../../packs/named", {"source": "../../packs/usual", "prompts": []}]}"#,
    );
    let packs = "../home/packs";
    room.write(
        &format!("{packs}/named/package.json"),
        r#"{"pi": {"skills": ["./know", "!**/old/**"], "prompts": ["texts/*.md"]}}"#,
    );
    room.write(&format!("{packs}/named/know/new/SKILL.md"), skill("new", "New."));
    room.write(&format!("{packs}/named/know/old/SKILL.md"), skill("old", "Old."));
    room.write(
        &format!("{packs}/named/skills/no/SKILL.md"),
        skill("no", "Not in the manifest."),
    );
    room.write(&format!("{packs}/named/texts/say.md"), "Say $1.");
    room.write(
        &format!("{packs}/usual/skills/usual/SKILL.md"),
        skill("usual", "Where it is usual."),
    );
    room.write(&format!("{packs}/usual/prompts/unwanted.md"), "x");
    room.write(
        "given/skills/cli/SKILL.md",
        skill("cli", "Of a package of the command line."),
    );
    room.write("given/index.ts", "export default () => {};");
    let run = ask(&room, &["-e", "given"], "/say hello");
    assert_eq!(told_skills(&run), ["cli", "new", "usual"], "{run:#?}");
    assert_eq!(prompts(&run), ["Say hello."]);
    assert_eq!(prompts(&ask(&room, &[], "/unwanted")), ["/unwanted"]);
}

#[test]
fn a_package_brings_what_its_manifest_names_and_nothing_else() {
    let room = room();
    let broken = "throw new Error('this is no extension');";
    let manifest = r#"{"main": "index.js", "pi": {"video": "x.mp4"}}"#;
    room.write("silent/package.json", manifest);
    room.write("silent/index.js", broken);
    room.write("silent/extensions/a.js", broken);
    room.write("silent/skills/hidden/SKILL.md", skill("hidden", "Not named."));
    room.write("knowing/install.js", broken);
    room.write(
        "knowing/skills/known/SKILL.md",
        skill("known", "Where it is usual."),
    );
    let run = ask(&room, &["-e", "silent", "-e", "knowing"], "go");
    assert_eq!(told_skills(&run), ["known"], "{run:#?}");
    let installed = "../home/.pi/agent/npm/node_modules/taught";
    room.write(
        &format!("{installed}/skills/taught/SKILL.md"),
        skill("taught", "Of a package."),
    );
    assert_eq!(told_skills(&ask(&room, &["-e", "npm:taught"], "go")), ["taught"]);
    room.write("silent/package.json", r#"{"pi": {"extensions": ["./gone.js"]}}"#);
    room.run(["-e", "silent", "go"])
        .ended_with(2)
        .complained("holds no extension");
}

const BRINGER: &str = r#"
    export default (pi: any) => {
        pi.on("resources_discover", (event: any) => {
            console.error("asked: " + JSON.stringify(event));
            return {
                skillPaths: [__dirname + "/brought"], promptPaths: ["texts/greet.md"],
                themePaths: [__dirname + "/themes/ink.json", "nowhere.json"],
            };
        });
        pi.registerCommand("list", {
            description: "Lists all.",
            handler: () => console.error("commands: " + JSON.stringify(pi.getCommands())),
        });
        pi.registerCommand("say", {
            handler: (text: string) => pi.sendUserMessage(text, { expandPromptTemplates: true }),
        });
        pi.registerCommand("say-plainly", { handler: (text: string) => pi.sendUserMessage(text) });
        pi.registerCommand("themes", {
            handler: (_: string, ctx: any) => {
                const ink = ctx.ui.getTheme("ink");
                console.error("themes: " + JSON.stringify({
                    all: ctx.ui.getAllThemes().map((theme: any) => theme.name),
                    path: ctx.ui.getAllThemes().find((theme: any) => theme.name === "ink")?.path,
                    painted: [ink.fg("accent", "x"), ink.bg("selectedBg", "x"), ink.bold("x")],
                    unknown: ctx.ui.getTheme("unknown") ?? null,
                    set: [ctx.ui.setTheme("ink"), ctx.ui.setTheme("unknown")],
                }));
            },
        });
    };
"#;

/// What an extension has said behind a word, as JSON.
fn said(run: &Finished, word: &str) -> Value {
    let mark = format!("{word}: ");
    let line = run.stderr.lines().find_map(|line| line.split_once(&mark));
    let (_, text) = line.unwrap_or_else(|| panic!("nothing was said of {word}: {run:#?}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn with_bringer(room: &Room) {
    room.write("ext/bringer.ts", BRINGER);
    room.write("ext/brought/knit/SKILL.md", skill("knit", "Knit."));
    room.write("ext/themes/ink.json", theme("ink", "#102030"));
    room.write("texts/greet.md", "---\ndescription: Greets\n---\nGreet $1.");
}

#[test]
fn extensions_bring_resources_and_see_all_of_them() {
    let room = room();
    with_bringer(&room);
    room.write("../home/.pi/agent/prompts/mine.md", "Mine.");
    let run = ask(&room, &["-e", "ext/bringer.ts"], "/greet you");
    assert_eq!(prompts(&run), ["Greet you."]);
    assert_eq!(told_skills(&run), ["knit"]);
    let asked = said(&run, "asked");
    let cwd = room.work().canonicalize().unwrap();
    assert_eq!(
        asked,
        json!({"type": "resources_discover", "cwd": cwd, "reason": "startup"})
    );
    assert!(run.stderr.contains("nowhere.json"), "{run:#?}");
    let order: Vec<String> = run
        .events()
        .iter()
        .map(|event| event["event"].to_string())
        .collect();
    let place = |name: &str| order.iter().position(|event| event.contains(name)).unwrap();
    assert!(place("session_start") < place("\"resources\"") && place("\"resources\"") < place("user_input"));

    let run = ask(&room, &["-e", "ext/bringer.ts"], "/list");
    let commands = said(&run, "commands");
    let found = |name: &str| {
        let mut all = commands.as_array().unwrap().iter();
        all.find(|command| command["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {commands}"))
    };
    assert_eq!(found("list")["source"], "extension");
    let mine = found("mine");
    let folder = room.home().join(".pi/agent");
    assert_eq!(mine["source"], "prompt");
    assert_eq!(
        mine["sourceInfo"],
        json!({
            "path": folder.join("prompts/mine.md"), "source": "auto", "scope": "user",
            "origin": "top-level", "baseDir": folder,
        })
    );
    let knit = found("skill:knit");
    assert_eq!(
        (&knit["source"], &knit["description"]),
        (&json!("skill"), &json!("Knit."))
    );
    let info = &knit["sourceInfo"];
    assert_eq!(
        (&info["source"], &info["scope"], &info["origin"]),
        (
            &json!("extension:bringer"),
            &json!("temporary"),
            &json!("top-level")
        )
    );
    assert_eq!(info["baseDir"], json!(cwd.join("ext")));
}

#[test]
fn an_extension_calls_by_name_if_it_says_so() {
    let room = room();
    with_bringer(&room);
    let all = [
        ("/say /greet them", vec!["Greet them."]),
        ("/say-plainly /greet them", vec!["/greet them"]),
        ("/say words", vec!["words"]),
        // A command runs instead of being said.
        ("/say /list", Vec::new()),
    ];
    for (line, wanted) in all {
        let model = room.model(&json!([{"text": "fine"}]));
        let words = ["chat", "--json", "--model", &model, "-e", "ext/bringer.ts"];
        let run = room.run_with_input(words, format!("{line}\n")).ended_with(0);
        assert_eq!(prompts(&run), wanted, "{line}: {run:#?}");
        assert_eq!(
            run.stderr.contains("commands: ["),
            line.ends_with("/list"),
            "{line}: {run:#?}"
        );
    }
}

#[test]
fn themes_are_read_and_checked() {
    let room = room();
    with_bringer(&room);
    room.write("../home/.pi/agent/themes/mine.json", theme("mine", "#fff"));
    room.write("../home/.pi/agent/themes/bad.json", theme("bad", "#ggg"));
    room.write("../home/.pi/agent/themes/taken.json", theme("dark", ""));
    let run = ask(&room, &["-e", "ext/bringer.ts"], "/themes");
    let themes = said(&run, "themes");
    assert_eq!(themes["all"], json!(["dark", "light", "mine", "ink"]));
    let path = themes["path"].as_str().unwrap();
    assert!(path.ends_with("ext/themes/ink.json"), "{path}");
    assert_eq!(
        themes["painted"],
        json!([
            "\u{1b}[38;2;16;32;48mx\u{1b}[39m",
            "\u{1b}[48;2;16;32;48mx\u{1b}[49m",
            "\u{1b}[1mx\u{1b}[22m"
        ])
    );
    assert_eq!(themes["unknown"], Value::Null);
    assert_eq!(
        themes["set"],
        json!([
            {"success": false, "error": "UI not available"},
            {"success": false, "error": "Theme not found: unknown"}
        ])
    );
    for words in ["bad.json: the colour", "\"dark\" of"] {
        assert!(run.stderr.contains(words), "{words}: {run:#?}");
    }
    let run = ask(&room, &["-e", "ext/bringer.ts", "--no-themes"], "/themes");
    assert_eq!(said(&run, "themes")["all"], json!(["dark", "light", "ink"]));
}

#[test]
fn a_skill_that_is_gone_is_told_and_a_guard_still_judges_what_is_read() {
    let room = room();
    let file = room.write("../home/.pi/agent/skills/bake/SKILL.md", skill("bake", "Bake."));
    room.write(
        "gone.ts",
        format!(
            "import {{ rmSync }} from 'node:fs';
            export default (pi: any) => pi.on('input', () => rmSync({:?}));",
            file.display().to_string()
        ),
    );
    let model = room.model(&json!([
        {"tool_calls": [{"name": "read", "arguments": {"path": file}}]}, {"text": "done"}
    ]));
    let denied = room.hooks("[[hook]]\nevent = \"pre_file_read\"\ncommand = \"echo no >&2; exit 2\"\n");
    let run = room
        .run(["--json", "--model", &model, "--hooks", &denied, "go"])
        .ended_with(0);
    assert!(!result(&run).contains("Step one."), "{run:#?}");
    let run = ask(&room, &["-e", "gone.ts"], "/skill:bake now");
    assert_eq!(prompts(&run), ["/skill:bake now"]);
    assert!(run.stderr.contains("the skill bake cannot be used"), "{run:#?}");
}
