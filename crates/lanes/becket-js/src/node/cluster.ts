// This is the first and only process of its kind.

const EventEmitter = require("events");

module.exports = Object.assign(new (EventEmitter as any)(), {
    isPrimary: true, isMaster: true, isWorker: false, workers: {}, settings: {}, SCHED_NONE: 1, SCHED_RR: 2,
    schedulingPolicy: 2,
});
