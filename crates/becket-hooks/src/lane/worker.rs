//! stub
pub struct WorkerLane;
