import { parseArgs } from "node:util";

interface Greeting {
  hello: string;
  runtime: string;
}

const { values } = parseArgs({ options: { name: { type: "string", default: "world" } } });
const name: string = values.name!;

console.log("looking for somebody to greet");
console.log(`found ${name}`);
const greeting: Greeting = { hello: name, runtime: "typescript" };
console.log(JSON.stringify(greeting));
