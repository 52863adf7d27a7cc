// Numbers of files and of the system, in the old place.

const { signals, errno } = require("os").constants;

module.exports = { ...signals, ...errno, ...require("fs").constants };
