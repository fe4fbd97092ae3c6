// What the page makes of texts and of tool calls that somebody decides on: visible_peer.mjs WEB FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [web, file] = process.argv.slice(2);
const esbuild = createRequire(join(web, "package.json"))("esbuild");
const load = async (name) => {
  const built = await esbuild.build({ entryPoints: [join(web, "src", name)], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`);
};
const { parts } = await load("text/visible.ts");
const { choiceText } = await load("text/choice.ts");
const { untold, wholeCommand } = await load("fold/fold.ts");
const { texts, inputs, edits, choices } = JSON.parse(readFileSync(file, "utf8"));
process.stdout.write(JSON.stringify({
  texts: texts.map(parts),
  inputs: inputs.map(wholeCommand),
  edits: edits.map(({ fields, diffs, paths, cwd }) => untold(fields, diffs, paths, cwd)),
  choices: choices.map(([value, words]) => choiceText(value, words)),
}));
