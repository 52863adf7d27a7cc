//! stub
pub struct CommandLane;
