// Names of HTTP/2 that programs look up when they are loaded; its connections are refused.

const constants = Object.freeze({
    HTTP2_HEADER_STATUS: ":status", HTTP2_HEADER_METHOD: ":method", HTTP2_HEADER_AUTHORITY: ":authority",
    HTTP2_HEADER_SCHEME: ":scheme", HTTP2_HEADER_PATH: ":path", HTTP2_HEADER_CONTENT_LENGTH: "content-length",
    HTTP2_HEADER_CONTENT_TYPE: "content-type", HTTP2_HEADER_ACCEPT: "accept", HTTP2_HEADER_COOKIE: "cookie",
    HTTP2_HEADER_EXPECT: "expect", HTTP2_HEADER_HOST: "host", HTTP2_HEADER_CONNECTION: "connection",
    HTTP2_HEADER_UPGRADE: "upgrade", HTTP2_HEADER_TE: "te", HTTP2_HEADER_TRANSFER_ENCODING: "transfer-encoding",
    HTTP2_METHOD_GET: "GET", HTTP2_METHOD_HEAD: "HEAD", HTTP2_METHOD_POST: "POST", HTTP2_METHOD_PUT: "PUT",
    HTTP2_METHOD_DELETE: "DELETE", HTTP2_METHOD_CONNECT: "CONNECT", HTTP2_METHOD_OPTIONS: "OPTIONS",
    HTTP_STATUS_OK: 200, HTTP_STATUS_NOT_FOUND: 404, NGHTTP2_NO_ERROR: 0, NGHTTP2_PROTOCOL_ERROR: 1,
    NGHTTP2_INTERNAL_ERROR: 2, NGHTTP2_REFUSED_STREAM: 7, NGHTTP2_CANCEL: 8,
});

module.exports = { constants, sensitiveHeaders: Symbol("nodejs.http2.sensitiveHeaders") };
