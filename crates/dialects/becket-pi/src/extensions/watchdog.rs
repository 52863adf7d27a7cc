//! Sees to it that no extension holds the program for ever. Code that runs too long is ended by its engine, but some
//! steps of the engine itself (a search in a huge text, say) cannot be interrupted. They hold the thread on which
//! everything happens, so another one watches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use becket_js::Watch;
use becket_system::Exit;

use super::board::Board;

/// How often somebody looks. Looks are counted and not time, which goes on while the whole program stands still.
const LOOK: Duration = Duration::from_secs(1);

/// After how many looks the person is told.
const TOLD: u64 = 5;

/// After how many looks the program is ended at the earliest.
const ENDED: u64 = 10;

/// Begins to watch, until the board is gone.
pub fn begin(board: &Arc<Board>, watch: Arc<Watch>) {
    let patience = board.facts.timeout.as_secs().max(ENDED);
    let board = Arc::downgrade(board);
    std::thread::spawn(move || {
        let mut looks: HashMap<String, u64> = HashMap::new();
        loop {
            std::thread::sleep(LOOK);
            let Some(board) = board.upgrade() else { return };
            let overdue = watch.overdue();
            looks.retain(|name, _| overdue.contains(name));
            for name in overdue {
                let count = looks.entry(name.clone()).or_default();
                *count += 1;
                match *count {
                    TOLD => board.facts.surroundings.remark(&format!(
                        "the extension {name} is in a step of its engine that cannot be interrupted; if it does not \
                         end, becket will"
                    )),
                    count if count == patience => end(&board, &name),
                    _ => {}
                }
            }
        }
    });
}

/// Nothing else can be done: the thread on which everything happens does not come back.
fn end(board: &Board, name: &str) {
    board.facts.surroundings.complain(&format!(
        "the extension {name} does not end and cannot be ended, so becket ends. Run it without (--no-extensions), or \
         see which of its loops works on very long texts"
    ));
    becket_hooks::end_programs();
    board.facts.mark.end_all();
    std::process::exit(Exit::Failed as i32);
}
