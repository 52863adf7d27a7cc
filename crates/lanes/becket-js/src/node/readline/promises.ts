// Lines of a stream, with questions as promises.

const readline = require("readline");

class Interface extends readline.Interface {
    question(query: string, options: any = {}): any {
        return readline.Interface.prototype.question[Symbol.for("nodejs.util.promisify.custom")].call(
            { question: (...values: any[]) => super.question(...values) }, query, options);
    }
}

module.exports = { Interface, createInterface: (input: any, output?: any) => new Interface(input, output) };
