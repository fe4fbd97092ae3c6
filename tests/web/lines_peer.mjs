// What the page says that changed between two texts: lines_peer.mjs WEB FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [web, file] = process.argv.slice(2);
const esbuild = createRequire(join(web, "package.json"))("esbuild");
const built = await esbuild.build({ entryPoints: [join(web, "src/fold/lines.ts")], bundle: true, format: "esm", write: false });
const { compareLines } = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`);
const pairs = JSON.parse(readFileSync(file, "utf8"));
process.stdout.write(JSON.stringify(pairs.map(([before, after]) => compareLines(before, after))));
