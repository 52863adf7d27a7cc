// Paths of another system.

module.exports = require("path").win32;
