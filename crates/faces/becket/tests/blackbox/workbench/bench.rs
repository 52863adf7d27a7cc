//! `becket hooks bench`: what hooks cost, and a budget that fails in CI.

use serde_json::Value;

use super::guards;
use crate::room;

#[test]
fn a_hook_of_every_dialect_is_measured() {
    for guarded in guards() {
        let words = [
            "hooks",
            "bench",
            "pre_tool",
            "--set",
            "tool_name=shell",
            "--set",
            "arguments.command=ls",
            "--runs",
            "3",
            "--json",
        ];
        let run = guarded.run(&words).ended_with(0);
        let cost: Value = serde_json::from_str(run.stdout.lines().next().expect("a line")).expect("JSON");
        assert_eq!(cost["dialect"], guarded.dialect, "{run:#?}");
        assert_eq!(
            (&cost["runs"], &cost["failed"]),
            (&3.into(), &0.into()),
            "{run:#?}"
        );
        assert!(cost["p95_us"].as_u64() >= cost["p50_us"].as_u64(), "{run:#?}");
        assert_eq!(cost["over_budget"], false);
    }
}

#[test]
fn a_hook_over_the_budget_fails_and_its_share_of_a_turn_is_told() {
    let room = room();
    let hooks = room.hooks("[[hook]]\nname = \"slow\"\nevent = \"pre_tool\"\ncommand = \"sleep 0.05\"\n");
    room.run(["--yes", "--hooks", &hooks, "--model", "rehearsal", "Run: true"])
        .ended_with(0);
    let bench = |budget: &str| {
        room.run([
            "hooks", "bench", "--runs", "2", "--budget", budget, "--hooks", &hooks,
        ])
    };
    bench("1")
        .ended_with(1)
        .said("slow")
        .said("over the budget")
        .said("% of a turn");
    bench("60000").ended_with(0);
    let failing = room.hooks("[[hook]]\nname = \"quick\"\nevent = \"pre_tool\"\ncommand = \"exit 7\"\n");
    let words = ["hooks", "bench", "--runs", "2", "--hooks", &failing];
    room.run(words).ended_with(0).said("2 of 2 runs failed");
    let strict = words.into_iter().chain(["--budget", "60000"]);
    room.run(strict).ended_with(1).said("2 of 2 runs failed");
    room.run(["hooks", "bench"])
        .ended_with(0)
        .said("there are no hooks here");
}
