//! The screen, from outside: keys, the editor, the painter on a virtual terminal, and the demo in a real one.

mod editing;
mod history;
mod keys;
mod overlays;
mod painting;
mod tmux;
