// The whole of a stream at once.

const { Buffer, Blob } = require("buffer");

async function buffer(stream: AsyncIterable<any>): Promise<any> {
    const chunks: any[] = [];
    for await (const chunk of stream) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
}

async function text(stream: AsyncIterable<any>): Promise<string> {
    return new TextDecoder().decode(await buffer(stream));
}

async function arrayBuffer(stream: AsyncIterable<any>): Promise<ArrayBuffer> {
    return new Uint8Array(await buffer(stream)).buffer as ArrayBuffer;
}

module.exports = {
    buffer, text, arrayBuffer, json: async (stream: AsyncIterable<any>) => JSON.parse(await text(stream)),
    blob: async (stream: AsyncIterable<any>) => new Blob([await buffer(stream)]),
    bytes: async (stream: AsyncIterable<any>) => new Uint8Array(await buffer(stream)),
};
