// The same as `path`, which is posix here.

module.exports = require("path").posix;
