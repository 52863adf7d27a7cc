//! Tests of pi's API as extensions find it: the real prelude in the real engine, with a fake program.

mod actions;
mod contexts;
mod loading;
mod providers;
mod room;
mod table;
mod tools;
