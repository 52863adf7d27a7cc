// Timers, which are globals too.

module.exports = {
    setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate,
    get promises() { return require("timers/promises"); },
};
